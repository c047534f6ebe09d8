//! POST /api/messages

mod fields;
pub(crate) mod reply;
mod streaming;

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, Response, TestSocket, request};

const PATH: &str = "/api/messages";
const KINDS: [&str; 5] = ["ai_thinking", "dynamic_recommend", "ai_structured", "byod_card", "typewriter"];

/// Sends a body as it is.
async fn raw(client: &mut Client, key: &str, body: &str) -> Response {
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", &*bearer), ("content-type", "application/json")];
    client.send(&request("POST", PATH, &headers, body.as_bytes())).await
}

fn card(to: &Value, content: &Value) -> Value {
    json!({ "to": to, "msg_type": "byod_card", "content": content })
}

/// Asserts the next messages of each socket, and that no others follow.
async fn get(sockets: &mut [TestSocket], contents: &[&[u64]]) {
    for (at, (socket, contents)) in sockets.iter_mut().zip(contents).enumerate() {
        for content in *contents {
            assert_eq!(socket.message().await["content"], *content, "socket {at}");
        }
        socket.is_quiet().await;
    }
}

on_every_store! {
    async fn every_kind_arrives_with_what_was_sent_and_nothing_else(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        app.clock.advance(Duration::from_millis(123));
        let to = json!({ "employee_id": "user01" });
        for (seq, kind) in KINDS.into_iter().enumerate() {
            let content = json!({ "stream_id": "s", "seq": seq, "text": "你好", "done": false });
            let mut body = json!({ "to": to, "msg_type": kind, "content": content, "extra_data": { "a": [1, null] } });
            let sent = client.send_messages(&key, &body).await.data();
            let frame = socket.text().await;
            let id = sent["messages"][0]["id"].clone();
            assert_eq!(sent, json!({ "delivered": 1, "messages": [{ "id": id, "delivered": 1, "duplicate": false }] }));
            assert_eq!(frame, json!({
                "msg_type": kind, "content": content, "extra_data": { "a": [1, null] }, "id": id, "ts": "2027-01-15T08:00:00.123Z",
            }));
            body.as_object_mut().unwrap().retain(|name, _| ["to", "msg_type"].contains(&&**name));
            if kind != "typewriter" {
                client.send_messages(&key, &body).await.data();
                let names: Vec<_> = socket.text().await.as_object().unwrap().keys().cloned().collect();
                assert_eq!(names, ["id", "msg_type", "ts"]);
            }
        }
    }

    async fn content_and_extra_data_go_out_byte_for_byte(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        for value in [
            "null", "true", "\"\"", "1.0", "-0", "-0.0", "1e400", "1E+2", "0.1000000000000000055511151231257827", "18446744073709551616",
            "123456789012345678901234567890", "[]", "{}", "[ 1,\t2 , 3 ]", "{ \"b\" : 1 , \"a\" : 2 }", r#"{"b":1,"a":2,"b":3}"#,
            r#""\u0041\/\ud83d\ude00\n""#, r#""😀 你好 \u4f60""#, r#""\u0000""#, r#"{"":{"":{}}}"#, "\"\u{7f}\u{2028}\"",
            r#"{"msg_type":"session","id":"0-0","content":{"event":"ending"}}"#, r#""\ud800""#, &deep,
        ] {
            for name in ["content", "extra_data"] {
                let body = format!(r#"{{"msg_type":"byod_card",{name:?}:{value},"to":{{"employee_id":"user01"}}}}"#);
                let sent = raw(&mut client, &key, &body).await.data();
                let id = sent["messages"][0]["id"].as_str().unwrap();
                let text = socket.raw_text().await;
                let expected = format!(r#"{{"msg_type":"byod_card","ts":"2027-01-15T08:00:00Z","{name}":{value},"id":"{id}"}}"#);
                assert!(text == expected, "{text}\n{expected}");
            }
        }
    }

    /// White space around a value is not part of the message.
    async fn blanks_around_are_left_out_and_lines_within_are_kept(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        let body = "\r\n{ \"to\" : {\"employee_id\":\"user01\"} ,\n \"msg_type\" : \"byod_card\",\"content\" :\n {\r\n \"a\":\t1 }  \n , \"extra_data\":  7 }\n";
        raw(&mut client, &key, body).await.data();
        let text = socket.raw_text().await;
        assert!(text.contains("\"content\":{\r\n \"a\":\t1 },\"extra_data\":7,"), "{text:?}");
    }

    async fn it_reaches_whom_it_names_each_once(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let (user, agent, again) = (client.sign_in("user01").await, client.sign_in("agent01").await, client.sign_in("agent01").await);
        client.switch(&again, "user").await.data();
        // One socket of an employee, two of an agent, and one of an agent whose active role is user.
        let mut sockets = [
            app.socket("employee", &user).await, app.socket("employee", &agent).await, app.socket("agent", &agent).await,
            app.socket("employee", &again).await,
        ];
        let everybody = json!([{ "employee_id": "user01" }, { "employee_id": "USER01", "corp_id": "wwdeskpass" }, { "role": "user" },
            { "role": "agent" }, { "employee_id": "agent01" }, { "employee_id": "nobody" }, { "role": "security" }]);
        for (content, (to, socket, delivered)) in [
            (json!({ "employee_id": "user01" }), None, 1),
            (json!({ "employee_id": "AGENT01" }), None, 3),
            (json!({ "employee_id": "agent01" }), Some("agent"), 1),
            (json!({ "employee_id": "agent01" }), Some("employee"), 2),
            (json!({ "role": "agent" }), None, 2),
            (json!({ "role": "user" }), None, 2),
            (json!({ "role": "user" }), Some("agent"), 0),
            (json!({ "role": "admin" }), None, 0),
            (json!({ "employee_id": "nobody" }), None, 0),
            (everybody.clone(), None, 4),
            (everybody, Some("employee"), 3),
        ].into_iter().enumerate() {
            let mut body = card(&to, &json!(content));
            body["socket"] = json!(socket);
            let sent = client.send_messages(&key, &body).await.data();
            assert_eq!((&sent["delivered"], &sent["messages"][0]["delivered"]), (&json!(delivered), &json!(delivered)), "{to} {socket:?}");
        }
        get(&mut sockets, &[&[0, 5, 9, 10], &[1, 3, 4, 9, 10], &[1, 2, 4, 9], &[1, 3, 5, 9, 10]]).await;
    }

    async fn namesakes_of_two_corporations_are_two_people(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let home = client.sign_in("user01").await;
        let abroad = app.sign_in_at_partner().await;
        let mut sockets = [app.socket("employee", &home).await, app.socket("employee", &abroad).await];
        for (content, (to, delivered)) in [
            (json!({ "employee_id": "user01" }), 1),
            (json!({ "corp_id": "wwpartner", "employee_id": "user01" }), 1),
            (json!({ "corp_id": "wwpartner", "employee_id": "USER01" }), 0),
            (json!({ "role": "user" }), 1),
            (json!({ "corp_id": "wwpartner", "role": "user" }), 1),
            (json!({ "corp_id": "wwother", "employee_id": "user01" }), 0),
            (json!({ "corp_id": "wwother", "role": "user" }), 0),
            (json!({ "corp_id": null, "role": "user", "employee_id": null }), 1),
        ].into_iter().enumerate() {
            assert_eq!(client.send_card(&key, &to, &json!(content)).await, delivered, "{to}");
        }
        get(&mut sockets, &[&[0, 3, 7], &[1, 4]]).await;
    }

    async fn a_role_means_the_active_role(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let mut socket = app.socket("employee", &token).await;
        let to = |role: &str| json!({ "role": role });
        for (role, delivered) in [("admin", 1), ("agent", 0), ("user", 0)] {
            assert_eq!(client.send_card(&key, &to(role), &json!(role)).await, delivered, "{role}");
        }
        assert_eq!(socket.message().await["content"], "admin");
        client.switch(&token, "user").await.data();
        for (role, delivered) in [("admin", 0), ("agent", 0), ("user", 1)] {
            assert_eq!(client.send_card(&key, &to(role), &json!(role)).await, delivered, "{role}");
        }
        assert_eq!(socket.message().await["content"], "user");
        socket.is_quiet().await;
    }

    async fn a_batch_is_taken_whole_or_not_at_all(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("agent01").await);
        let mut sockets = [app.socket("employee", &token).await, app.socket("agent", &other).await];
        let (to, role) = (json!({ "employee_id": "user01" }), json!([{ "role": "agent" }, { "role": "user" }]));
        let many: Vec<_> = (0..100).map(|n| card(if n % 2 == 0 { &to } else { &role }, &json!(n))).collect();
        let sent = client.send_messages(&key, &json!({ "messages": many })).await.data();
        assert_eq!((&sent["delivered"], sent["messages"].as_array().map(Vec::len)), (&json!(150), Some(100)));
        assert_eq!((&sent["messages"][0]["delivered"], &sent["messages"][1]["delivered"]), (&json!(1), &json!(2)));
        let (all, odd): (Vec<u64>, Vec<u64>) = ((0..100).collect(), (0..100).filter(|n| n % 2 == 1).collect());
        get(&mut sockets, &[&all, &odd]).await;

        let mut spoilt = many.clone();
        spoilt[99]["msg_type"] = json!("session");
        client.send_messages(&key, &json!({ "messages": spoilt })).await.refused(400, 1002);
        let piece = |seq| json!({ "to": to, "msg_type": "typewriter", "content": { "stream_id": "s", "seq": seq, "text": "", "done": false } });
        let gap = json!({ "messages": [card(&to, &json!(0)), piece(0), piece(1), piece(3)] });
        client.send_messages(&key, &gap).await.refused(409, 1019);
        get(&mut sockets, &[&[], &[]]).await;
        let sent = client.send_messages(&key, &json!({ "messages": [piece(7)] })).await.data();
        assert_eq!(sent["delivered"], 1, "nothing of the stream was taken either");
    }

    async fn only_a_service_that_may_sends(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let mut socket = app.socket("agent", &token).await;
        let body = card(&json!({ "role": "admin" }), &json!(1));
        let (key, id) = app.service_key("messages").await;
        let (introspect, _) = app.service_key("introspect").await;
        assert_eq!(client.post(PATH, &[], &body).await.refused(401, 1001).reason(), "missing");
        assert_eq!(client.send_messages(&token, &body).await.refused(401, 1001).reason(), "malformed");
        assert_eq!(client.send_messages("nonsense", &body).await.refused(401, 1001).reason(), "malformed");
        assert_eq!(client.send_messages(&introspect, &body).await.refused(403, 1003).reason(), "scope_needed");
        // The response to a key without the scope does not say what is wrong with the body.
        client.send_messages(&introspect, &json!({})).await.refused(403, 1003);
        socket.is_quiet().await;
        client.send_messages(&key, &body).await.data();
        socket.message().await;
        app.auth().operator().revoke_service_key(id).await.unwrap();
        client.send_messages(&key, &body).await.refused(401, 1001);
        let (key, _) = app.service_key("messages").await;
        app.clock.advance(Duration::from_hours(365 * 24));
        assert_eq!(client.send_messages(&key, &body).await.refused(401, 1001).reason(), "expired");
    }

    /// After a session has ended, no message reaches it.
    async fn nothing_is_on_its_way_to_a_session_that_ended(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let to = json!([{ "employee_id": "user01" }, { "role": "user" }]);
        for _ in 0..10 {
            let (token, other) = (client.sign_in("user01").await, client.sign_in("user01").await);
            let mut sockets = Vec::new();
            for token in [&token, &token, &other] {
                sockets.push(app.socket("employee", token).await);
            }
            assert_eq!(client.send_card(&key, &to, &json!(1)).await, 3);
            client.logout(&token).await.data();
            assert_eq!(client.send_card(&key, &to, &json!(2)).await, 1);
            client.logout(&other).await.data();
            assert_eq!(client.send_card(&key, &to, &json!(3)).await, 0);
            for (socket, contents) in sockets.iter_mut().zip([&[1][..], &[1], &[1, 2]]) {
                let (code, _, frames) = socket.closed().await;
                let frames: Vec<_> = frames.iter().filter(|frame| frame["msg_type"] != "session").map(|frame| frame["content"].as_u64().unwrap()).collect();
                // Messages under way when the session ended may have been dropped; later ones are never delivered.
                assert_eq!((code, contents.starts_with(&frames)), (4401, true), "{frames:?}");
            }
        }
    }
}
