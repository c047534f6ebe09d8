//! /api/dev/…

use serde_json::json;

use crate::harness::{PRODUCTION, StoreBackend, TestApp, request};

on_every_store! {
    async fn login_signs_in_any_employee_with_any_role_they_hold(app) {
        let mut client = app.client().await;
        let login = client.post("/api/dev/login", &[], &json!({ "employee_id": "admin01", "role": "agent" })).await.data();
        assert_eq!((&login["current_role"], &login["login_method"]), (&json!("agent"), &json!("dev")));
        client.post("/api/dev/login", &[], &json!({ "employee_id": "user01", "role": "admin" })).await.refused(403, 1003);
        client.post("/api/dev/login", &[], &json!({ "employee_id": "norole01" })).await.refused(403, 1003);
        client.post("/api/dev/login", &[], &json!({ "employee_id": "nobody" })).await.refused(403, 1003);
    }

    async fn users_are_the_six_of_a_fresh_desk(app) {
        let mut client = app.client().await;
        client.sign_in("user01").await;
        let users = client.get("/api/dev/users", &[]).await.data()["users"].clone();
        let brief: Vec<_> = users.as_array().unwrap().iter().map(|user| (user["employee_id"].clone(), user["roles"].clone())).collect();
        assert_eq!(
            json!(brief),
            json!([
                ["admin01", ["admin", "agent", "user"]], ["agent01", ["agent", "user"]], ["norole01", []],
                ["security01", ["user", "security"]], ["supervisor01", ["user", "supervisor"]], ["user01", ["user"]],
            ])
        );
        assert_eq!(users[5]["last_login_ip"], "127.0.0.1");
        assert_eq!(users[5]["last_login_at"], "2027-01-15T08:00:00Z");
        assert_eq!(users[0]["last_login_ip"], json!(null));
    }
}

on_one_store! {
    async fn health_says_that_development_mode_is_on(app) {
        let health = app.client().await.get("/api/dev/health", &[]).await.data();
        assert_eq!((&health["status"], &health["development"]), (&json!("ok"), &json!(true)));
    }
}

on_every_store! {
    async fn seeding_again_changes_nothing(app) {
        app.auth().operator().revoke(app.key("user01"), "user").await.unwrap();
        let app = app.restart().await;
        assert_eq!(app.query("SELECT count(*) FROM employee"), ["6"]);
        let agents = "SELECT a.employee_key, r.name FROM agent a JOIN role r ON r.id = a.role_id ORDER BY 1";
        assert_eq!(app.query(agents), ["admin01|admin", "agent01|agent", "supervisor01|supervisor"]);
        app.client().await.post("/api/dev/login", &[], &json!({ "employee_id": "user01" })).await.refused(403, 1003);
    }
}

on_one_store! {
    async fn in_production_every_method_and_path_is_1018() {
        let app = TestApp::production().await;
        let mut client = app.client().await;
        let tails = [
            "",
            "/",
            "/login",
            "/login/",
            "/users",
            "/health",
            "/anything",
            "/login/../users",
            "/%6cogin",
            "/LOGIN",
            "//login",
            "/login?x=1",
        ];
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"] {
            for tail in tails {
                let answer = client
                    .send(&request(method, &format!("/api/dev{tail}"), &[("content-type", "application/json")], b"{}"))
                    .await;
                answer.refused(403, 1018);
            }
        }
        // Similar paths do not exist.
        for path in ["/api/development", "/api/devs/login", "/API/dev/login", "/api//dev/login", "/api/%64ev/login"] {
            client.get(path, &[]).await.refused(404, 1004);
        }
    }
}

on_every_store! {
    async fn data_of_development_mode_does_not_open_in_production_nor_the_other_way_round() {
        let elsewhere = if StoreBackend::current() == StoreBackend::Embedded { "--data" } else { "store.url" };
        let mut app = TestApp::start().await;
        app.client().await.sign_in("admin01").await;
        app.stop().await;
        let why = app.reopen_error(&PRODUCTION).await;
        assert!(why.contains("development mode") && why.contains(elsewhere), "{why}");
        let mut app = TestApp::production().await;
        app.stop().await;
        let why = app.reopen_error(&[("development.enabled", "true")]).await;
        assert!(why.contains("production") && why.contains(elsewhere), "{why}");
    }
}
