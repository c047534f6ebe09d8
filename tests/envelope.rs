//! The envelope: every response has its shape.

use serde_json::{Value, json};

use crate::harness::{Response, request};

/// Asserts the shape of a response: four members, known types, and the headers that every response has.
pub(crate) fn assert_shape(answer: &Response) {
    let Value::Object(envelope) = answer.json() else { panic!("{answer:?}") };
    let members: Vec<_> = envelope.keys().map(String::as_str).collect();
    assert_eq!(members, ["code", "data", "message", "request_id"], "{answer:?}");
    assert!(envelope["code"].is_u64() && envelope["message"].is_string());
    assert_eq!(envelope["request_id"].as_str(), answer.header("x-request-id"));
    assert_eq!(envelope["code"] == 0, answer.status == 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert!(answer.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
}

const JSON: (&str, &str) = ("content-type", "application/json");

on_one_store! {
    async fn bad_requests_learn_what_is_wrong(app) {
        let post = |headers: &[(&str, &str)], body: &[u8]| request("POST", "/api/auth/verify", headers, body);
        let deep = "[".repeat(500);
        let large = format!(r#"{{"token":"{}"}}"#, "x".repeat(70_000));
        let cases: Vec<(Vec<u8>, u16, u64, &str)> = vec![
            (request("GET", "/api/nothing", &[], b""), 404, 1004, "no such path"),
            (request("GET", "/nothing", &[], b""), 404, 1004, "no such path"),
            (request("GET", "/api/auth/verify", &[], b""), 405, 1004, "does not support this method"),
            (request("BREW", "/api/auth/me", &[], b""), 405, 1004, "does not support this method"),
            (post(&[JSON], b""), 400, 1002, "not a JSON object"),
            (post(&[JSON], b"{"), 400, 1002, "not a JSON object"),
            (post(&[JSON], b"[]"), 400, 1002, "not a JSON object"),
            (post(&[JSON], b"\"x\""), 400, 1002, "not a JSON object"),
            (post(&[JSON], b"{} x"), 400, 1002, "not a JSON object"),
            (post(&[JSON], deep.as_bytes()), 400, 1002, "not a JSON object"),
            (post(&[JSON], b"{\"token\":\"\xff\xfe\"}"), 400, 1002, "not UTF-8"),
            (post(&[], b"{}"), 415, 1002, "application/json"),
            (post(&[("content-type", "text/plain")], b"{}"), 415, 1002, "application/json"),
            (post(&[("content-type", "application/x-www-form-urlencoded")], b"token=x"), 415, 1002, "application/json"),
            (post(&[JSON], large.as_bytes()), 413, 1002, "65536"),
        ];
        for (bytes, status, code, words) in cases {
            let answer = app.client().await.send(&bytes).await;
            assert_shape(answer.refused(status, code));
            assert!(answer.json()["message"].as_str().unwrap().contains(words), "{answer:?}");
        }
    }

    async fn a_wrong_method_says_which_is_right(app) {
        let answer = app.client().await.get("/api/auth/logout", &[]).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    }

    async fn media_types_are_read_as_they_are_written(app) {
        let mut client = app.client().await;
        for kind in ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json ;x=y"] {
            let answer = client.send(&request("POST", "/api/auth/verify", &[("content-type", kind)], br#"{"token":"x"}"#)).await;
            assert_eq!(answer.data(), json!({ "valid": false }), "{kind}");
        }
    }

    async fn request_ids_are_echoed_when_they_are_plain(app) {
        let mut client = app.client().await;
        let long = "x".repeat(64);
        for id in ["a", "A.b_c-9", "1a2b3c4d5-7", "1a2b3c4d.7", &long] {
            assert_eq!(client.get("/api/version", &[("x-request-id", id)]).await.json()["request_id"], id);
        }
        let too_long = "x".repeat(65);
        // One that begins like a reference would send the operator to another request.
        let like_references = ["1a2b3c4d", "1A2B3C4D-7", "1a2b3c4d-0000-4000-8000-000000000000"];
        for id in ["", "a b", "a\"b", "<script>", "é", "a,b", &too_long].into_iter().chain(like_references) {
            let answer = client.get("/api/version", &[("x-request-id", id)]).await;
            assert_shape(&answer);
            assert_ne!(answer.json()["request_id"], id);
        }
        let made: Vec<_> = [client.get("/api/version", &[]).await, client.get("/api/version", &[]).await].map(|answer| answer.json()["request_id"].clone()).into();
        assert_ne!(made[0], made[1]);
    }

    async fn messages_come_in_english_or_chinese(app) {
        let mut client = app.client().await;
        let mut message = async |language: &str| client.get("/api/auth/me", &[("accept-language", language)]).await.json()["message"].clone();
        let (english, chinese) = (message("en").await, message("zh-CN").await);
        assert!(english.as_str().unwrap().is_ascii() && chinese.as_str().unwrap().contains("令牌"));
        assert_eq!(message("fr, zh;q=0.5, en;q=0.1").await, chinese);
        assert_eq!(message("fr").await, english);
        assert_eq!(message("☃").await, english);
    }

    async fn success_and_failure_have_the_same_members(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for answer in [client.me(&token).await, client.switch(&token, "user").await, client.switch(&token, "admin").await, client.logout(&token).await, client.me(&token).await] {
            assert_shape(&answer);
        }
    }
}
