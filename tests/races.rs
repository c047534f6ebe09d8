//! Races, by the thousand: in any order of events, a token that was signed out stays signed out.

use std::time::Duration;

use deskpass_core::Role;
use tokio::task::JoinSet;

use crate::harness::{Client, StoreBackend, TestApp, fragment, location, settings};

/// Rounds for each cache size.
const ROUNDS: usize = 1_500;

/// Runs two switches, a logout and a verify at once on one token. Returns whether the logout won over a switch.
async fn round(clients: &mut [Client; 4], token: &str) -> bool {
    let [one, two, three, four] = clients;
    let (first, second, logout, _) =
        tokio::join!(one.switch(token, "agent"), two.switch(token, "user"), three.logout(token), four.verify(token));
    logout.data();
    for switch in [&first, &second] {
        assert!(switch.status == 200 || switch.code() == 1001, "{switch:?}");
    }
    for client in clients {
        assert!(!client.is_valid(token).await, "a signed-out token came back to life");
        assert_eq!(client.me(token).await.refused(401, 1001).reason(), "signed_out");
    }
    first.status == 401 || second.status == 401
}

async fn many_rounds(app: &TestApp) {
    let (mut workers, rounds) = (JoinSet::new(), StoreBackend::current().rounds(ROUNDS));
    for _ in 0..3 {
        let mut clients = [app.client().await, app.client().await, app.client().await, app.client().await];
        workers.spawn(async move {
            let mut won = 0;
            for _ in 0..rounds / 3 {
                let token = clients[0].sign_in("admin01").await;
                won += usize::from(round(&mut clients, &token).await);
            }
            won
        });
    }
    let won: usize = workers.join_all().await.into_iter().sum();
    assert!(won > 0, "the logout never came first: this test races nothing");
    let left = app.query("SELECT count(*) FROM session");
    assert_eq!(left, ["0"]);
}

on_every_store! {
    async fn a_switch_never_revives_what_a_logout_ended(app) {
        many_rounds(&app).await;
    }

    async fn of_many_logouts_one_succeeds(app) {
        let mut client = app.client().await;
        for _ in 0..50 {
            let token = client.sign_in("user01").await;
            let mut all = JoinSet::new();
            for _ in 0..4 {
                let (mut other, token) = (app.client().await, token.clone());
                all.spawn(async move { other.logout(&token).await.status });
            }
            let mut statuses = all.join_all().await;
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 401, 401, 401]);
        }
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'logout'"), ["50"]);
    }

    async fn a_role_taken_away_is_not_switched_to(app) {
        let mut clients = [app.client().await, app.client().await];
        for _ in 0..200 {
            // Refusals are rate-limited by the minute, and their number depends on the order of events.
            app.clock.advance(Duration::from_secs(1));
            app.auth().operator().grant(app.key("user01"), "security").await.unwrap();
            let token = clients[0].sign_in("user01").await;
            let key = app.key("user01");
            let operator = app.auth().operator();
            let (switched, revoked) = tokio::join!(clients[1].switch(&token, "security"), operator.revoke(key, "security"));
            assert!(revoked.unwrap());
            assert!(switched.status == 200 || switched.code() == 1003, "{switched:?}");
            // In either order no session acts in a role that was revoked.
            let verified = clients[0].verify(&token).await;
            assert_ne!(verified["current_role"], "security");
            assert_eq!(verified["valid"] == true, switched.status == 403);
        }
    }

    /// After a restart the cache is cold: every verify reads the store, some of them just before a commit that ends the session.
    /// Those reads must not stay in the cache.
    async fn a_reader_that_comes_late_does_not_fill_the_cache_with_the_past(app) {
        const CROWD: usize = 400;
        let mut client = app.client().await;
        let mut tokens = Vec::new();
        for at in 0..CROWD {
            app.add(&format!("crowd{at}"), Role::User).await;
            tokens.push(client.sign_in(&format!("crowd{at}")).await);
        }
        let app = app.restart().await;
        let mut clients = [app.client().await, app.client().await, app.client().await];
        for (at, token) in tokens.iter().enumerate() {
            let [one, two, three] = &mut clients;
            let key = app.key(&format!("crowd{at}"));
            let operator = app.auth().operator();
            let (.., ended) = tokio::join!(one.verify(token), two.verify(token), three.verify(token), operator.disable(key.clone()));
            assert_eq!(ended.unwrap(), 1);
            app.auth().operator().enable(key).await.unwrap();
            assert!(!one.is_valid(token).await, "the past came back from the cache");
        }
    }

    async fn no_sign_in_outlives_being_disabled(app) {
        let mut client = app.client().await;
        for _ in 0..100 {
            let key = app.key("user01");
            let ask = serde_json::json!({ "employee_id": "user01" });
            let operator = app.auth().operator();
            let (login, disabled) = tokio::join!(client.post("/api/dev/login", &[], &ask), operator.disable(key.clone()));
            disabled.unwrap();
            if login.status == 200 {
                assert!(!client.is_valid(login.data()["token"].as_str().unwrap()).await);
            }
            app.auth().operator().enable(key).await.unwrap();
            if login.status == 200 {
                assert!(!client.is_valid(login.data()["token"].as_str().unwrap()).await);
            }
        }
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }
}

