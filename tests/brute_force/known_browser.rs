//! Browsers in which an agent has signed in before: strangers cannot use up their attempts.

use std::time::Duration;

use deskpass_core::{Entropy, KnownBrowser, Secret};
use deskpass_store::AttemptKind;
use serde_json::json;

use super::{PAUSE, WRONG, exhaust_attempts, guess_wrong, locked, platform_code, shut};
use crate::harness::{Client, PASSWORD, Response, TestApp, cookies};

/// The header that browsers send with requests of our own pages.
const PAGE: (&str, &str) = ("sec-fetch-site", "same-origin");

/// Signs in through the platform in a browser; returns the cookie that the browser keeps.
async fn sign_in_by_page(client: &mut Client, who: &str) -> String {
    let code = platform_code(client, who).await;
    let answer = client.post("/api/agents/login", &[PAGE], &json!({ "employee_id": who, "code": code })).await;
    answer.data();
    let cookie = cookies(&answer);
    assert!(cookie.starts_with("deskpass_known=") && !cookie.contains("; "), "{cookie}");
    cookie
}

/// Sends a password, from a browser with a cookie.
async fn try_password(client: &mut Client, cookie: &str, who: &str, password: &str) -> Response {
    let body = json!({ "employee_id": who, "password": password });
    client.post("/api/agents/login", &[PAGE, ("cookie", cookie)], &body).await
}

/// A stranger's guesses lead to a lockout.
async fn use_up(client: &mut Client) {
    guess_wrong(client, 5).await;
    shut(&client.agent_login("agent01", PASSWORD).await);
}

