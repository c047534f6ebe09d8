//! POST /api/auth/logout

use std::time::Duration;

use serde_json::json;

on_every_store! {
    async fn ends_the_session_for_good(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("user01").await);
        assert_eq!(client.logout(&token).await.data(), json!({ "success": true, "message": "signed out" }));
        assert!(!client.is_valid(&token).await);
        assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "signed_out");
        assert_eq!(client.switch(&token, "user").await.refused(401, 1001).reason(), "signed_out");
        assert_eq!(client.logout(&token).await.refused(401, 1001).reason(), "signed_out");
        assert!(client.is_valid(&other).await, "another session of the same person continues");

        let app = app.restart().await;
        let mut client = app.client().await;
        assert!(!client.is_valid(&token).await);
        assert!(client.is_valid(&other).await);
    }

    async fn leaves_a_deny_list_entry_for_the_lifetime_of_a_token(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        app.clock.advance(Duration::from_hours(7));
        client.logout(&token).await.data();
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        assert_eq!(app.query("SELECT reason FROM denied_token"), ["signed_out"]);
        app.clock.advance(Duration::from_hours(8) - Duration::from_millis(1));
        assert_eq!(app.auth().sweep().await.unwrap(), 0);
        app.clock.advance(Duration::from_millis(1));
        assert_eq!(app.auth().sweep().await.unwrap(), 1);
        assert_eq!(client.me(&token).await.reason(), "unknown");
    }

    async fn is_logged_with_the_employee(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        client.switch(&token, "agent").await.data();
        client.logout(&token).await.data();
        let log = "SELECT l.event, l.corp_id, l.employee_key, r.name, l.login_method, l.login_source FROM login_log l
            JOIN role r ON r.id = l.role_id ORDER BY l.rowid";
        assert_eq!(
            app.query(log),
            [
                "sign_in|wwdeskpass|admin01|admin|dev|h5",
                "switch_role|wwdeskpass|admin01|agent|dev|h5",
                "logout|wwdeskpass|admin01|agent|dev|h5",
            ]
        );
    }
}

on_one_store! {
    async fn speaks_the_callers_language(app) {
        let mut client = app.client().await;
        let bearer = format!("Bearer {}", client.sign_in("user01").await);
        let headers = [("authorization", bearer.as_str()), ("accept-language", "zh-CN,zh;q=0.9")];
        let logout = crate::harness::request("POST", "/api/auth/logout", &headers, b"");
        assert_eq!(client.send(&logout).await.data()["message"], "已退出登录");
        assert_eq!(client.send(&logout).await.refused(401, 1001).json()["message"], "已退出登录，请重新登录");
    }
}

on_every_store! {
    async fn of_garbage_leaves_no_trace(app) {
        let mut client = app.client().await;
        for token in ["x", "", "dpa_", &format!("dpa_{}", "A".repeat(49))] {
            client.logout(token).await.refused(401, 1001);
        }
        assert_eq!(app.query("SELECT count(*) FROM denied_token"), ["0"]);
        assert_eq!(app.query("SELECT count(*) FROM login_log"), ["0"]);
    }
}
