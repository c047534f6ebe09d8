//! POST /api/auth/verify

use std::time::Duration;

use serde_json::json;

on_every_store! {
    async fn says_whose_a_valid_token_is(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        app.clock.advance(Duration::from_secs(100));
        assert_eq!(
            client.verify(&token).await,
            json!({
                "valid": true, "employee_id": "agent01", "name": "Arno Agent", "roles": ["agent", "user"],
                "current_role": "agent", "login_source": "h5", "expires_in": 28_700
            })
        );
    }

    async fn says_nothing_about_a_token_that_is_not_valid(app) {
        let mut client = app.client().await;
        let signed_out = client.sign_in("user01").await;
        client.logout(&signed_out).await.data();
        let disabled = client.sign_in("agent01").await;
        app.auth().operator().disable(app.key("agent01")).await.unwrap();
        let stripped = client.sign_in("security01").await;
        app.auth().operator().revoke(app.key("security01"), "user").await.unwrap();
        let expired = client.sign_in("admin01").await;
        app.clock.advance(Duration::from_hours(8));
        let unknown = format!("dpa_{}", "A".repeat(49));
        let (half, ticket) = (expired.replacen("dpa_", "dph_", 1), expired.replacen("dpa_", "dpt_", 1));
        let mut answers = Vec::new();
        for token in [&signed_out, &disabled, &stripped, &expired, &unknown, &half, &ticket, "", " ", "Bearer x", "null", "密码"] {
            let answer = client.post("/api/auth/verify", &[("x-request-id", "same")], &json!({ "token": token })).await;
            answers.push((answer.status, answer.body));
        }
        answers.dedup();
        let body = r#"{"code":0,"message":"ok","data":{"valid":false},"request_id":"same"}"#;
        assert_eq!(answers, [(200, body.to_owned())]);
    }

    async fn ends_at_the_end_of_the_lifetime_and_not_before(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        app.clock.advance(Duration::from_hours(8) - Duration::from_millis(1));
        assert_eq!(client.verify(&token).await["expires_in"], 0);
        assert!(client.is_valid(&token).await);
        app.clock.advance(Duration::from_millis(1));
        assert!(!client.is_valid(&token).await);
        client.me(&token).await.refused(401, 1001);
        assert_eq!(client.me(&token).await.reason(), "expired");
    }

    async fn wants_a_token_and_says_so(app) {
        let mut client = app.client().await;
        for (body, why) in [
            (json!({}), "is required"),
            (json!({ "token": null }), "is required"),
            (json!({ "token": 5 }), "must be a string"),
            (json!({ "token": ["x"] }), "must be a string"),
        ] {
            let answer = client.post("/api/auth/verify", &[], &body).await;
            assert_eq!(answer.refused(400, 1002).json()["data"], json!({ "fields": { "token": why } }));
        }
    }
}
