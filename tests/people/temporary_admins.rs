//! Administrators whose role ends by itself: they leave no administrator behind who stays, by whatever way.

use std::time::Duration;

use deskpass_auth::SyncOptions;
use deskpass_core::{Person, Role, Roles};
use serde_json::{Value, json};

use super::{Desk, department, synchronise};
use crate::harness::{Device, Messenger, Servers, TestApp, development, until};

const USER_ROLES: &str = "/api/admin/roles/user-roles";
const ALL: SyncOptions = SyncOptions { dry_run: false, force: false };

/// Makes `user01` an administrator for a day, signed in with a device.
async fn temporary_administrator(app: &TestApp) -> (String, Device) {
    let (operator, day) = (app.auth().operator(), Duration::from_hours(24));
    operator.grant_until(app.key("user01"), Role::Admin, day, "on call").await.unwrap();
    let mut client = app.client().await;
    let login = json!({ "employee_id": "user01", "role": "admin" });
    let token = client.post("/api/dev/login", &[], &login).await.data()["token"].as_str().unwrap().to_owned();
    let (device, _) = client.bind_device(&token, &app.clock).await;
    (token, device)
}

/// Employees who would be administrators, and are disabled: by their roles, and by an agent record.
async fn prepare(app: &TestApp) {
    let operator = app.auth().operator();
    let former = Person { roles: Roles::NONE.with(Role::Admin), ..Person::new(app.key("former01"), "former01") };
    operator.add_employee(former).await.unwrap();
    operator.disable(app.key("former01")).await.unwrap();
    operator.add_agent(app.key("norole01"), "admin").await.unwrap();
    operator.disable(app.key("norole01")).await.unwrap();
}

fn link_to(employee: &str) -> Value {
    json!({ "corp_id": "wwpartner", "user_id": "P1", "employee_id": employee })
}

/// Every change that would make an administrator, give the caller a role, or open the account of an administrator.
fn forbidden() -> Vec<(&'static str, String, Value)> {
    let person = |who: &str| format!("/api/admin/employees/{}/{who}", Messenger::current().corp_id);
    let temporarily =
        |who: &str, role: &str| json!({ "employee_id": who, "role": role, "minutes": 60, "reason": "more time" });
    vec![
        ("POST", "/api/admin/links".to_owned(), link_to("admin01")),
        ("POST", "/api/admin/links".to_owned(), link_to("user01")),
        ("POST", "/api/admin/links".to_owned(), link_to("former01")),
        ("POST", "/api/admin/links".to_owned(), link_to("norole01")),
        ("PATCH", person("former01"), json!({ "disabled": false })),
        ("PATCH", person("norole01"), json!({ "disabled": false })),
        ("POST", format!("{}/confirm", person("admin01")), json!({ "digest": "0123456789abcdef" })),
        ("PUT", USER_ROLES.to_owned(), json!({ "employee_id": "security01", "roles": ["admin", "security"] })),
        ("PUT", USER_ROLES.to_owned(), json!({ "employee_id": "user01", "roles": ["admin", "user", "security"] })),
        ("POST", "/api/admin/roles/temporary".to_owned(), temporarily("security01", "admin")),
        ("POST", "/api/admin/roles/temporary".to_owned(), temporarily("user01", "admin")),
        ("POST", "/api/admin/roles/temporary".to_owned(), temporarily("user01", "agent")),
        (
            "PUT",
            "/api/admin/role-rules".to_owned(),
            json!({ "rules": [{ "role": "admin", "department": department(2) }] }),
        ),
        // Whom a rule matches, the platform decides: also its author.
        (
            "PUT",
            "/api/admin/role-rules".to_owned(),
            json!({ "rules": [{ "role": "security", "department": department(2) }] }),
        ),
        ("POST", "/api/admin/agents".to_owned(), json!({ "employee_id": "security01", "role": "admin" })),
        ("POST", "/api/admin/agents".to_owned(), json!({ "employee_id": "user01", "role": "agent" })),
        ("POST", "/api/admin/agents/admin01/reset-password".to_owned(), json!({})),
        // The setup code is shown to the caller, also that for an administrator who is no agent, and for themselves.
        ("POST", "/api/admin/agents/admin01/reset-otp".to_owned(), json!({})),
        ("POST", "/api/admin/agents/norole01/reset-otp".to_owned(), json!({})),
        ("POST", "/api/admin/agents/user01/reset-otp".to_owned(), json!({})),
    ]
}

