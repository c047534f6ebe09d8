//! The dry run: how many sessions it counts and names.

use serde_json::json;

use super::{CAFE, DRY_RUN, lists};
use crate::harness::TestApp;

impl TestApp {
    /// Adds sessions of a user at the café, directly to the database.
    pub(crate) fn add_sessions(&self, count: usize) {
        self.query(&format!(
            "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at, ip_address)
             SELECT (100000 + n) || 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'wwdeskpass', 'user01', 3, 'dev', 'h5', 0,
             9000000000000, '{CAFE}' FROM (WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted
             WHERE n < {count}) SELECT n FROM counted) AS numbers"
        ));
    }
}

on_every_store! {
    async fn a_dry_run_names_at_most_fifty_and_counts_all(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        for _ in 0..53 {
            client.sign_in_from(CAFE, &json!({ "employee_id": "user01" })).await.data();
        }
        let ended = client.sign_in_from(CAFE, &json!({ "employee_id": "user01" })).await.data();
        client.logout(ended["token"].as_str().unwrap()).await.data();
        let tried = client.post_as(&token, DRY_RUN, &lists(&[("user", &["10.0.0.0/8"])])).await.data();
        let named: Vec<_> = tried["roles"].as_array().unwrap().iter().map(|role| (role["role"].as_str().unwrap(), role["sessions"].as_u64().unwrap(), role["shut_out"].as_array().unwrap().len())).collect();
        assert_eq!(named, [("admin", 0, 0), ("agent", 0, 0), ("user", 53, 50), ("supervisor", 0, 0), ("security", 0, 0)]);
        assert!(tried["roles"].as_array().unwrap().iter().all(|role| role["sessions_exact"] == true), "{tried}");
        assert_eq!(tried["roles"][2]["shut_out"][0], json!({ "corp_id": "wwdeskpass", "employee_id": "user01", "name": "Uma User", "ip_address": CAFE, "last_seen_at": "2027-01-15T08:00:00Z" }));
    }
}

on_one_store! {
    async fn a_dry_run_says_when_it_has_not_checked_all_sessions(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        app.add_sessions(20_000);
        let tried = client.post_as(&token, DRY_RUN, &lists(&[("user", &["10.0.0.0/8"])])).await.data();
        let (agent, user) = (&tried["roles"][1], &tried["roles"][2]);
        assert_eq!((&agent["sessions"], &agent["sessions_exact"]), (&json!(0), &json!(true)), "there is no list");
        assert!(user["sessions"].as_u64().unwrap() >= 19_999, "{}", user["sessions"]);
        assert_eq!((&user["sessions_exact"], user["shut_out"].as_array().unwrap().len()), (&json!(false), 50));
    }
}