on_every_store! {
    /// A very small cache evicts and refills all the time.
    async fn a_switch_never_revives_what_a_logout_ended_with_a_starved_cache() {
        let mut tiny = settings(&[("development.enabled", "true")]);
        tiny.session.cache_entries = 2;
        many_rounds(&TestApp::with(tiny).await).await;
    }
}

/// How many sign-ins each of the races below runs.
const SIGN_INS: usize = 1_000;

/// Counts the rounds of a race with two outcomes: it goes on until both have happened, so that it does race.
#[derive(Debug, Default)]
struct Outcomes([usize; 2]);

impl Outcomes {
    fn count(&mut self, outcome: usize) {
        self.0[outcome] += 1;
    }

    fn rounds(&self) -> usize {
        self.0.iter().sum()
    }

    /// Returns whether there is another round.
    fn go_on(&self) -> bool {
        let one_sided = self.0.contains(&0);
        assert!(self.rounds() < 2 * SIGN_INS || !one_sided, "this test races nothing: {self:?}");
        one_sided || self.rounds() < StoreBackend::current().rounds(SIGN_INS)
    }
}

on_every_store! {
    /// Two phones scan the same code, then both try to decide, then the browser polls twice.
    async fn of_two_scanners_one_decides_and_of_two_yeses_one_counts(app) {
        let mut clients = [app.client().await, app.client().await];
        let mut won = Outcomes::default();
        while won.go_on() {
            let code = clients[0].qrcode().await;
            let (link, ticket) = (code["qrcode_url"].as_str().unwrap(), code["ticket"].as_str().unwrap());
            let backs = [clients[0].authorize(link, "user01").await, clients[1].authorize(link, "agent01").await];
            let [one, two] = &mut clients;
            let (first, second) = tokio::join!(one.oauth_callback(&backs[0], ""), two.oauth_callback(&backs[1], ""));
            let landed = [location(&first), location(&second)];
            let winner = usize::from(landed[1].contains("#confirm="));
            assert!(landed[winner].contains("#confirm=") && landed[1 - winner].contains("#error=invalid_code"), "{landed:?}");
            won.count(winner);
            let confirm = fragment(landed[winner], "confirm");
            let (first, second) = tokio::join!(one.decide("confirm", &confirm), two.decide("confirm", &confirm));
            let mut statuses = [first.status, second.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 409]);
            let (first, second) = tokio::join!(one.scan_status(ticket), two.scan_status(ticket));
            assert_eq!(first, second);
            assert_eq!(first["employee_id"], ["user01", "agent01"][winner]);
            assert_eq!(app.query("SELECT count(*) FROM session"), [won.rounds().to_string()]);
        }
    }

    async fn a_yes_and_a_no_at_once_are_one_or_the_other(app) {
        let mut clients = [app.client().await, app.client().await];
        let mut outcomes = Outcomes::default();
        while outcomes.go_on() {
            let code = clients[0].qrcode().await;
            let confirm = clients[0].scan_as(&code, "user01").await;
            let [one, two] = &mut clients;
            let (confirmed, cancelled) = tokio::join!(one.decide("confirm", &confirm), two.decide("cancel", &confirm));
            assert_eq!(u8::from(confirmed.status == 200) + u8::from(cancelled.status == 200), 1);
            let state = one.scan_status(code["ticket"].as_str().unwrap()).await;
            assert_eq!(state["status"] == "confirmed", confirmed.status == 200, "{state}");
            outcomes.count(usize::from(confirmed.status == 200));
        }
        assert_eq!(app.query("SELECT count(*) FROM session"), [outcomes.0[1].to_string()]);
    }

    /// The same code arrives from two browsers at once.
    async fn of_two_browsers_with_one_code_one_is_let_in(app) {
        let mut clients = [app.client().await, app.client().await];
        let page = format!("http://{}/h5/", app.address);
        let mut won = Outcomes::default();
        while won.go_on() {
            let flows = [clients[0].begin_oauth(&page).await, clients[1].begin_oauth(&page).await];
            let back = clients[0].authorize(&flows[0].0, "user01").await;
            let [one, two] = &mut clients;
            let (first, second) = tokio::join!(one.oauth_callback(&back, &flows[0].1), two.oauth_callback(&back, &flows[1].1));
            let let_in = [location(&first), location(&second)].map(|landed| landed.contains("#ticket="));
            assert_ne!(let_in[0], let_in[1]);
            won.count(usize::from(let_in[1]));
            assert_eq!(app.query("SELECT count(*) FROM session"), [won.rounds().to_string()]);
        }
    }
}
