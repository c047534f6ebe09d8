//! POST /api/agents/login

use std::time::Duration;

use serde_json::json;

use crate::harness::{PASSWORD, TestApp, request};

/// A platform code for `who`, on a service with the built-in simulated platform.
async fn code(client: &mut crate::harness::Client, who: &str) -> String {
    let (link, _) = client.begin_oauth("http://localhost/itagent/").await;
    let back = client.authorize(&link, who).await;
    let url = url::Url::parse(&back).unwrap();
    url.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
}

on_every_store! {
    async fn with_a_code_of_the_platform_is_a_whole_sign_in(app) {
        let mut client = app.client().await;
        let code = code(&mut client, "agent01").await;
        let body = json!({ "employee_id": "Agent01", "code": code });
        let result = client.post("/api/agents/login", &[], &body).await.data();
        assert_eq!((&result["login_method"], &result["login_source"]), (&json!("oauth2"), &json!("itagent")));
        assert_eq!((&result["current_role"], &result["token_type"]), (&json!("agent"), &json!("Bearer")));
        assert!(client.is_valid(result["token"].as_str().unwrap()).await);
        client.post("/api/agents/login", &[], &body).await.refused(403, 1003);
    }

    async fn with_the_code_of_another_agent_is_refused_though_a_password_is_there(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let code = code(&mut client, "user01").await;
        let body = json!({ "employee_id": "agent01", "code": code, "password": PASSWORD });
        let refused = client.post("/api/agents/login", &[], &body).await;
        assert_eq!(refused.refused(403, 1003).reason(), "somebody_else");
    }

    async fn is_for_agents(app) {
        let mut client = app.client().await;
        let code = code(&mut client, "user01").await;
        let refused = client.post("/api/agents/login", &[], &json!({ "employee_id": "user01", "code": code })).await;
        assert_eq!(refused.refused(403, 1003).reason(), "not_an_agent");
        client.agent_login("user01", PASSWORD).await.refused(401, 1011);
    }

    async fn with_a_password_goes_half_way(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let half = client.agent_login("agent01", PASSWORD).await.data();
        assert_eq!((&half["half_authenticated"], &half["otp"]), (&json!(true), &json!("bind")));
        assert_eq!((&half["expires_in"], &half["token_type"]), (&json!(600), &json!("Bearer")));
        let token = half["token"].as_str().unwrap();
        assert!(!client.is_valid(token).await);
        assert_eq!(client.me(token).await.refused(401, 1001).reason(), "half_authenticated");
        let (_, bound) = client.bind_device(token, &app.clock).await;
        assert_eq!((&bound["login_method"], &bound["login_source"]), (&json!("password"), &json!("itagent")));
        assert!(client.is_valid(bound["token"].as_str().unwrap()).await);
        assert_eq!(client.get_as(token, "/api/auth/otp-status").await.refused(401, 1001).reason(), "unknown");

        let half = client.agent_login("agent01", PASSWORD).await.data();
        assert_eq!(half["otp"], "verify");
    }
}

on_one_store! {
    async fn says_which_field_is_missing(app) {
        let mut client = app.client().await;
        let bad = client.post("/api/agents/login", &[], &json!({})).await;
        let fields = &bad.refused(400, 1002).json()["data"]["fields"];
        assert_eq!(fields["employee_id"], "is required");
        assert!(fields["password"].as_str().unwrap().contains("unless a code"), "{fields}");
        let long = "x".repeat(1_025);
        client.agent_login("agent01", &long).await.refused(400, 1002);
    }
}

on_every_store! {
    async fn that_fails_with_a_code_falls_back_to_the_password(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let body = json!({ "employee_id": "agent01", "code": "no-such-code", "password": PASSWORD });
        assert_eq!(client.post("/api/agents/login", &[], &body).await.data()["half_authenticated"], true);
        let wrong = json!({ "employee_id": "agent01", "code": "no-such-code", "password": "wrong" });
        client.post("/api/agents/login", &[], &wrong).await.refused(401, 1011);
    }

    async fn ends_half_way_after_ten_minutes(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let half = client.partial_sign_in("agent01").await;
        app.clock.advance(Duration::from_mins(10) - Duration::from_millis(1));
        client.get_as(&half, "/api/auth/otp-status").await.data();
        app.clock.advance(Duration::from_millis(1));
        assert_eq!(client.get_as(&half, "/api/auth/otp-status").await.refused(401, 1001).reason(), "expired");
    }

    async fn in_production_takes_a_password_only_while_the_platform_is_out() {
        let (app, platform) = TestApp::production_with_platform(&[("limits.enabled", "false")]).await;
        let mut client = app.client().await;
        let refused = client.agent_login("agent01", PASSWORD).await;
        assert_eq!(refused.refused(403, 1003).reason(), "platform_works");
        let mut control = platform.client().await;
        control.set_fault(&json!({ "drop": true, "times": 1_000 })).await;
        let believed = client.agent_login("agent01", PASSWORD).await;
        assert_eq!(believed.refused(403, 1003).reason(), "platform_works");
        app.clock.advance(Duration::from_secs(11));
        client.agent_login("agent01", PASSWORD).await.refused(401, 1011);
        control.send(&request("DELETE", "/sim/faults", &[], b"")).await;
        app.clock.advance(Duration::from_secs(11));
        client.agent_login("agent01", PASSWORD).await.refused(403, 1003);
    }
}
