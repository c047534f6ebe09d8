//! POST /api/messages/reply

mod delivery;
mod https;

use serde_json::{Value, json};

use crate::harness::{BackendAnswer, Client, ReplyBackend, Response, request, until};

const PATH: &str = "/api/messages/reply";

async fn reply(client: &mut Client, token: &str, body: &Value) -> Response {
    client.post_as(token, PATH, body).await
}

fn option(option: &Value) -> Value {
    json!({ "message_id": "1800000000000-0", "option": option })
}

fn text(text: &str) -> Value {
    json!({ "message_id": "1800000000000-0", "text": text })
}

on_one_store! {
    async fn without_a_back_end_replies_are_off(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let answer = reply(&mut client, &token, &text("hello")).await;
        assert_eq!(answer.refused(403, 1003).reason(), "replies_off");
        assert!(answer.body.contains("messages.reply_url"), "{answer:?}");
        let page = client.get("/h5/", &[]).await.body;
        assert!(page.contains("data-replies=\"off\""), "{page}");
    }

    async fn what_is_wrong_with_a_reply_is_named() {
        let backend = ReplyBackend::start().await;
        let app = backend.service().await;
        assert!(app.client().await.get("/itagent/", &[]).await.body.contains("data-replies=\"on\""));
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let (id, long) = ("1800000000000-0", "长".repeat(2_001));
        for (body, field) in [
            (json!({}), "message_id"),
            (json!({ "message_id": 7, "text": "x" }), "message_id"),
            (json!({ "message_id": "../../x", "text": "x" }), "message_id"),
            (json!({ "message_id": id }), "option"),
            (json!({ "message_id": id, "option": null }), "option"),
            (json!({ "message_id": id, "option": "a", "text": "b" }), "option"),
            (json!({ "message_id": id, "option": "x".repeat(2_047) }), "option"),
            (json!({ "message_id": id, "text": "" }), "text"),
            (json!({ "message_id": id, "text": " \n\t " }), "text"),
            (json!({ "message_id": id, "text": "bell \u{7}" }), "text"),
            (json!({ "message_id": id, "text": "tab\there" }), "text"),
            (json!({ "message_id": id, "text": "return\rhere" }), "text"),
            (json!({ "message_id": id, "text": long }), "text"),
            (json!({ "message_id": id, "text": ["x"] }), "text"),
        ] {
            let answer = reply(&mut client, &token, &body).await;
            let fields = answer.refused(400, 1002).json()["data"]["fields"].clone();
            assert!(fields[field].is_string(), "{body}: {fields}");
        }
        assert_eq!(backend.count(), 0);
        for body in [text(&"长".repeat(2_000)), text(" two\nlines \n"), option(&json!("x".repeat(2_046))), option(&json!([{}, 1.5, null]))] {
            reply(&mut client, &token, &body).await.data();
        }
        let sent: Vec<Value> = backend.take().iter().map(|one| serde_json::from_str(&one.body).unwrap()).collect();
        assert_eq!((&sent[1]["text"], &sent[3]["option"]), (&json!("two\nlines"), &json!([{}, 1.5, null])));
    }

    async fn an_employee_has_one_limit_from_wherever() {
        let backend = ReplyBackend::start().await;
        let app = backend.service_with(&[("limits.enabled", "true"), ("limits.replies", "3/min")]).await;
        let mut client = app.client().await;
        let tokens = [client.sign_in("user01").await, client.sign_in("user01").await];
        for (at, from) in ["192.0.2.1", "192.0.2.2", "192.0.2.3"].into_iter().enumerate() {
            client.ask_from(from, &tokens[at % 2], "POST", PATH, &text("hello")).await.data();
        }
        let fourth = client.ask_from("192.0.2.4", &tokens[1], "POST", PATH, &text("hello")).await;
        assert_eq!(fourth.refused(429, 1006).header("retry-after"), Some("20"));
        // A colleague at the same address is not affected, nor by strangers, who count by address.
        for _ in 0..3 {
            client.ask_from("192.0.2.1", "stranger", "POST", PATH, &text("hello")).await.refused(401, 1001);
        }
        client.ask_from("192.0.2.1", "stranger", "POST", PATH, &text("hello")).await.refused(429, 1006);
        let colleague = client.sign_in("agent01").await;
        client.ask_from("192.0.2.1", &colleague, "POST", PATH, &text("hello")).await.data();
        assert_eq!(backend.count(), 4);
    }
}

on_every_store! {
    async fn a_session_that_ends_while_its_request_is_held_open_sends_nothing() {
        let backend = ReplyBackend::start().await;
        let app = backend.service().await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let body = text("too late").to_string();
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", &*bearer), ("expect", "100-continue"), ("content-type", "application/json")];
        let whole = request("POST", PATH, &headers, body.as_bytes());
        let mut held = app.client().await;
        held.start(&whole[..whole.len() - body.len()]).await;
        assert!(held.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 100 "));
        client.logout(&token).await.data();
        held.start(body.as_bytes()).await;
        let answer = held.read().await.unwrap();
        assert_eq!(answer.refused(401, 1001).reason(), "signed_out");
        assert_eq!(backend.count(), 0);
    }

    async fn a_session_that_ends_between_two_attempts_sends_no_more() {
        let backend = ReplyBackend::start().await;
        let app = backend.service().await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        backend.plan(&[BackendAnswer::FailLater]);
        let (mut replying, held) = (app.client().await, token.clone());
        let replying = tokio::spawn(async move { reply(&mut replying, &held, &text("once")).await });
        until("the first attempt", async || backend.count() == 1).await;
        client.logout(&token).await.data();
        backend.fail_now.notify_one();
        replying.await.unwrap().refused(401, 1001);
        assert_eq!(backend.count(), 1);
        let metrics = client.get("/metrics", &[]).await.body;
        assert!(metrics.contains("deskpass_replies_total{outcome=\"not_allowed\"} 1"), "{metrics}");
    }
}
