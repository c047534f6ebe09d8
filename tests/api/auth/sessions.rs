//! The limit on sessions, and the removal of old ones.

use std::time::Duration;

use crate::harness::{TestApp, settings};

on_every_store! {
    async fn in_development_they_are_not_limited(app) {
        let mut client = app.client().await;
        let first = client.sign_in("user01").await;
        for _ in 0..30 {
            client.sign_in("user01").await;
        }
        assert!(client.is_valid(&first).await);
    }

    async fn expired_sessions_are_swept_in_small_steps(app) {
        let mut client = app.client().await;
        for _ in 0..3 {
            client.sign_in("user01").await;
        }
        app.clock.advance(Duration::from_hours(9));
        assert_eq!(app.auth().sweep().await.unwrap(), 0, "a client that returns after the end learns that the session \
                                                          has ended");
        let young = client.sign_in("user01").await;
        app.clock.advance(Duration::from_hours(7));
        assert_eq!(app.auth().sweep().await.unwrap(), 3);
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
        assert!(client.is_valid(&young).await);
        assert_eq!(app.query("SELECT count(*) FROM login_log"), ["4"], "the log keeps what happened");
    }
}

on_every_store! {
    async fn beyond_the_limit_the_oldest_ends() {
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("session.max_per_employee", "3")])).await;
        let mut client = app.client().await;
        let other = client.sign_in("agent01").await;
        let mut tokens = Vec::new();
        for _ in 0..5 {
            tokens.push(client.sign_in("user01").await);
            app.clock.advance(Duration::from_secs(1));
        }
        for (at, token) in tokens.iter().enumerate() {
            assert_eq!(client.is_valid(token).await, at >= 2);
        }
        assert_eq!(client.me(&tokens[0]).await.refused(401, 1001).reason(), "kicked");
        assert!(client.is_valid(&other).await);
    }

    async fn the_newest_stays_also_when_all_come_at_once() {
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("session.max_per_employee", "1")])).await;
        let mut client = app.client().await;
        for _ in 0..20 {
            let token = client.sign_in("user01").await;
            assert!(client.is_valid(&token).await);
            assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
        }
    }
}
