//! Logouts are delivered whatever fails: Redis, the receiver, or other receivers.

use std::time::Duration;

use deskpass_core::oidc::ClientRegistration;

use super::{clients, on_two_nodes, registered, unlimited};
use crate::cluster::soon;
use crate::harness::{
    LogoutAnswer, NameServer, Receiver, Servers, Stopwatch, StoreBackend, TestApp, decoded, registration_at, until,
};

/// How many notices wait.
fn waiting(app: &TestApp) -> String {
    app.query("SELECT count(*) FROM oidc_logout").remove(0)
}

on_two_nodes! {
    async fn an_end_counts_everywhere_and_is_told_without_redis() {
        let servers = Servers::private();
        let place = servers.cluster_store();
        let one = TestApp::at(&place, unlimited(&[("public_url", "http://desk.test")])).await;
        let nodes = [one.second_node().await, one];
        let receiver = Receiver::start().await;
        let client = registered(&nodes, registration_at(&receiver)).await;
        let (mut browser, tokens) = nodes[0].oidc_sign_in(&client, "user01").await;
        let refreshed = crate::harness::Tokens::of(&client.refresh(&mut browser.http, tokens.refresh()).await);
        let mut all = clients(&nodes).await;
        for http in &mut all {
            assert!(client.is_live(http, &refreshed).await);
        }
        servers.kill_redis();
        // Tokens live in SQL: they are valid and refreshed all the same.
        assert_eq!(all[1].userinfo(&refreshed.access).await.status, 200);
        let next = crate::harness::Tokens::of(&client.refresh(&mut all[1], refreshed.refresh()).await);
        let session = browser.token.clone().unwrap();
        all[0].logout(&session).await.data();
        for http in &mut all {
            soon("the end of a session without Redis", async || client.is_over(&mut *http, &next).await).await;
        }
        receiver.told(1).await;
        servers.start_redis();
    }
}

on_every_store! {
    /// A receiver that was stopped is told when it returns; a restart of the service loses nothing.
    async fn a_receiver_that_is_down_is_told_when_it_returns() {
        let app = TestApp::with(unlimited(&[("public_url", "http://desk.test")])).await;
        let receiver = Receiver::start().await;
        let client = app.oidc_client(registration_at(&receiver)).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        receiver.stop().await;
        let session = browser.token.clone().unwrap();
        browser.http.logout(&session).await.data();
        // The clock goes on until something happens: pauses are counted from the end of an attempt.
        let tick = |app: &TestApp| app.clock.advance(Duration::from_secs(1));
        until("a second attempt", async || {
            tick(&app);
            app.query("SELECT count(*) FROM oidc_logout WHERE tries >= 2") == ["1"]
        })
        .await;
        assert!(receiver.logout_tokens().is_empty());
        let app = app.restart().await;
        receiver.answer_with(LogoutAnswer::Status(503));
        receiver.start_again().await;
        until("an attempt that is refused", async || {
            tick(&app);
            !receiver.logout_tokens().is_empty()
        })
        .await;
        assert_eq!(waiting(&app), "1", "an error is no delivery");
        receiver.answer_with(LogoutAnswer::Status(204));
        until("a delivery", async || {
            tick(&app);
            waiting(&app) == "0"
        })
        .await;
        let all = receiver.logout_tokens();
        let (refused, told) = (all[0].clone(), all[all.len() - 1].clone());
        let [first, second] = [decoded(&refused).1, decoded(&told).1];
        assert_ne!(first["jti"], second["jti"], "clients refuse a token that they have seen");
        assert!(second["iat"].as_i64() >= first["iat"].as_i64());
        assert_eq!(second["sid"], decoded(&tokens.id_token).1["sid"]);
        app.client().await.claims(&told).await;
    }

    /// After a day the service gives up, and says so in the log.
    async fn a_receiver_that_never_answers_is_given_up_after_a_day() {
        let app = TestApp::with(unlimited(&[])).await;
        let receiver = Receiver::start().await;
        receiver.answer_with(LogoutAnswer::Status(400));
        let client = app.oidc_client(registration_at(&receiver)).await;
        let (mut browser, _) = app.oidc_sign_in(&client, "user01").await;
        let session = browser.token.clone().unwrap();
        browser.http.logout(&session).await.data();
        until("a first attempt", async || app.query("SELECT count(*) FROM oidc_logout WHERE status <> ''") == ["1"]).await;
        app.clock.advance(Duration::from_hours(24) + Duration::from_secs(1));
        until("the end of the attempts", async || waiting(&app) == "0").await;
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'oidc_logout_failed'"), ["1"]);
        assert!(receiver.logout_tokens().len() <= 2);
    }
}

