//! Limits on the number of sockets per user and per address, and on silent or noisy clients.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{EMPLOYEE, ask_as, bearer};
use crate::harness::{Frame, TestApp, TestSocket, handshake, settings};

async fn desk_with(more: &[(&'static str, &str)]) -> TestApp {
    TestApp::with(settings(&[&[("development.enabled", "true")], more].concat())).await
}

/// Waits until a service has this number of sockets.
pub(super) async fn until(app: &TestApp, count: usize) {
    let since = Instant::now();
    while app.auth().sockets.len() != count {
        assert!(since.elapsed() < Duration::from_secs(5), "{} sockets", app.auth().sockets.len());
        tokio::task::yield_now().await;
    }
}

on_every_store! {
    async fn the_oldest_of_a_person_makes_room() {
        let app = desk_with(&[("sockets.max_per_employee", "2")]).await;
        let mut client = app.client().await;
        let (token, again, other) = (client.sign_in("agent01").await, client.sign_in("agent01").await, client.sign_in("user01").await);
        let mut other = app.socket("employee", &other).await;
        let mut first = app.socket("employee", &token).await;
        let mut second = app.socket("agent", &token).await;
        let mut third = app.socket("employee", &again).await;
        first.ends_soon(4409, "replaced").await;
        second.is_quiet().await;
        let mut fourth = app.socket("agent", &again).await;
        second.ends_soon(4409, "replaced").await;
        for socket in [&mut third, &mut fourth, &mut other] {
            socket.is_quiet().await;
        }
        until(&app, 3).await;
    }

    /// A refused client replaces no open socket.
    async fn a_refused_socket_replaces_no_other() {
        let app = desk_with(&[("sockets.max_per_employee", "1")]).await;
        let token = app.client().await.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        ask_as(&app, &token, "/api/ws/agent", &[]).await.refused(403, 1003);
        ask_as(&app, &token, EMPLOYEE, &[("origin", "null")]).await.refused(403, 1003);
        ask_as(&app, &token, &format!("{EMPLOYEE}?last_id=x"), &[]).await.refused(400, 1002);
        ask_as(&app, &token, EMPLOYEE, &[("sec-websocket-key", "x")]).await.refused(400, 1002);
        socket.is_quiet().await;
    }
}

on_one_store! {
    async fn an_address_has_a_limit_and_a_closed_socket_frees_a_slot() {
        let app = desk_with(&[("sockets.max_per_address", "2")]).await;
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("agent01").await);
        let mut kept = vec![app.socket("employee", &token).await, app.socket("agent", &other).await];
        let refused = ask_as(&app, &token, EMPLOYEE, &[]).await;
        assert_eq!(refused.refused(429, 1006).header("retry-after"), Some("5"));
        ask_as(&app, "nonsense", EMPLOYEE, &[]).await.refused(401, 1001);
        for (from, status) in [("198.51.100.7", 101), ("127.0.0.1", 429)] {
            assert_eq!(ask_as(&app, &token, EMPLOYEE, &[("x-forwarded-for", from)]).await.status, status, "{from}");
        }
        // The addresses of one IPv6 network count as one, as everywhere.
        let head = |from: &str| handshake(EMPLOYEE, &[("authorization", &bearer(&token)), ("x-forwarded-for", from)]);
        let mut near = Vec::new();
        for from in ["2001:db8::1", "2001:db8::2"] {
            near.push(TestSocket::try_open(&app.address, &head(from)).await.unwrap());
        }
        TestSocket::try_open(&app.address, &head("2001:db8::3")).await.unwrap_err().refused(429, 1006);
        TestSocket::try_open(&app.address, &head("2001:db8:0:1::3")).await.unwrap();
        drop(kept.pop());
        let since = Instant::now();
        while ask_as(&app, &token, EMPLOYEE, &[]).await.status != 101 {
            assert!(since.elapsed() < Duration::from_secs(5), "a place is not free again");
        }
    }

    async fn all_together_take_half_of_all_connections() {
        let app = desk_with(&[("server.max_connections", "8")]).await;
        let token = app.client().await.sign_in("user01").await;
        let mut kept = Vec::new();
        for at in 0..4 {
            let head = handshake(EMPLOYEE, &[("authorization", &bearer(&token)), ("x-forwarded-for", &format!("198.51.100.{at}"))]);
            kept.push(TestSocket::try_open(&app.address, &head).await.unwrap());
        }
        ask_as(&app, &token, EMPLOYEE, &[("x-forwarded-for", "198.51.100.99")]).await.refused(429, 1006);
        assert_eq!(app.client().await.me(&token).await.data()["employee_id"], "user01");
    }

    async fn a_silent_client_is_closed_and_a_client_that_answers_pings_stays() {
        let app = desk_with(&[("sockets.ping", "200ms")]).await;
        let token = app.client().await.sign_in("user01").await;
        let (mut silent, mut answers) = (app.socket("employee", &token).await, app.socket("employee", &token).await);
        let staying = tokio::spawn(async move {
            for _ in 0..6 {
                let Frame::Ping(payload) = answers.any().await else { panic!("no ping") };
                answers.frame(0x8a, &payload).await;
            }
            answers
        });
        let since = Instant::now();
        for _ in 0..2 {
            assert_eq!(silent.any().await, Frame::Ping(Vec::new()));
        }
        assert_eq!(silent.any().await, Frame::Close(1001, "silent".into()));
        assert!((500..2_000).contains(&since.elapsed().as_millis()), "{:?}", since.elapsed());
        let mut answers = staying.await.unwrap();
        // Any frame counts as a sign of life.
        answers.frame(0x81, b"{}").await;
        answers.frame(0x89, b"here").await;
        while answers.any().await != Frame::Pong(b"here".to_vec()) {}
        until(&app, 1).await;
    }

    async fn a_client_may_say_so_much_a_minute(app) {
        let token = app.client().await.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        for _ in 0..3 {
            for _ in 0..99 {
                socket.frame(0x81, b"{\"msg_type\":\"hello\"}").await;
            }
            socket.is_quiet().await;
            app.clock.advance(Duration::from_mins(1));
        }
        for _ in 0..101 {
            socket.frame(0x81, b"x").await;
        }
        socket.ends_soon(1008, "too_many_messages").await;
    }

    /// Frames of a client reach no other client, whatever they contain.
    async fn what_a_client_says_goes_nowhere(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("agent01").await);
        let (mut one, mut two) = (app.socket("employee", &token).await, app.socket("agent", &other).await);
        let forged = json!({ "to": { "employee_id": "agent01" }, "msg_type": "byod_card", "content": 1 }).to_string();
        one.frame(0x81, forged.as_bytes()).await;
        one.is_quiet().await;
        two.is_quiet().await;
    }
}
