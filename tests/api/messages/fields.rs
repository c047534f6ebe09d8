//! Errors name the wrong fields of a message, and messages above the limits are refused.

use serde_json::{Value, json};

use super::{PATH, card, raw};
use crate::harness::request;

/// The names of the fields that the error lists.
fn named(answer: &crate::harness::Response) -> Vec<String> {
    let fields = answer.refused(400, 1002).json()["data"]["fields"].clone();
    fields.as_object().unwrap_or_else(|| panic!("{answer:?}")).keys().cloned().collect()
}

fn user() -> Value {
    json!({ "employee_id": "user01" })
}

on_one_store! {
    async fn what_is_wrong_is_named(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        for to in [
            json!(null), json!("user01"), json!(1), json!({}), json!([]), json!([[]]), json!({ "employee_id": 1 }), json!({ "employee_id": "" }),
            json!({ "employee_id": "a b" }), json!({ "employee_id": "user01\u{0}" }), json!({ "role": "boss" }), json!({ "role": "Admin" }), json!({ "role": ["user"] }),
            json!({ "employee_id": "user01", "role": "user" }), json!({ "corp_id": "wwpartner" }), json!({ "corp_id": "", "role": "user" }),
            json!({ "corp_id": 7, "role": "user" }), json!({ "corp_id": "a b", "employee_id": "user01" }),
            json!([user(), "user01"]), json!([user(), { "role": "boss" }]), json!([user(), [user()]]), json!(vec![user(); 1_001]),
        ] {
            let body = card(&to, &json!(1));
            assert_eq!(named(&client.send_messages(&key, &body).await), ["to"], "{to}");
            let many = json!({ "messages": [card(&user(), &json!(0)), card(&user(), &json!(1)), card(&user(), &json!(2)), body] });
            assert_eq!(named(&client.send_messages(&key, &many).await), ["messages[3].to"], "{to}");
        }
        for (name, values) in [
            ("msg_type", &[json!(null), json!(""), json!("session"), json!("AI_THINKING"), json!("card"), json!(1), json!(["byod_card"])][..]),
            ("socket", &[json!(""), json!("both"), json!("Agent"), json!(1), json!([]), json!(["agent"])]),
        ] {
            for value in values {
                let mut body = card(&user(), &json!(1));
                body[name] = value.clone();
                assert_eq!(named(&client.send_messages(&key, &body).await), [name], "{value}");
                assert_eq!(named(&client.send_messages(&key, &json!({ "messages": [body] })).await), [format!("messages[0].{name}")]);
            }
        }
        assert_eq!(named(&client.send_messages(&key, &json!({ "messages": [{}, { "to": 1 }] })).await), [
            "messages[0].msg_type", "messages[0].to", "messages[1].msg_type", "messages[1].to",
        ]);
        socket.is_quiet().await;
    }

    async fn a_member_that_is_there_twice_is_named(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let (to, kind) = (r#""to":{"role":"user"}"#, r#""msg_type":"byod_card""#);
        for (body, name) in [
            (format!("{{{to},{to},{kind}}}"), "to"),
            (format!("{{{to},{kind},{kind}}}"), "msg_type"),
            (format!(r#"{{{to},{kind},"content":1,"content":1}}"#), "content"),
            (format!(r#"{{{to},{kind},"extra_data":1,"\u0065xtra_data":2}}"#), "extra_data"),
            (format!(r#"{{{to},{kind},"socket":null,"socket":"agent"}}"#), "socket"),
            (format!(r#"{{"messages":[{{{to},{kind}}},{{{to},{to},{kind}}}]}}"#), "messages[1].to"),
        ] {
            assert_eq!(named(&raw(&mut client, &key, &body).await), [name], "{body}");
        }
        let two = format!(r#"{{"messages":[{{{to},{kind}}}],"messages":[{{{to},{kind}}}]}}"#);
        assert!(named(&raw(&mut client, &key, &two).await).contains(&"messages".to_owned()));
    }

    async fn a_body_that_is_none_is_refused(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        for body in ["", "null", "[]", "1", "\"to\"", "{", "{}}", "{\"to\":}", "{'to':1}", "[{\"to\":1}]", "{\"to\":1,}"] {
            raw(&mut client, &key, body).await.refused(400, 1002);
        }
        let bearer = format!("Bearer {key}");
        let json = ("content-type", "application/json");
        client.send(&request("POST", PATH, &[("authorization", &bearer), json], b"{\"to\":\"\xff\"}")).await.refused(400, 1002);
        client.send(&request("POST", PATH, &[("authorization", &bearer)], b"{}")).await.refused(415, 1002);
        client.get_as(&key, PATH).await.refused(405, 1004);
    }

    async fn too_many_and_too_long_is_refused(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        let card_of = |length: usize| card(&user(), &json!("a".repeat(length)));
        for many in [json!([]), json!(null), json!({}), json!(1), json!([1]), json!(vec![card_of(1); 101])] {
            assert_eq!(named(&client.send_messages(&key, &json!({ "messages": many })).await), ["messages"], "{many}");
        }
        // The message around the content takes a part of the 64 KiB.
        assert_eq!(named(&client.send_messages(&key, &card_of(65_536)).await), ["content"]);
        assert_eq!(named(&client.send_messages(&key, &json!({ "messages": [card_of(1), card_of(65_536)] })).await), ["messages[1].content"]);
        let split = json!({ "to": user(), "msg_type": "byod_card", "content": "a".repeat(33_000), "extra_data": "a".repeat(33_000) });
        client.send_messages(&key, &split).await.refused(400, 1002);
        socket.is_quiet().await;
        assert_eq!(client.send_messages(&key, &card_of(65_000)).await.data()["delivered"], 1);
        let text = socket.raw_text().await;
        assert!(text.len() <= 65_536 && text.len() > 65_000);
        let most = json!({ "to": vec![user(); 1_000], "msg_type": "byod_card" });
        assert_eq!(client.send_messages(&key, &most).await.data()["delivered"], 1);
        socket.message().await;
        let batch = json!({ "messages": vec![card_of(65_000); 15] });
        assert_eq!(client.send_messages(&key, &batch).await.data()["delivered"], 15);
        let over = json!({ "messages": vec![card_of(65_000); 17] });
        client.send_messages(&key, &over).await.refused(413, 1002);
        for _ in 0..15 {
            socket.message().await;
        }
        socket.is_quiet().await;
    }

    /// The error lists only a few of many mistakes.
    async fn an_answer_does_not_grow_with_the_mistakes(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let body = format!("{{\"messages\":[{}]}}", vec!["{}"; 300_000].join(","));
        let answer = raw(&mut client, &key, &body).await;
        assert!(named(&answer).contains(&"messages".to_owned()));
        assert!(answer.body.len() < 100_000, "{} bytes", answer.body.len());
    }

    async fn what_is_wrong_is_said_in_both_languages(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let bearer = format!("Bearer {key}");
        let piece = json!({ "to": 1, "msg_type": "x", "socket": "y" });
        for (language, chinese) in [("en", false), ("zh", true)] {
            let headers = [("authorization", &*bearer), ("accept-language", language)];
            let answer = client.post(PATH, &headers, &piece).await;
            let fields = answer.refused(400, 1002).json()["data"]["fields"].clone();
            for name in ["to", "msg_type", "socket"] {
                assert_eq!(!fields[name].as_str().unwrap().is_ascii(), chinese, "{fields}");
            }
        }
    }
}