on_every_store! {
    async fn strangers_do_not_use_up_the_guesses_of_a_browser_that_is_known(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let cookie = sign_in_by_page(&mut client, "agent01").await;
        use_up(&mut client).await;
        for _ in 0..3 {
            for _ in 0..4 {
                try_password(&mut client, &cookie, "AGENT01", WRONG).await.refused(401, 1011);
            }
            try_password(&mut client, &cookie, "agent01", PASSWORD).await.data();
        }
        shut(&client.agent_login("agent01", PASSWORD).await);
        // A known browser has five attempts of its own, like any other client.
        for _ in 0..5 {
            try_password(&mut client, &cookie, "agent01", WRONG).await.refused(401, 1011);
        }
        assert_eq!(shut(&try_password(&mut client, &cookie, "agent01", PASSWORD).await), 900);
        app.clock.advance(PAUSE);
        try_password(&mut client, &cookie, "agent01", PASSWORD).await.data();
        let other = sign_in_by_page(&mut client, "agent01").await;
        assert_ne!(cookie, other);
    }

    async fn strangers_do_not_lock_a_browser_that_is_known(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let cookie = sign_in_by_page(&mut client, "agent01").await;
        exhaust_attempts(&app, "agent01", AttemptKind::Password, 100).await;
        locked(&client.agent_login("agent01", PASSWORD).await);
        try_password(&mut client, &cookie, "agent01", PASSWORD).await.data();
        // A known browser is locked like any other client.
        let own = Secret::<KnownBrowser>::parse(cookie.split_once('=').unwrap().1).unwrap().digest();
        exhaust_attempts(&app, "agent01", AttemptKind::KnownBrowser(own), 99).await;
        try_password(&mut client, &cookie, "agent01", WRONG).await.refused(401, 1011);
        locked(&try_password(&mut client, &cookie, "agent01", PASSWORD).await);
        assert!(app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap());
        try_password(&mut client, &cookie, "agent01", PASSWORD).await.data();
        client.partial_sign_in("agent01").await;
    }

    async fn completing_a_partial_session_makes_the_browser_known(app) {
        let mut client = app.client().await;
        let device = app.agent_with_device("agent01").await;
        let half = try_password(&mut client, "deskpass_known=none", "agent01", PASSWORD).await;
        assert_eq!(cookies(&half), "", "half-way in is not in");
        let bearer = format!("Bearer {}", half.data()["token"].as_str().unwrap());
        let headers = [PAGE, ("authorization", &*bearer)];
        let whole = client.post("/api/auth/otp-verify", &headers, &json!({ "code": device.next_code() })).await;
        whole.data();
        let set = whole.header("set-cookie").unwrap();
        for part in ["deskpass_known=", "HttpOnly", "SameSite=", "Path=/", "Max-Age=7776000"] {
            assert!(set.contains(part), "{set}");
        }
        let cookie = cookies(&whole);
        use_up(&mut client).await;
        try_password(&mut client, &cookie, "agent01", PASSWORD).await.data();
        // Clients other than browsers get no cookie.
        let half = try_password(&mut client, &cookie, "agent01", PASSWORD).await.data()["token"].as_str().unwrap().to_owned();
        let whole = client.post_as(&half, "/api/auth/otp-verify", &json!({ "code": device.next_code() })).await;
        whole.data();
        assert_eq!(cookies(&whole), "");
    }

    async fn a_browser_known_for_another_agent_counts_as_unknown(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        sign_in_by_page(&mut client, "agent01").await;
        let others = sign_in_by_page(&mut client, "admin01").await;
        let made_up = Secret::<KnownBrowser>::generate(&Entropy::system()).unwrap();
        let made_up = format!("deskpass_known={}", made_up.expose());
        let cookies = [&*others, &*made_up, "deskpass_known=", "deskpass_known=dpd_x", "__Host-deskpass_known=x"];
        for cookie in cookies {
            try_password(&mut client, cookie, "agent01", WRONG).await.refused(401, 1011);
        }
        for cookie in cookies {
            assert_eq!(shut(&try_password(&mut client, cookie, "agent01", PASSWORD).await), 900);
        }
        shut(&client.agent_login("agent01", PASSWORD).await);
        try_password(&mut client, &others, "admin01", WRONG).await.refused(403, 1012);
    }

    async fn a_browser_stays_known_while_it_is_used_by_any_of_its_agents(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        client.first_password("admin01").await;
        let cookie = sign_in_by_page(&mut client, "agent01").await;
        for (who, days) in [("agent01", 60), ("admin01", 60), ("agent01", 60)] {
            app.clock.advance(Duration::from_hours(days * 24));
            let ask = json!({ "employee_id": who, "code": platform_code(&mut client, who).await });
            let again = client.post("/api/agents/login", &[PAGE, ("cookie", &cookie)], &ask).await;
            again.data();
            assert_eq!(cookies(&again), cookie, "the same for as long again");
        }
        guess_wrong(&mut client, 5).await;
        try_password(&mut client, &cookie, "agent01", PASSWORD).await.data();
        try_password(&mut client, &cookie, "admin01", PASSWORD).await.data();
        // The service does not adopt a cookie value that it did not issue.
        let made_up = format!("deskpass_known={}", Secret::<KnownBrowser>::generate(&Entropy::system()).unwrap().expose());
        let ask = json!({ "employee_id": "agent01", "code": platform_code(&mut client, "agent01").await });
        let answer = client.post("/api/agents/login", &[PAGE, ("cookie", &made_up)], &ask).await;
        assert_ne!(cookies(&answer), made_up);
    }

    async fn other_browsers_are_forgotten_when_the_password_is_changed(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let (own, other) =
            (sign_in_by_page(&mut client, "agent01").await, sign_in_by_page(&mut client, "agent01").await);
        let bearer = format!("Bearer {}", client.sign_in("agent01").await);
        let change = json!({ "old_password": PASSWORD, "new_password": "nine boats on a quiet river" });
        let headers = [PAGE, ("cookie", &*own), ("authorization", &*bearer)];
        client.post("/api/agents/password", &headers, &change).await.data();
        guess_wrong(&mut client, 5).await;
        shut(&try_password(&mut client, &other, "agent01", "nine boats on a quiet river").await);
        try_password(&mut client, &own, "agent01", "nine boats on a quiet river").await.data();
    }

    async fn a_browser_that_is_known_is_not_signed_in_by_that(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let cookie = sign_in_by_page(&mut client, "agent01").await;
        let value = cookie.split_once('=').unwrap().1;
        let headers = [PAGE, ("cookie", &*cookie)];
        assert_eq!(client.get("/api/auth/me", &headers).await.refused(401, 1001).reason(), "missing");
        client.post("/api/agents/login", &headers, &json!({ "employee_id": "agent01" })).await.refused(400, 1002);
        try_password(&mut client, &cookie, "agent01", WRONG).await.refused(401, 1011);
        for path in ["/api/auth/me", "/api/auth/otp-status"] {
            client.get_as(value, path).await.refused(401, 1001);
        }
        assert!(!client.is_valid(value).await);
    }

    async fn a_browser_is_forgotten_with_the_password_the_record_and_time(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        for what in ["reset", "disable", "time"] {
            let cookie = sign_in_by_page(&mut client, "agent01").await;
            use_up(&mut client).await;
            try_password(&mut client, &cookie, "agent01", PASSWORD).await.data();
            forget(&app, &mut client, what).await;
            app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap();
            use_up(&mut client).await;
            shut(&try_password(&mut client, &cookie, "agent01", PASSWORD).await);
            app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap();
            client.partial_sign_in("agent01").await;
        }
    }
}

async fn forget(app: &TestApp, client: &mut Client, what: &str) {
    let key = app.key("agent01");
    match what {
        "reset" => {
            let code = app.auth().operator().reset_password(key).await.unwrap().code.text();
            let body = json!({ "employee_id": "agent01", "setup_code": code, "new_password": PASSWORD });
            client.post("/api/agents/password/setup", &[], &body).await.data();
        }
        "disable" => {
            app.auth().operator().disable_agent(key.clone()).await.unwrap();
            app.auth().operator().enable_agent(key).await.unwrap();
        }
        _ => app.clock.advance(Duration::from_hours(90 * 24)),
    }
}
