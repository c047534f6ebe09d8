//! The form of a handshake, and the responses to refused ones.

use serde_json::json;

use super::{AGENT, EMPLOYEE, ask, ask_as, bearer};
use crate::harness::{TestApp, TestSocket, handshake, masked, request};

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// A request head with only these headers.
fn head(token: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let bearer = bearer(token);
    let fields: Vec<_> = [("authorization", &*bearer)].into_iter().chain(fields.iter().copied()).collect();
    request("GET", EMPLOYEE, &fields, b"")
}

async fn status(app: &TestApp, head: &[u8]) -> u16 {
    TestSocket::try_open(&app.address, head).await.map_or_else(|answer| answer.status, |socket| socket.answer.status)
}

on_one_store! {
    async fn a_valid_handshake_is_answered_as_the_rfc_says(app) {
        let token = app.client().await.sign_in("user01").await;
        let extensions = [("sec-websocket-extensions", "permessage-deflate; client_max_window_bits")];
        let answer = ask_as(&app, &token, EMPLOYEE, &extensions).await;
        assert_eq!(answer.status, 101, "{answer:?}");
        assert_eq!(answer.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        assert_eq!((answer.header("upgrade"), answer.header("connection")), (Some("websocket"), Some("upgrade")));
        for absent in ["sec-websocket-extensions", "sec-websocket-protocol", "content-length", "transfer-encoding"] {
            assert_eq!(answer.header(absent), None, "{answer:?}");
        }
    }
}

on_every_store! {
    async fn what_is_said_first_tells_whose_socket_it_is(app) {
        let token = app.client().await.sign_in("agent01").await;
        for kind in ["employee", "agent"] {
            let mut socket = TestSocket::open(&app.address, kind, &token).await;
            let ready = socket.event("ready").await;
            let content = json!({ "event": "ready", "resumed": false, "current_role": "agent", "expires_in": 28_800 });
            assert_eq!((&ready["content"], &ready["ts"]), (&content, &json!("2027-01-15T08:00:00Z")), "{ready}");
            assert_eq!(ready.as_object().unwrap().len(), 4, "{ready}");
            assert!(ready["id"].as_str().unwrap().contains('-'));
        }
    }
}

on_one_store! {
    /// Clients and proxies spell these headers in many ways.
    async fn spelling_does_not_matter(app) {
        let token = app.client().await.sign_in("user01").await;
        for fields in [
            &[("Connection", "keep-alive, Upgrade"), ("Upgrade", "WebSocket"), ("Sec-WebSocket-Version", "13")][..],
            &[("connection", "keep-alive"), ("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")],
            &[("CONNECTION", " ,UPGRADE, "), ("upgrade", "h2c, websocket"), ("sec-websocket-version", "13")],
        ] {
            let fields: Vec<_> = fields.iter().copied().chain([("sec-websocket-key", KEY)]).collect();
            assert_eq!(status(&app, &head(&token, &fields)).await, 101, "{fields:?}");
        }
    }

    async fn a_request_that_is_no_handshake_learns_what_is_required(app) {
        let token = app.client().await.sign_in("user01").await;
        let (connection, upgrade, key) = (("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-key", KEY));
        let version = |version| ("sec-websocket-version", version);
        let mut old = head(&token, &[connection, upgrade, key, version("13")]);
        let at = old.windows(8).position(|eight| eight == b"HTTP/1.1").unwrap();
        old[at + 7] = b'0';
        for head in [
            head(&token, &[]),
            head(&token, &[upgrade, key, version("13")]),
            head(&token, &[connection, key, version("13")]),
            head(&token, &[connection, ("upgrade", "websockets"), key, version("13")]),
            head(&token, &[connection, ("upgrade", "h2c"), key, version("13")]),
            head(&token, &[("connection", "close"), upgrade, key, version("13")]),
            head(&token, &[connection, upgrade, key]),
            head(&token, &[connection, upgrade, key, version("12")]),
            head(&token, &[connection, upgrade, key, version("8, 13")]),
            head(&token, &[connection, upgrade, key, version("")]),
            old,
        ] {
            let text = String::from_utf8_lossy(&head).into_owned();
            let answer = TestSocket::try_open(&app.address, &head).await.expect_err(&text);
            answer.refused(426, 1002);
            assert_eq!(answer.header("upgrade"), Some("websocket"), "{text}");
            assert_eq!(answer.header("sec-websocket-version"), Some("13"), "{text}");
        }
    }

    async fn a_key_that_is_none_is_named(app) {
        let token = app.client().await.sign_in("user01").await;
        let usual = [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")];
        for keys in [&[][..], &[""], &["AAAA"], &["dGhlIHNhbXBsZSBub25jZQ"], &["dGhlIHNhbXBsZSBub25jZSE="], &["!!!!!!!!!!!!!!!!!!!!!!=="], &[KEY, KEY]] {
            let fields: Vec<_> = usual.into_iter().chain(keys.iter().map(|key| ("sec-websocket-key", *key))).collect();
            let answer = TestSocket::try_open(&app.address, &head(&token, &fields)).await.expect_err("no key");
            let fields = &answer.refused(400, 1002).json()["data"]["fields"];
            assert!(fields["sec-websocket-key"].is_string(), "{keys:?} {fields}");
        }
    }

    async fn one_with_a_body_is_refused(app) {
        let token = app.client().await.sign_in("user01").await;
        let frame = masked(0x89, b"");
        for field in [("content-length", "6"), ("content-length", "00"), ("transfer-encoding", "chunked")] {
            let head = handshake(EMPLOYEE, &[("authorization", &bearer(&token)), field]);
            let head = [&head, &*frame].concat();
            TestSocket::try_open(&app.address, &head).await.expect_err(field.0).refused(400, 1002);
        }
        let head = handshake(EMPLOYEE, &[("authorization", &bearer(&token)), ("content-length", "0")]);
        assert_eq!(status(&app, &head).await, 101);
    }

    async fn other_methods_are_not_taken(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for path in [EMPLOYEE, AGENT] {
            for method in ["POST", "PUT", "DELETE"] {
                let head = String::from_utf8(handshake(path, &[("authorization", &bearer(&token))])).unwrap();
                let head = head.replacen("GET", method, 1).replacen("\r\n\r\n", "\r\ncontent-length: 0\r\n\r\n", 1);
                let answer = client.send(head.as_bytes()).await;
                answer.refused(405, 1004);
            }
            let head = String::from_utf8(handshake(path, &[("authorization", &bearer(&token))])).unwrap();
            client.start(head.replacen("GET", "HEAD", 1).as_bytes()).await;
            assert!(client.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 405"));
        }
    }
}

on_every_store! {
    async fn the_resume_id_must_be_valid(app) {
        let token = app.client().await.sign_in("user01").await;
        for last in ["1", "-", "1-", "-1", "1-2-3", "%201-2", "+1-2", "0x1-0", "18446744073709551616-0", "1-18446744073709551616", "%00", "", "1-0&last_id=2-0"] {
            let answer = ask_as(&app, &token, &format!("{EMPLOYEE}?last_id={last}"), &[]).await;
            let fields = &answer.refused(400, 1002).json()["data"]["fields"];
            assert!(fields["last_id"].is_string(), "{last} {fields}");
        }
        for last in ["0-0", "1-0", "18446744073709551615-18446744073709551615"] {
            let answer = ask_as(&app, &token, &format!("{EMPLOYEE}?last_id={last}"), &[]).await;
            assert_eq!(answer.status, 101, "{last} {answer:?}");
        }
    }
}

on_one_store! {
    async fn every_refusal_is_in_the_envelope_and_in_the_language_of_the_client(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let (good, bad) = (bearer(&token), bearer("nonsense"));
        let (auth, json) = (("authorization", &*good), "application/json");
        for (head, status, code, reason) in [
            (handshake(EMPLOYEE, &[]), 401, 1001, "missing"),
            (handshake(EMPLOYEE, &[("authorization", &bad)]), 401, 1001, "malformed"),
            (handshake(AGENT, &[auth]), 403, 1003, "role_needed"),
            (handshake(EMPLOYEE, &[auth, ("origin", "https://evil.example")]), 403, 1003, "foreign_origin"),
            (handshake(&format!("{EMPLOYEE}?last_id=x"), &[auth]), 400, 1002, ""),
            (handshake(EMPLOYEE, &[auth, auth]), 400, 1002, ""),
            (handshake(EMPLOYEE, &[auth, ("sec-websocket-key", KEY)]), 400, 1002, ""),
            (request("GET", EMPLOYEE, &[auth], b""), 426, 1002, ""),
        ] {
            let in_language = |language: &str| {
                let head = String::from_utf8(head.clone()).unwrap();
                let fields = format!("\r\naccept-language: {language}\r\nx-request-id: same\r\n\r\n");
                head.replacen("\r\n\r\n", &fields, 1).into_bytes()
            };
            let english = client.send(&in_language("en")).await;
            let chinese = client.send(&in_language("zh-CN")).await;
            for answer in [&english, &chinese] {
                assert_eq!(answer.refused(status, code).reason(), reason);
                assert_eq!(answer.json()["request_id"], "same");
                assert_eq!(answer.header("content-type").map(|kind| &kind[..json.len()]), Some(json));
                assert_eq!(answer.header("www-authenticate").is_some(), status == 401, "{answer:?}");
            }
            let message = |answer: &crate::harness::Response| answer.json()["message"].as_str().unwrap().to_owned();
            assert!(message(&english).is_ascii() && !message(&english).is_empty(), "{english:?}");
            assert!(!message(&chinese).is_ascii(), "{chinese:?}");
        }
        // All requests used the same connection, which is still usable.
        assert_eq!(client.me(&token).await.data()["employee_id"], "user01");
        assert_eq!(client.send(&handshake(EMPLOYEE, &[auth])).await.status, 101);
    }

    /// Frames that the client sends before it gets the response are read.
    async fn what_is_sent_along_with_the_handshake_is_read(app) {
        let token = app.client().await.sign_in("user01").await;
        let head = [handshake(EMPLOYEE, &[("authorization", &bearer(&token))]), crate::harness::masked(0x89, b"early")].concat();
        let mut socket = TestSocket::try_open(&app.address, &head).await.unwrap();
        socket.event("ready").await;
        assert_eq!(socket.any().await, crate::harness::Frame::Pong(b"early".to_vec()));
    }

    async fn nothing_else_is_below(app) {
        let token = app.client().await.sign_in("admin01").await;
        for path in ["/api/ws", "/api/ws/", "/api/ws/employee/", "/api/ws/Employee", "/api/ws/admin"] {
            ask(&app, path, &[("authorization", &bearer(&token))]).await.refused(404, 1004);
        }
    }
}
