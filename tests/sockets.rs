//! Sockets over several connections: the messages kept for clients that reconnect, and the end of sockets with their session.

use deskpass_core::Role;
use serde_json::json;

use crate::harness::TestSocket;

on_every_store! {
    async fn a_message_to_a_role_reaches_users_who_just_switched_to_it_and_none_from_before(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        let mut socket = app.socket("employee", &token).await;
        for round in 0..30 {
            let (was, is) = if round % 2 == 0 { ("agent", "user") } else { ("user", "agent") };
            assert_eq!(client.send_card(&key, &json!({ "role": is }), &json!("before")).await, 0);
            client.switch(&token, is).await.data();
            assert_eq!(client.send_card(&key, &json!({ "role": is }), &json!(round)).await, 1);
            assert_eq!(client.send_card(&key, &json!({ "role": was }), &json!("after")).await, 0);
            assert_eq!(socket.event("role_changed").await["content"]["current_role"], is);
            assert_eq!(socket.message().await["content"], round);
            socket.is_quiet().await;
        }
    }

    async fn a_message_reaches_its_recipient_and_is_not_repeated(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        assert_eq!(client.send_card(&key, &json!({ "employee_id": "user01" }), &json!(1)).await, 1);
        assert_eq!(client.send_card(&key, &json!({ "employee_id": "agent01" }), &json!(2)).await, 0);
        assert_eq!(client.send_card(&key, &json!({ "role": "user" }), &json!(3)).await, 1);
        let first = socket.message().await;
        assert_eq!((&first["content"], &first["msg_type"]), (&json!(1), &json!("byod_card")));
        assert_eq!(socket.message().await["content"], 3);
        drop(socket);
        let mut again = TestSocket::resume(&app.address, "employee", &token, first["id"].as_str()).await;
        assert_eq!(again.event("ready").await["content"]["resumed"], true);
        assert_eq!(again.message().await["content"], 3);
        again.is_quiet().await;
    }

    async fn a_session_that_ends_takes_its_sockets_with_it(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("user01").await);
        let (mut ending, mut staying) = (app.socket("employee", &token).await, app.socket("employee", &other).await);
        client.logout(&token).await.data();
        let (code, reason, said) = ending.closed().await;
        assert_eq!((code, &*reason, &said[0]["content"]["reason"]), (4401, "signed_out", &json!("signed_out")));
        staying.is_quiet().await;
        app.auth().operator().revoke(app.key("user01"), Role::User.name()).await.unwrap();
        staying.ends_with(4403, "role_taken_away").await;
    }
}
