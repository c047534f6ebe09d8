//! POST /api/agents/password, POST /api/agents/password/setup

use serde_json::{Value, json};

use crate::harness::{Client, PASSWORD, Response};

const OTHER: &str = "nine boats on a quiet river";

async fn change(client: &mut Client, token: &str, body: &Value) -> Response {
    client.post_as(token, "/api/agents/password", body).await
}

on_every_store! {
    async fn is_set_changed_and_ends_other_sessions(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("agent01").await, client.sign_in("agent01").await);
        let stranger = client.sign_in("user01").await;
        let set = change(&mut client, &token, &json!({ "new_password": PASSWORD })).await.data();
        assert_eq!((&set["success"], &set["ended_sessions"]), (&json!(true), &json!(1)));
        assert_eq!(client.me(&other).await.refused(401, 1001).reason(), "kicked");
        assert!(client.is_valid(&token).await && client.is_valid(&stranger).await);

        let half = client.partial_sign_in("agent01").await;
        change(&mut client, &token, &json!({ "new_password": OTHER })).await.refused(400, 1015);
        change(&mut client, &token, &json!({ "old_password": OTHER, "new_password": OTHER })).await.refused(403, 1016);
        change(&mut client, &token, &json!({ "old_password": PASSWORD, "new_password": OTHER })).await.data();
        client.get_as(&half, "/api/auth/otp-status").await.refused(401, 1001);
        client.agent_login("agent01", PASSWORD).await.refused(401, 1011);
        client.agent_login("agent01", OTHER).await.data();
    }
}

on_one_store! {
    async fn that_is_weak_is_refused_with_the_reason(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        for weak in ["brief", "password1234", "aaaaaaaaaaaaaaaa", "agent01agent01!", &"x1".repeat(100)] {
            let refused = change(&mut client, &token, &json!({ "new_password": weak })).await;
            let why = refused.refused(400, 1014).json()["data"]["fields"]["password"].clone();
            assert!(why.as_str().is_some_and(|why| !why.is_empty() && !why.contains(weak)), "{weak}: {why}");
        }
        change(&mut client, &token, &json!({ "new_password": PASSWORD })).await.data();
        let same = json!({ "old_password": PASSWORD, "new_password": PASSWORD });
        change(&mut client, &token, &same).await.refused(400, 1014);
        client.agent_login("agent01", PASSWORD).await.data();
    }
}

on_every_store! {
    async fn is_for_agents(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let refused = change(&mut client, &token, &json!({ "new_password": PASSWORD })).await;
        assert_eq!(refused.refused(403, 1003).reason(), "not_an_agent");
    }

    async fn is_set_with_an_administrators_code_once(app) {
        let mut client = app.client().await;
        let reset = app.auth().operator().reset_password(app.key("agent01")).await.unwrap();
        let body = |code: &str| json!({ "employee_id": "AGENT01", "setup_code": code, "new_password": PASSWORD });
        let path = "/api/agents/password/setup";
        let wrong = client.post(path, &[], &body("aaaa-bbbb-cccc-dddd")).await;
        assert_eq!(wrong.refused(403, 1003).reason(), "setup_code");
        client.post(path, &[], &body(&reset.code.text())).await.data();
        let again = client.post(path, &[], &body(&reset.code.text())).await;
        assert_eq!(again.refused(403, 1003).reason(), "setup_code");
        client.partial_sign_in("agent01").await;
    }
}
