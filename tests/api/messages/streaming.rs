//! Streamed replies: each piece arrives once and in order.

use std::time::Duration;

use serde_json::{Value, json};

use super::raw;
use crate::harness::{Client, Response};

/// A piece of a reply.
fn piece(to: &Value, stream: &str, seq: u64, done: bool) -> Value {
    let content = json!({ "stream_id": stream, "seq": seq, "text": seq.to_string(), "done": done });
    json!({ "to": to, "msg_type": "typewriter", "content": content })
}

fn user() -> Value {
    json!({ "employee_id": "user01" })
}

async fn write(client: &mut Client, key: &str, stream: &str, seq: u64, done: bool) -> Response {
    client.send_messages(key, &piece(&user(), stream, seq, done)).await
}

const DUPLICATE: &str = r#"{"id":null,"delivered":0,"duplicate":true}"#;

on_every_store! {
    async fn a_piece_follows_its_predecessor_or_is_a_duplicate(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        let duplicate: Value = serde_json::from_str(DUPLICATE).unwrap();
        assert_eq!(write(&mut client, &key, "s", 5, false).await.data()["delivered"], 1);
        assert_eq!(write(&mut client, &key, "s", 6, false).await.data()["delivered"], 1);
        for before in [5, 6, 0] {
            let again = write(&mut client, &key, "s", before, false).await.data();
            assert_eq!(again, json!({ "delivered": 0, "messages": [duplicate] }), "{before}");
        }
        let gap = write(&mut client, &key, "s", 8, false).await;
        assert_eq!(gap.refused(409, 1019).json()["message"], "messages[0] does not follow in its stream; the next seq is 7");
        write(&mut client, &key, "s", 9_007_199_254_740_991, false).await.refused(409, 1019);
        assert_eq!(write(&mut client, &key, "s", 7, true).await.data()["delivered"], 1);
        assert_eq!(write(&mut client, &key, "s", 7, true).await.data()["messages"][0], duplicate);
        write(&mut client, &key, "s", 8, false).await.refused(409, 1019);
        write(&mut client, &key, "s", 9, true).await.refused(409, 1019);
        for seq in [5, 6, 7] {
            assert_eq!(socket.message().await["content"]["seq"], seq);
        }
        socket.is_quiet().await;
    }

    async fn streams_do_not_meet(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("agent01").await);
        let (mut ours, mut theirs) = (app.socket("employee", &token).await, app.socket("agent", &other).await);
        let whom = [user(), json!({ "employee_id": "agent01" }), json!([user(), { "employee_id": "agent01" }])];
        for (start, to) in whom.iter().enumerate() {
            for stream in ["s", "S"] {
                let start = 10 * start as u64;
                for seq in [start, start + 1] {
                    let sent = client.send_messages(&key, &piece(to, stream, seq, false)).await.data();
                    assert_eq!(sent["messages"][0]["duplicate"], false, "{to} {stream} {seq}");
                }
            }
        }
        for (socket, begins) in [(&mut ours, [0, 20]), (&mut theirs, [10, 20])] {
            for start in begins {
                for (stream, seq) in [("s", start), ("s", start + 1), ("S", start), ("S", start + 1)] {
                    let content = socket.message().await["content"].clone();
                    assert_eq!((&content["stream_id"], &content["seq"]), (&json!(stream), &json!(seq)));
                }
            }
            socket.is_quiet().await;
        }
    }

    async fn a_batch_goes_on_where_it_began(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        let of = |places: &[(&str, u64, bool)]| json!({ "messages": places.iter().map(|(stream, seq, done)| piece(&user(), stream, *seq, *done)).collect::<Vec<_>>() });
        let sent = client.send_messages(&key, &of(&[("a", 0, false), ("b", 0, false), ("a", 1, false), ("a", 0, false), ("a", 2, true)])).await.data();
        let duplicates: Vec<_> = sent["messages"].as_array().unwrap().iter().map(|sent| sent["duplicate"] == true).collect();
        assert_eq!((&sent["delivered"], &*duplicates), (&json!(4), &[false, false, false, true, false][..]));
        // The sender repeats the pieces, as if it had received no response.
        let again = client.send_messages(&key, &of(&[("a", 1, false), ("a", 2, true), ("b", 0, false), ("b", 1, false)])).await.data();
        assert_eq!(again["delivered"], 1);
        client.send_messages(&key, &of(&[("b", 2, true), ("b", 3, false)])).await.refused(409, 1019);
        assert_eq!(client.send_messages(&key, &of(&[("b", 2, true)])).await.data()["delivered"], 1, "nothing of it was taken");
        for (stream, seq) in [("a", 0), ("b", 0), ("a", 1), ("a", 2), ("b", 1), ("b", 2)] {
            let content = socket.message().await["content"].clone();
            assert_eq!((&content["stream_id"], &content["seq"]), (&json!(stream), &json!(seq)));
        }
        socket.is_quiet().await;
    }

    /// Of several simultaneous requests with the same piece, one delivers it.
    async fn the_same_piece_sent_at_once_comes_once(app) {
        let (key, _) = app.service_key("messages").await;
        let token = app.client().await.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        for seq in 0..5 {
            let sending: Vec<_> = (0..4).map(|_| {
                let (address, key) = (app.address.clone(), key.clone());
                tokio::spawn(async move { write(&mut Client::connect(&address).await, &key, "s", seq, false).await.data() })
            }).collect();
            let mut delivered = 0;
            for sent in sending {
                delivered += sent.await.unwrap()["delivered"].as_u64().unwrap();
            }
            assert_eq!(delivered, 1);
            assert_eq!(socket.message().await["content"]["seq"], seq);
        }
        socket.is_quiet().await;
    }

    async fn a_reply_that_pauses_goes_on(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        write(&mut client, &key, "s", 0, false).await.data();
        app.clock.advance(Duration::from_mins(9));
        write(&mut client, &key, "s", 2, false).await.refused(409, 1019);
        assert_eq!(write(&mut client, &key, "s", 0, false).await.data()["messages"][0]["duplicate"], true);
        assert_eq!(write(&mut client, &key, "s", 1, false).await.data()["messages"][0]["duplicate"], false);
    }

    async fn what_is_wrong_with_a_piece_is_named(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let long = "s".repeat(65);
        for (name, values) in [
            ("stream_id", &[json!(null), json!(""), json!(1), json!("a b"), json!("é"), json!("a\n"), json!(long)][..]),
            ("seq", &[json!(null), json!(-1), json!(1.5), json!("1"), json!(9_007_199_254_740_992_u64), json!(true)]),
            ("text", &[json!(null), json!(1), json!([]), json!({})]),
            ("done", &[json!(null), json!(0), json!("false")]),
        ] {
            for value in values {
                let mut body = piece(&user(), "s", 0, false);
                body["content"][name] = value.clone();
                let fields = client.send_messages(&key, &body).await.refused(400, 1002).json()["data"]["fields"].clone();
                let names: Vec<_> = fields.as_object().unwrap().keys().cloned().collect();
                assert_eq!(names, [format!("content.{name}")], "{value}");
            }
        }
        for content in [json!(null), json!("text"), json!([])] {
            let body = json!({ "to": user(), "msg_type": "typewriter", "content": content });
            let fields = client.send_messages(&key, &body).await.refused(400, 1002).json()["data"]["fields"].clone();
            assert!(fields["content"].is_string(), "{fields}");
        }
        for stream in ["s".repeat(64), "~!@#".to_owned()] {
            assert_eq!(write(&mut client, &key, &stream, 9_007_199_254_740_991, true).await.data()["messages"][0]["duplicate"], false);
        }
    }

    /// Only the piece's position in the stream is parsed; the rest of the content belongs to the sender.
    async fn a_piece_goes_out_byte_for_byte_too(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        let deep = format!(r#"{{"stream_id":"s","seq":2,"text":"","done":false,"deep":{}1{}}}"#, "[".repeat(500), "]".repeat(500));
        for content in [
            r#"{ "done":false, "text":"\u4f60 \n","seq":0 ,"stream_id":"\u0073", "more":{"b":1.0,"a":2}}"#,
            r#"{"stream_id":"s","seq":1,"text":"","done":false,"cost":1e400,"big":123456789012345678901234567890}"#,
            &deep,
        ] {
            raw(&mut client, &key, &format!(r#"{{"to":{{"employee_id":"user01"}},"msg_type":"typewriter","content":{content}}}"#)).await.data();
            let text = socket.raw_text().await;
            assert!(text.contains(&format!(r#""content":{content},"id""#)), "{text}");
        }
    }
}
