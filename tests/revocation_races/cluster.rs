//! A change and the revocation of the right to it, committed at the same time by two nodes.

use std::time::Duration;

use serde_json::json;

use crate::harness::{ClusterStore, StoreBackend, TestApp, request};

const REVOCATIONS: [(&str, &str); 5] = [
    ("DELETE FROM session WHERE employee_key = 'admin01'", "unknown"),
    ("UPDATE session SET role_id = 3 WHERE employee_key = 'admin01'", "role_needed"),
    ("UPDATE employee SET disabled_at = 1 WHERE employee_key = 'admin01'", "disabled"),
    ("DELETE FROM user_role WHERE employee_key = 'admin01' AND role_id = 1", "role_taken_away"),
    // A change of the lists locks the role first.
    (
        "UPDATE role SET name = name WHERE id = 1; INSERT INTO ip_rule (role_id, network) VALUES (1, '192.0.2.0/24')",
        "address_not_allowed",
    ),
];

/// Returns once a transaction waits for a row that another one holds.
async fn until_blocked(place: &ClusterStore) {
    let text = "SELECT COUNT(*) FROM pg_locks l JOIN pg_class c ON c.relnamespace = to_regnamespace(current_schema())
        WHERE NOT l.granted AND l.locktype IN ('transactionid', 'tuple')";
    while place.query(text) == ["0"] {
        tokio::task::yield_now().await;
    }
}

/// Requests a change while another transaction that revokes the right to it is open; returns the status and the reason.
async fn race(app: &TestApp, sql: &str, commit: bool) -> (u16, String) {
    let mut client = app.client().await;
    let token = client.sign_in("admin01").await;
    let (device, _) = client.bind_device(&token, &app.clock).await;
    let (bearer, code) = (format!("Bearer {token}"), device.next_code());
    let headers = [("authorization", &*bearer), ("x-otp-code", &code), ("content-type", "application/json")];
    let body = json!({ "employee_id": "user01", "roles": ["admin"] }).to_string();
    let ask = request("PUT", "/api/admin/roles/user-roles", &headers, body.as_bytes());
    let revoking = app.cluster_store().hold(&format!("BEGIN; {sql}")).await;
    let answer = tokio::spawn(async move { client.send(&ask).await });
    tokio::time::timeout(Duration::from_secs(10), until_blocked(app.cluster_store())).await.expect("the change waits");
    revoking.batch_execute(if commit { "COMMIT" } else { "ROLLBACK" }).await.unwrap();
    let answer = answer.await.unwrap();
    (answer.status, answer.reason())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_waits_for_what_revokes_the_right_to_it() {
    let test = async {
        for (sql, reason) in REVOCATIONS {
            let app = TestApp::start().await;
            let (_, shown) = race(&app, sql, true).await;
            assert_eq!(shown, reason, "{sql}");
            assert_eq!(app.query("SELECT role_id FROM user_role WHERE employee_key = 'user01'"), ["3"], "{sql}");
        }
        let app = TestApp::start().await;
        assert_eq!(race(&app, REVOCATIONS[0].0, false).await, (200, String::new()));
        assert_eq!(app.query("SELECT role_id FROM user_role WHERE employee_key = 'user01'"), ["1"]);
    };
    StoreBackend::ScaledOut.run(test).await;
}