on_every_store! {
    /// A program that was down during a thousand logouts, and hangs now, takes no room from the others.
    async fn a_thousand_notices_of_one_client_delay_no_other() {
        let app = TestApp::with(unlimited(&[])).await;
        let (hanging, good) = (Receiver::start().await, Receiver::start().await);
        hanging.answer_with(LogoutAnswer::Never);
        let stuck = app.oidc_client(registration_at(&hanging)).await;
        let client = app.oidc_client(registration_at(&good)).await;
        let now = app.clock.now().millis();
        app.query(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
             INSERT INTO oidc_logout (sid, client_id, subject, at, tries, due_at)
             SELECT 'sid-' || i, '{}', 'a subject', {now}, 0, {now} FROM n",
            stuck.id
        ));
        until("an attempt that hangs", async || !hanging.logout_tokens().is_empty()).await;
        for _ in 0..3 {
            good.forget();
            let (mut browser, _) = app.oidc_sign_in(&client, "user01").await;
            let session = browser.token.clone().unwrap();
            browser.http.logout(&session).await.data();
            let ended = Stopwatch::start();
            good.told(1).await;
            assert!(ended.elapsed() < Duration::from_secs(3), "told after {:?}", ended.elapsed());
        }
        let left = app.query(&format!("SELECT count(*) FROM oidc_logout WHERE client_id = '{}'", stuck.id));
        assert_eq!(left, ["1000"], "none is given up");
    }
}

/// What is wrong with every second of forty programs: the name of every third of them is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Good,
    SilentName,
    SilentHost,
    Drips,
}

fn forty_programs() -> impl Iterator<Item = (usize, Program)> {
    let hostile = [Program::SilentName, Program::SilentHost, Program::Drips];
    (0..40).map(move |number| (number, if number % 2 == 0 { Program::Good } else { hostile[number / 2 % 3] }))
}

on_every_store! {
    async fn twenty_hostile_programs_delay_none_of_twenty_good_ones() {
        let names = NameServer::silent_about("silent").await;
        let settings = unlimited(&[("session.max_per_employee", "0")]);
        let app = TestApp::with_name_server(settings, names.address).await;
        let mut browser = app.oidc_browser().await;
        browser.sign_in("user01").await;
        let mut good = Vec::new();
        let mut hostile = Vec::new();
        for (number, program) in forty_programs() {
            let receiver = Receiver::start().await;
            match program {
                Program::SilentHost => receiver.answer_with(LogoutAnswer::Never),
                Program::Drips => receiver.answer_with(LogoutAnswer::Drip),
                Program::Good | Program::SilentName => {}
            }
            let host = if program == Program::SilentName { "silent" } else { "program" };
            let told_at = receiver.at_name(&format!("{host}{number:02}.desk.example"), "/backchannel");
            let registration = ClientRegistration { backchannel_logout_uri: Some(told_at), ..registration_at(&receiver) };
            let client = app.oidc_client(registration).await;
            browser.tokens_in_session(&client).await;
            if program == Program::Good { good.push(receiver) } else { hostile.push((program, receiver)) }
        }
        assert_eq!((good.len(), hostile.len(), names.unanswered().len()), (20, 20, 0));
        let session = browser.token.clone().unwrap();
        browser.http.logout(&session).await.data();
        let ended = Stopwatch::start();
        for receiver in &good {
            receiver.told(1).await;
        }
        // A second is promised; a busy machine needs some of its own.
        assert!(ended.elapsed() < Duration::from_secs(3), "told after {:?}", ended.elapsed());
        let silent = hostile.iter().filter(|(program, _)| *program == Program::SilentName);
        assert!(silent.clone().all(|(_, receiver)| receiver.requests().is_empty()), "a silent name was found");
        until("all silent names are looked up", async || names.unanswered().len() == silent.clone().count()).await;
        let reached = hostile.iter().filter(|(program, _)| *program != Program::SilentName);
        until("all others are reached", async || reached.clone().all(|(_, receiver)| !receiver.requests().is_empty())).await;
    }
}

/// Every client but the last is hostile; one session is at all of them.
async fn hostile_receivers() {
    let app = TestApp::with(unlimited(&[])).await;
    let target = Receiver::start().await;
    let good = Receiver::start().await;
    let mut hostile = Vec::new();
    for answer in [
        LogoutAnswer::Never,
        LogoutAnswer::Drip,
        LogoutAnswer::Status(500),
        LogoutAnswer::Redirect(target.at("/internal")),
        LogoutAnswer::Body(10_000_000),
    ] {
        let receiver = Receiver::start().await;
        receiver.answer_with(answer);
        hostile.push(receiver);
    }
    let mut all = Vec::new();
    for receiver in hostile.iter().chain([&good]) {
        all.push(app.oidc_client(registration_at(receiver)).await);
    }
    // Several users, so that each hostile receiver holds up several deliveries.
    for who in ["user01", "agent01", "supervisor01"] {
        let mut browser = app.oidc_browser().await;
        browser.sign_in(who).await;
        for client in &all {
            browser.tokens_in_session(client).await;
        }
        let (session, count) = (browser.token.clone().unwrap(), good.logout_tokens().len());
        browser.http.logout(&session).await.data();
        let ended = Stopwatch::start();
        until("the good receiver is told", async || good.logout_tokens().len() > count).await;
        // A second is promised; a busy machine needs some of its own.
        assert!(ended.elapsed() < Duration::from_secs(3), "told after {:?}", ended.elapsed());
    }
    until("a long body is dropped", async || {
        let sent = app.query(&format!("SELECT count(*) FROM oidc_logout WHERE client_id = '{}'", all[4].id));
        sent == ["0"]
    })
    .await;
    assert!(target.requests().is_empty(), "a redirect was followed");
    let left = app.query(&format!("SELECT count(*) FROM oidc_logout WHERE client_id = '{}'", all[2].id));
    assert_eq!(left, ["3"], "an error is no delivery");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_receivers_delay_no_other() {
    StoreBackend::Embedded.run(Box::pin(hostile_receivers())).await;
}
