//! Resuming: no message is lost or repeated. Joining in the middle of a streamed reply.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, StoreBackend, TestApp, TestSocket};

fn user() -> Value {
    json!({ "employee_id": "user01" })
}

fn id(frame: &Value) -> String {
    frame["id"].as_str().unwrap().to_owned()
}

/// Sends a piece of a reply.
async fn write(client: &mut Client, key: &str, to: &Value, (stream, seq, done): (&str, u64, bool)) {
    let content = json!({ "stream_id": stream, "seq": seq, "text": format!("{seq} "), "done": done });
    client.send_messages(key, &json!({ "to": to, "msg_type": "typewriter", "content": content })).await.data();
}

/// Opens a socket after this message id; also returns whether no message was missed.
async fn back(app: &TestApp, token: &str, last: &str) -> (TestSocket, bool) {
    let mut socket = TestSocket::resume(&app.address, "employee", token, Some(last)).await;
    let ready = socket.event("ready").await;
    (socket, ready["content"]["resumed"].as_bool().unwrap())
}

on_every_store! {
    async fn everything_after_the_last_seen_message_comes_once_and_in_order(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        let mut ids = Vec::new();
        for content in 0..6 {
            client.send_card(&key, &if content % 2 == 0 { user() } else { json!({ "role": "user" }) }, &json!(content)).await;
            let message = socket.message().await;
            assert_eq!(message["content"], content);
            ids.push(id(&message));
        }
        drop(socket);
        for (seen, last) in ids.iter().enumerate() {
            let (mut socket, resumed) = back(&app, &token, last).await;
            assert!(resumed);
            for (content, expected) in ids.iter().enumerate().skip(seen + 1) {
                let message = socket.message().await;
                assert_eq!((&message["content"], &message["id"]), (&json!(content), &json!(expected)));
            }
            socket.is_quiet().await;
        }
    }

    /// Messages that were sent while no socket was open.
    async fn what_was_sent_meanwhile_is_there_after_the_id_of_the_first_frame(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        client.send_card(&key, &user(), &json!("before")).await;
        let mut socket = TestSocket::open(&app.address, "employee", &token).await;
        let ready = socket.event("ready").await;
        drop(socket);
        assert_eq!(client.send_messages(&key, &json!({ "to": user(), "msg_type": "byod_card", "content": "meanwhile" })).await.data()["messages"][0]["duplicate"], false);
        client.send_card(&key, &json!({ "employee_id": "agent01" }), &json!("not ours")).await;
        let (mut socket, resumed) = back(&app, &token, &id(&ready)).await;
        assert!(resumed);
        assert_eq!(socket.message().await["content"], "meanwhile");
        socket.is_quiet().await;
    }

    /// Session events advance the position too, so the id of any frame is valid for resuming.
    async fn the_id_of_any_frame_is_a_place(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        let mut socket = app.socket("employee", &token).await;
        client.send_card(&key, &json!({ "employee_id": "agent01" }), &json!(1)).await;
        let first = socket.message().await;
        client.switch(&token, "user").await.data();
        let shown = socket.event("role_changed").await;
        assert!(shown["id"] == first["id"] || id(&shown) > id(&first), "{shown} {first}");
        client.send_card(&key, &json!({ "employee_id": "agent01" }), &json!(2)).await;
        drop(socket);
        let (mut socket, resumed) = back(&app, &token, &id(&shown)).await;
        assert!(resumed);
        assert_eq!(socket.message().await["content"], 2);
        socket.is_quiet().await;
    }

    /// Expired messages to other clients do not count as missed by an idle client.
    async fn an_idle_client_has_missed_nothing(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = TestSocket::open(&app.address, "employee", &token).await;
        let last = id(&socket.event("ready").await);
        drop(socket);
        for minute in 0..6 {
            client.send_card(&key, &json!({ "employee_id": "agent01" }), &json!(minute)).await;
            client.send_card(&key, &json!({ "role": "agent" }), &json!(minute)).await;
            app.clock.advance(Duration::from_mins(1));
        }
        client.send_card(&key, &user(), &json!("for us")).await;
        let (mut socket, resumed) = back(&app, &token, &last).await;
        assert!(resumed);
        assert_eq!(socket.message().await["content"], "for us");
        socket.is_quiet().await;
    }

    async fn after_two_minutes_what_was_missed_is_missed(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for (to, role) in [(user(), "person"), (json!({ "role": "user" }), "role")] {
            let mut socket = TestSocket::open(&app.address, "employee", &token).await;
            let last = id(&socket.event("ready").await);
            drop(socket);
            client.send_card(&key, &to, &json!(role)).await;
            app.clock.advance(Duration::from_mins(2));
            client.send_card(&key, &json!({ "employee_id": "agent01" }), &json!("others")).await;
            let (mut socket, resumed) = back(&app, &token, &last).await;
            assert!(resumed, "two minutes are kept");
            assert_eq!(socket.message().await["content"], role);
            drop(socket);
            app.clock.advance(Duration::from_millis(1));
            client.send_card(&key, &json!({ "employee_id": "agent01" }), &json!("others")).await;
            let (mut socket, resumed) = back(&app, &token, &last).await;
            assert!(!resumed);
            socket.is_quiet().await;
        }
    }

    /// Messages expire even when no further message is sent.
    async fn old_messages_are_not_repeated_on_an_idle_service(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = TestSocket::open(&app.address, "employee", &token).await;
        let last = id(&socket.event("ready").await);
        drop(socket);
        client.send_card(&key, &user(), &json!("old")).await;
        app.clock.advance(Duration::from_mins(5));
        let (mut socket, resumed) = back(&app, &token, &last).await;
        assert!(!resumed);
        socket.is_quiet().await;
    }

    async fn a_place_that_is_not_ours_begins_anew(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        client.send_card(&key, &user(), &json!("before")).await;
        let (mut socket, resumed) = back(&app, &token, "18446744073709551615-0").await;
        assert!(!resumed);
        socket.is_quiet().await;
        client.send_card(&key, &user(), &json!("after")).await;
        assert_eq!(socket.message().await["content"], "after");
        // What was there before the log began is unknown.
        let (_, resumed) = back(&app, &token, "0-0").await;
        assert!(!resumed);
    }

    /// An embedded message log ends with its process; Redis keeps it.
    async fn after_a_restart_clients_know_whether_they_missed_something(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        client.send_card(&key, &user(), &json!(1)).await;
        let last = id(&socket.message().await);
        client.send_card(&key, &user(), &json!(2)).await;
        drop((socket, client));
        app.clock.advance(Duration::from_secs(1));
        let app = app.restart().await;
        let (mut socket, resumed) = back(&app, &token, &last).await;
        assert_eq!(resumed, StoreBackend::current() == StoreBackend::ScaledOut);
        if resumed {
            assert_eq!(socket.message().await["content"], 2);
        }
        socket.is_quiet().await;
    }

    /// A node that has just started has not read the message log yet.
    async fn after_a_restart_no_earlier_message_is_sent_again(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for content in 0..5 {
            client.send_card(&key, &user(), &json!(content)).await;
        }
        drop(client);
        let app = app.restart().await;
        let mut socket = app.socket("employee", &token).await;
        app.client().await.send_card(&key, &user(), &json!("after")).await;
        assert_eq!(socket.message().await["content"], "after");
        socket.is_quiet().await;
    }

    async fn a_client_that_joins_during_a_reply_gets_its_beginning(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        client.send_card(&key, &user(), &json!("a card")).await;
        for seq in 0..3 {
            write(&mut client, &key, &user(), ("open", seq, false)).await;
            write(&mut client, &key, &user(), ("done", seq, seq == 2)).await;
            write(&mut client, &key, &json!({ "role": "user" }), ("to_all", seq, false)).await;
            write(&mut client, &key, &json!({ "employee_id": "agent01" }), ("theirs", seq, false)).await;
        }
        let mut socket = app.socket("employee", &token).await;
        write(&mut client, &key, &user(), ("open", 3, true)).await;
        let mut found = Vec::new();
        for _ in 0..7 {
            let content = socket.message().await["content"].clone();
            found.push((content["stream_id"].as_str().unwrap().to_owned(), content["seq"].as_u64().unwrap()));
        }
        let expected = [("open", 0), ("to_all", 0), ("open", 1), ("to_all", 1), ("open", 2), ("to_all", 2), ("open", 3)];
        assert_eq!(found, expected.map(|(stream, seq)| (stream.to_owned(), seq)));
        socket.is_quiet().await;
    }

    /// The earlier pieces are sent while the client joins; a connection that drops meanwhile loses none of them.
    async fn a_client_that_drops_while_joining_comes_back_to_the_rest(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for seq in 0..4 {
            write(&mut client, &key, &user(), ("s", seq, false)).await;
            app.clock.advance(Duration::from_millis(u64::from(seq == 1)));
        }
        for read in 0..4 {
            let mut socket = TestSocket::open(&app.address, "employee", &token).await;
            let mut last = id(&socket.event("ready").await);
            for seq in 0..read {
                let piece = socket.message().await;
                assert_eq!(piece["content"]["seq"], seq);
                last = id(&piece);
            }
            drop(socket);
            let (mut socket, resumed) = back(&app, &token, &last).await;
            assert!(resumed, "{read} read");
            for seq in read..4 {
                assert_eq!(socket.message().await["content"]["seq"], seq, "{read} read");
            }
            socket.is_quiet().await;
        }
    }

    async fn ids_only_grow_for_a_client(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        write(&mut client, &key, &user(), ("s", 0, false)).await;
        let mut socket = TestSocket::open(&app.address, "employee", &token).await;
        let place = |frame: &Value| -> (u64, u64) {
            let id = id(frame);
            let (at, step) = id.split_once('-').unwrap();
            (at.parse().unwrap(), step.parse().unwrap())
        };
        let mut last = place(&socket.event("ready").await);
        for content in 0..20 {
            client.send_card(&key, &user(), &json!(content)).await;
            let next = place(&socket.message().await);
            assert!(next > last, "{next:?} after {last:?}");
            last = next;
        }
    }
}
