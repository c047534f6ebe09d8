//! Outages of the platform: new sign-ins fail in time with a known word, passwords take over, and nothing else is affected.

use std::time::{Duration, Instant};

use deskpass_platform::PlatformKind;
use serde_json::{Value, json};

use super::entry_script::script_code;
use super::{clear, land};
use crate::harness::{Client, Messenger, PASSWORD, Platform, fragment};
use crate::sign_in_proof::{equip, production, show};

/// Longer than the result of an outage probe stays valid.
const FRESH: Duration = Duration::from_secs(121);

async fn platform_state(client: &mut Client) -> Value {
    client.get("/api/ready", &[]).await.data()["dependencies"]["platform"].clone()
}

on_every_platform! {
    async fn a_voided_access_token_is_replaced_once_without_a_failed_request(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        let page = format!("http://{}/h5/", app.address);
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        clear(&mut client, "calls").await;
        client.set_fault(&json!({ "api": messenger.with_app_token, "errcode": Value::from(messenger.void_token) })).await;
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        assert_eq!((client.calls(messenger.app_token).await, client.calls(messenger.with_app_token).await), (1, 2));
        // The same when the platform itself forgets all of them, between two sign-ins.
        clear(&mut client, "calls").await;
        client.post("/sim/void-tokens", &[], &json!({})).await;
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        assert_eq!(client.calls(messenger.app_token).await, 1);
    }

    async fn a_wrong_secret_is_tried_once_a_minute(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        client.first_password("agent01").await;
        crate::notices::settled(&app).await;
        clear(&mut client, "calls").await;
        client.post("/sim/void-tokens", &[], &json!({})).await;
        let wrong = json!({ "api": messenger.app_token, "errcode": Value::from(messenger.wrong_secret), "times": 0 });
        client.set_fault(&wrong).await;
        let page = format!("http://{}/h5/", app.address);
        for _ in 0..5 {
            land(&mut client, &page, "user01").await;
        }
        assert_eq!(client.calls(messenger.app_token).await, 1);
        clear(&mut client, "faults").await;
        app.clock.advance(Duration::from_secs(61));
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        assert_eq!(client.calls(messenger.app_token).await, 2);
        assert_eq!(platform_state(&mut client).await, "ok");
    }

    async fn a_platform_that_refuses_all_sign_ins_shows_as_such(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        let page = format!("http://{}/h5/", app.address);
        assert_eq!(platform_state(&mut client).await, "unknown");
        client.set_fault(&json!({ "api": messenger.exchange, "errcode": Value::from(messenger.not_allowed) })).await;
        assert_eq!(fragment(&land(&mut client, &page, "user01").await, "error"), "platform_unavailable");
        assert_eq!(platform_state(&mut client).await, "refused");
        assert_eq!(client.metric("deskpass_platform_up").await, Some(0));
        app.clock.advance(Duration::from_mins(11));
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        assert_eq!(platform_state(&mut client).await, "ok");
    }

    async fn a_failed_profile_lookup_does_not_prevent_a_sign_in(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        let page = format!("http://{}/h5/", app.address);
        for fault in [
            json!({ "api": messenger.profile, "drop": true, "times": 0 }),
            json!({ "api": messenger.profile, "body": "<html>", "times": 0 }),
            json!({ "api": messenger.department, "http_status": 500, "body": "", "times": 0 }),
        ] {
            client.set_fault(&fault).await;
            assert!(land(&mut client, &page, "user01").await.contains("#ticket="), "{fault}");
            clear(&mut client, "faults").await;
        }
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        assert_eq!(app.query("SELECT name, department FROM employee WHERE employee_key = 'user01'"), ["Uma User|Sales"]);
    }

    /// The platform is slow: a returning user gets an answer within five seconds, and no other request waits.
    async fn a_slow_platform_is_not_waited_for_and_delays_no_other_request(app) {
        let page = format!("http://{}/h5/", app.address);
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        client.set_fault(&json!({ "delay_ms": 60_000, "times": 0, "body": "{}" })).await;
        let mut slow = app.client().await;
        let started = Instant::now();
        let waiting = tokio::spawn(async move { land(&mut slow, &page, "user01").await });
        let mut answers = 0;
        while !waiting.is_finished() {
            assert!(client.is_valid(&token).await);
            answers += 1;
        }
        assert!(answers > 100, "verify was held up: {answers}");
        assert_eq!(fragment(&waiting.await.unwrap(), "error"), "platform_unavailable");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert_eq!(client.me(&token).await.status, 200);
    }

    /// Loads that wait together fail together, after one exchange.
    async fn one_code_is_exchanged_once_also_when_that_fails(app) {
        let mut clients = [app.client().await, app.client().await];
        let (link, flow) = clients[0].begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = clients[0].authorize(&link, "user01").await;
        let exchange = Messenger::current().exchange;
        clients[0].set_fault(&json!({ "api": exchange, "delay_ms": 300, "drop": true, "times": 0 })).await;
        let [one, two] = &mut clients;
        let (here, there) = tokio::join!(one.oauth_callback(&back, &flow), two.oauth_callback(&back, &flow));
        for answer in [&here, &there] {
            assert_eq!(fragment(crate::harness::location(answer), "error"), "platform_unavailable", "{answer:?}");
        }
        assert_eq!(clients[0].calls(exchange).await, 1);
    }

    async fn a_password_counts_while_the_platform_is_gone_and_no_longer() {
        let (app, platform) = production(&[("agents.password_fallback", "outage")]).await;
        let device = equip(&app, &platform, "agent01").await;
        let mut client = app.client().await;
        assert_eq!(client.agent_login("agent01", PASSWORD).await.refused(403, 1003).reason(), "platform_works");
        let address = platform.stop().await;
        app.clock.advance(FRESH);
        client.agent_login("agent01", "wrong").await.refused(401, 1011);
        let half = client.partial_sign_in("agent01").await;
        let whole = show(&mut client, &half, "verify", &device.next_code()).await.data();
        let _platform = Platform::restart_at(&address).await;
        app.clock.advance(FRESH);
        assert_eq!(client.agent_login("agent01", PASSWORD).await.refused(403, 1003).reason(), "platform_works");
        assert!(client.is_valid(whole["token"].as_str().unwrap()).await);
    }

    /// The platform's answer to a caller's code is no evidence of an outage; only the service's own probe is.
    async fn nothing_that_a_caller_says_makes_an_outage() {
        let (app, platform) = production(&[("agents.password_fallback", "outage")]).await;
        crate::sign_in_proof::give_password(&app, "agent01").await;
        let (mut client, mut control) = (app.client().await, platform.client().await);
        let exchange = Messenger::current().exchange;
        for code in ["no-such-code", "", "-1", "a&errcode=-1", "%00", "码", &"x".repeat(2_000)] {
            let ask = json!({ "employee_id": "agent01", "code": code, "password": PASSWORD });
            let answer = client.post("/api/agents/login", &[], &ask).await;
            assert!(answer.status == 403 || answer.status == 400, "{code}: {answer:?}");
        }
        for fault in [json!({ "drop": true }), json!({ "http_status": 500 }), json!({ "body": "<html>" })] {
            let mut fault = fault;
            fault["api"] = json!(exchange);
            // A recent probe is still valid, so the fault affects the caller's code and not the probe.
            let works = client.agent_login("agent01", PASSWORD).await;
            assert_eq!(works.refused(403, 1003).reason(), "platform_works", "before {fault}");
            control.set_fault(&fault).await;
            let ask = json!({ "employee_id": "agent01", "code": "some-code", "password": PASSWORD });
            let answer = client.post("/api/agents/login", &[], &ask).await;
            assert_ne!(answer.status, 200, "{fault}: {answer:?}");
            clear(&mut control, "faults").await;
            let works = client.agent_login("agent01", PASSWORD).await;
            assert_eq!(works.refused(403, 1003).reason(), "platform_works", "after {fault}");
            app.clock.advance(Duration::from_mins(2));
        }
        assert_eq!(app.query("SELECT count(*) FROM half_session"), ["0"]);
    }

    /// An agent signs in with a code of the platform beside the name.
    async fn an_agent_signs_in_with_a_code() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let code = platform.code(&mut client, "agent01").await;
        if Messenger::current().kind == PlatformKind::Dingtalk {
            // Only the script gives a code to a page; the platform's page returns to this service alone.
            assert_ne!(client.post("/api/agents/login", &[], &json!({ "employee_id": "agent01", "code": code })).await.status, 200);
            let code = script_code(&mut platform.client().await, "agent01").await;
            let ask = json!({ "employee_id": "agent01", "code": code });
            assert_eq!(client.post("/api/agents/login", &[], &ask).await.data()["login_method"], "oauth2");
            return;
        }
        if Messenger::current().has_pkce() {
            // The code was issued for the browser that began, and an agent's request has no cookie of it.
            let ask = json!({ "employee_id": "agent01", "code": code });
            assert_ne!(client.post("/api/agents/login", &[], &ask).await.status, 200);
        }
        let link = crate::platforms::link_without_cookie(&mut client, "https://desk.example.com/itagent/").await;
        let back = platform.client().await.authorize(&link, "agent01").await;
        let url = url::Url::parse(&back).unwrap();
        let code = url.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
        let ask = json!({ "employee_id": "agent01", "code": code });
        assert_eq!(client.post("/api/agents/login", &[], &ask).await.data()["login_method"], "oauth2");
    }
}