/// What they may do, since it makes no administrator.
fn permitted() -> Vec<(&'static str, String, Value)> {
    let person = format!("/api/admin/employees/{}/security01", Messenger::current().corp_id);
    vec![
        ("POST", "/api/admin/links".to_owned(), link_to("security01")),
        ("PATCH", person.clone(), json!({ "disabled": true })),
        ("PATCH", person, json!({ "disabled": false })),
        ("PUT", USER_ROLES.to_owned(), json!({ "employee_id": "security01", "roles": ["agent", "security"] })),
        // The role of an administrator is not new to this one.
        ("PUT", USER_ROLES.to_owned(), json!({ "employee_id": "admin01", "roles": ["admin", "agent", "user"] })),
        ("POST", "/api/admin/agents/agent01/reset-password".to_owned(), json!({})),
        ("POST", "/api/admin/agents/agent01/reset-otp".to_owned(), json!({})),
    ]
}

/// Who has which roles, accounts and ways to sign in.
fn state(app: &TestApp) -> Vec<String> {
    let tables = [
        "employee_key, disabled_at FROM employee",
        "employee_key, role_id, by_hand, by_rule, until FROM user_role",
        "employee_key, role_id, disabled_at, password_hash, setup_code FROM agent WHERE device_only = 0",
        "employee_key, otp_secret, otp_setup_code FROM agent",
        "corp_id, user_id, target_key FROM link",
        "role_id, group_id FROM role_rule",
    ];
    let mut rows: Vec<_> = tables.iter().flat_map(|text| app.query(&format!("SELECT {text}"))).collect();
    rows.sort();
    rows
}

on_every_store! {
    async fn a_temporary_administrator_makes_no_lasting_one() {
        let mut desk = Desk::without_events().await;
        synchronise(&desk.app, ALL).await;
        prepare(&desk.app).await;
        let (token, device) = temporary_administrator(&desk.app).await;
        let before = state(&desk.app);
        let forbidden = forbidden();
        for (method, path, body) in &forbidden {
            let refused = desk.client.admin_request(&token, &device.next_code(), method, path, body).await;
            assert_eq!((refused.status, refused.reason()), (403, "temporary_role".to_owned()), "{path} {body}");
        }
        assert_eq!(state(&desk.app), before);
        let rows = "SELECT count(*) FROM login_log WHERE event = 'administration_refused' AND reason = 'temporary_role'";
        assert_eq!(desk.app.query(rows), [forbidden.len().to_string()]);
        for (method, path, body) in permitted() {
            let done = desk.client.admin_request(&token, &device.next_code(), method, &path, &body).await;
            assert_eq!(done.status, 200, "{path} {body}: {done:?}");
        }
        // Whoever holds the role for another reason as well is no temporary one.
        desk.app.auth().operator().grant(desk.app.key("user01"), "admin").await.unwrap();
        let (method, path, body) = &forbidden[0];
        desk.client.admin_request(&token, &device.next_code(), method, path, body).await.data();
    }
}

/// Another node takes the role of an administrator away while this one, whose cache still has it, "keeps" it for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_that_only_a_cache_still_has_are_not_kept() {
    let servers = Servers::private();
    let place = servers.cluster_store();
    let app = TestApp::at(&place, development(&[])).await;
    let mut client = app.client().await;
    app.auth().operator().grant(app.key("security01"), "admin").await.unwrap();
    let (token, device) = temporary_administrator(&app).await;
    assert!(app.auth().store.person(&app.key("security01")).await.unwrap().unwrap().roles.holds(Role::Admin));

    let text = "BEGIN; UPDATE employee SET name = name WHERE employee_key = 'security01';
        DELETE FROM user_role WHERE employee_key = 'security01' AND role_id = 1";
    let revoking = place.hold(text).await;
    let code = device.next_code();
    let keeping = tokio::spawn(async move {
        let body = json!({ "employee_id": "security01", "roles": ["admin", "security"] });
        client.admin_request(&token, &code, "PUT", USER_ROLES, &body).await
    });
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'deskpass'";
    until("the change waits", async || place.query(waiting) == ["1"]).await;
    revoking.batch_execute("COMMIT").await.unwrap();
    assert_eq!(keeping.await.unwrap().refused(403, 1003).reason(), "temporary_role");
    let roles = app.query("SELECT count(*) FROM user_role WHERE employee_key = 'security01' AND role_id = 1");
    assert_eq!(roles, ["0"]);
}
