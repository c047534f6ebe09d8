//! POST /api/auth/switch-role

use std::time::Duration;

use serde_json::json;

use crate::harness::request;

on_every_store! {
    async fn makes_a_role_active_in_the_same_session(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let switched = client.switch(&token, "user").await.data();
        assert_eq!(switched, json!({ "success": true, "current_role": "user", "message": "role switched" }));
        assert_eq!(client.verify(&token).await["current_role"], "user");
        let app = app.restart().await;
        assert_eq!(app.client().await.verify(&token).await["current_role"], "user");
    }

    async fn never_prolongs_a_session(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let mut before = u64::MAX;
        for round in 0..200 {
            client.switch(&token, ["agent", "user", "admin"][round % 3]).await.data();
            app.clock.advance(Duration::from_mins(1));
            let remaining = client.verify(&token).await["expires_in"].as_u64().unwrap();
            assert!(remaining < before);
            before = remaining;
        }
        assert_eq!(before, 28_800 - 200 * 60);
        app.clock.advance(Duration::from_secs(before));
        client.switch(&token, "user").await.refused(401, 1001);
    }

    async fn to_a_role_that_is_not_held_names_it(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        for role in ["admin", "Agent", "agent ", "аgent", "", "root", "security"] {
            let answer = client.switch(&token, role).await;
            assert!(answer.refused(403, 1003).json()["message"].as_str().unwrap().ends_with(role), "{answer:?}");
        }
        assert_eq!(client.verify(&token).await["current_role"], "agent");
    }

    async fn goes_by_the_roles_held_now(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        client.switch(&token, "user").await.data();
        app.auth().operator().revoke(app.key("admin01"), "admin").await.unwrap();
        client.switch(&token, "admin").await.refused(403, 1003);
        app.auth().operator().grant(app.key("admin01"), "security").await.unwrap();
        client.switch(&token, "security").await.data();
    }

    async fn without_a_readable_token_is_1001(app) {
        let mut client = app.client().await;
        let body = json!({ "role": "user" });
        assert_eq!(client.post("/api/auth/switch-role", &[], &body).await.refused(401, 1001).reason(), "missing");
        let basic = [("authorization", "Basic dXNlcjpwYXNz")];
        assert_eq!(client.post("/api/auth/switch-role", &basic, &body).await.refused(401, 1001).reason(), "missing");
        let answer = client.switch("garbage", "user").await;
        assert_eq!(answer.refused(401, 1001).reason(), "malformed");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }

    async fn wants_a_role(app) {
        let mut client = app.client().await;
        let bearer = format!("Bearer {}", client.sign_in("admin01").await);
        let auth = ("authorization", bearer.as_str());
        let answer = client.post("/api/auth/switch-role", &[auth], &json!({})).await;
        assert_eq!(answer.refused(400, 1002).json()["data"], json!({ "fields": { "role": "is required" } }));
        let twice = br#"{"role":"user","role":"agent"}"#;
        let headers = [auth, ("content-type", "application/json")];
        let answer = client.send(&request("POST", "/api/auth/switch-role", &headers, twice)).await;
        assert_eq!(answer.refused(400, 1002).json()["data"], json!({ "fields": { "role": "must not be given twice" } }));
    }
}
