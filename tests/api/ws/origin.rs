//! The origins whose pages may open sockets.

use super::{EMPLOYEE, ask_as};
use crate::harness::{TestApp, settings};
use crate::sign_in_proof::production;

async fn foreign(app: &TestApp, token: &str, origins: &[&str]) {
    let fields: Vec<_> = origins.iter().map(|origin| ("origin", *origin)).collect();
    let answer = ask_as(app, token, EMPLOYEE, &fields).await;
    assert_eq!(answer.refused(403, 1003).reason(), "foreign_origin", "{origins:?}");
}

async fn home(app: &TestApp, token: &str, origins: &[&str]) {
    let fields: Vec<_> = origins.iter().map(|origin| ("origin", *origin)).collect();
    let answer = ask_as(app, token, EMPLOYEE, &fields).await;
    assert_eq!(answer.status, 101, "{origins:?} {answer:?}");
}

on_one_store! {
    async fn in_production_its_own_and_those_that_are_listed() {
        let (app, platform) = production(&[("redirect_origins", "https://pages.example.com,http://intranet:8080")]).await;
        let token = platform.sign_in(&mut app.client().await, "user01").await;
        for origins in [&[][..], &["https://desk.example.com"], &["https://pages.example.com"], &["http://intranet:8080"]] {
            home(&app, &token, origins).await;
        }
        for origins in [
            &["https://evil.example"][..],
            &["null"],
            &[""],
            &["http://desk.example.com"],
            &["https://desk.example.com:8443"],
            &["https://desk.example.com."],
            &["https://desk.example.com/"],
            &["https://desk.example.com.evil.example"],
            &["https://evil.desk.example.com"],
            &["https://desk.example.com@evil.example"],
            &["https://desk.example.com https://evil.example"],
            &["https://desk.example.com, https://evil.example"],
            &["https://intranet:8080"],
            &["http://intranet"],
            &["wss://desk.example.com"],
            // Local origins are allowed only in development mode.
            &["http://localhost"],
            &["http://127.0.0.1:8080"],
            &["http://[::1]"],
            &["http://desk"],
            &["https://desk.example.com", "https://desk.example.com"],
            &["https://desk.example.com", "https://evil.example"],
            &["https://d\u{e9}sk.example.com"],
        ] {
            foreign(&app, &token, origins).await;
        }
    }

    async fn in_development_whatever_is_on_this_machine(app) {
        let token = app.client().await.sign_in("user01").await;
        for near in ["http://localhost", "http://localhost:5173", "https://localhost:8443", "http://127.0.0.1:3000", "http://127.8.9.10", "http://[::1]:3000"] {
            home(&app, &token, &[near]).await;
        }
        for far in ["https://evil.example", "null", "", "http://localhost.evil.example", "http://127.0.0.1.evil.example", "http://localhost@evil.example", "http://10.0.0.1", "http://desk.evil", "http://desk:81", "file://"] {
            foreign(&app, &token, &[far]).await;
        }
        foreign(&app, &token, &["http://localhost", "http://localhost"]).await;
    }

    async fn in_development_what_is_listed_counts_too() {
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("redirect_origins", "https://pages.example.com")])).await;
        let token = app.client().await.sign_in("user01").await;
        home(&app, &token, &["https://pages.example.com"]).await;
        foreign(&app, &token, &["https://other.example.com"]).await;
    }

    /// The token is checked before the origin, so a foreign page cannot probe tokens.
    async fn the_token_is_looked_at_first(app) {
        let answer = ask_as(&app, "nonsense", EMPLOYEE, &[("origin", "https://evil.example")]).await;
        answer.refused(401, 1001);
    }
}
