//! GET /api/auth/me

use serde_json::json;

on_every_store! {
    async fn is_the_current_user(app) {
        let mut client = app.client().await;
        let token = client.sign_in("Admin01").await;
        assert_eq!(
            client.me(&token).await.data(),
            json!({
                "employee_id": "admin01", "corp_id": "wwdeskpass", "name": "Ada Admin", "avatar": "", "department": "IT",
                "roles": ["admin", "agent", "user"], "current_role": "admin", "login_source": "h5"
            })
        );
    }

    async fn shows_roles_as_they_are_now(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        app.auth().operator().grant(app.key("agent01"), "security").await.unwrap();
        assert_eq!(client.me(&token).await.data()["roles"], json!(["agent", "user", "security"]));
        app.auth().operator().revoke(app.key("agent01"), "security").await.unwrap();
        assert_eq!(client.me(&token).await.data()["roles"], json!(["agent", "user"]));
    }

    async fn is_refused_once_the_active_role_is_taken_away(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        app.auth().operator().revoke(app.key("agent01"), "agent").await.unwrap();
        let answer = client.me(&token).await;
        assert_eq!(answer.refused(403, 1003).reason(), "role_taken_away");
        assert!(answer.json()["message"].as_str().unwrap().contains("agent"));
        assert!(!client.is_valid(&token).await);
        // Switching to a role that is still held restores access.
        client.switch(&token, "user").await.data();
        assert_eq!(client.me(&token).await.data()["current_role"], "user");
        assert!(client.is_valid(&token).await);
    }

    async fn is_refused_after_the_employee_was_disabled_also_when_enabled_again(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        assert_eq!(app.auth().operator().disable(app.key("agent01")).await.unwrap(), 1);
        assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "disabled");
        let refused = client.post("/api/dev/login", &[], &json!({ "employee_id": "agent01" })).await;
        assert_eq!(refused.refused(403, 1003).reason(), "disabled");
        app.auth().operator().enable(app.key("agent01")).await.unwrap();
        assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "disabled");
        client.sign_in("agent01").await;
    }
}
