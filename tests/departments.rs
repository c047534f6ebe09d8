//! Departments are compared by the platform's ids, and only the platform's latest answer counts.

use std::collections::HashSet;
use std::time::Duration;

use deskpass_core::IdentifiedPerson;
use serde_json::{Value, json};

use crate::harness::{Client, TestApp, development, fragment};

/// The department of agent01 and supervisor01 on the simulated platform, and another one with the same name.
const DESK: &str = "IT Service Desk";
const NAMESAKE: &str = "[7]";

/// Signs in by QR code.
async fn sign_in(client: &mut Client, who: &str) -> String {
    let code = client.qrcode().await;
    let confirm = client.scan_as(&code, who).await;
    client.decide("confirm", &confirm).await.data();
    client.scan_status(code["ticket"].as_str().unwrap()).await["token"].as_str().unwrap().to_owned()
}

/// The name of a user at the simulated platform. With another one, the user would be another person.
fn name_of(who: &str) -> &str {
    match who {
        "admin01" => "Ada Admin",
        "supervisor01" => "Sven Supervisor",
        _ => "Uma User",
    }
}

/// Signs in by QR code while the platform reports these departments.
async fn sign_in_from(client: &mut Client, who: &str, departments: &str) -> String {
    let name = name_of(who);
    let record = format!(r#"{{"errcode":0,"userid":"{who}","name":"{name}","department":{departments},"status":1}}"#);
    client.set_fault(&json!({ "api": "user/get", "body": record })).await;
    sign_in(client, who).await
}

/// A service that asks the platform at sign-ins alone: after one without an answer, the re-check would ask at once.
async fn without_rechecks() -> TestApp {
    TestApp::with(development(&[("recheck.period", "0")])).await
}

/// The employees in a list.
async fn listed(client: &mut Client, token: &str, path: &str) -> HashSet<String> {
    let items = client.get_as(token, path).await.data()["items"].clone();
    items.as_array().unwrap().iter().map(|item| item["employee_id"].as_str().unwrap().to_owned()).collect()
}

/// The employees in the lists of a supervisor; all lists contain the same ones.
async fn sight(client: &mut Client, token: &str) -> Vec<String> {
    let mut seen: Vec<HashSet<String>> = Vec::new();
    for path in ["/api/admin/employees", "/api/admin/roles/user-roles", "/api/admin/sessions", "/api/admin/login-log"] {
        seen.push(listed(client, token, path).await);
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
    let mut seen: Vec<_> = seen.pop().unwrap().into_iter().collect();
    seen.sort();
    seen
}

async fn as_supervisor(client: &mut Client, token: String) -> String {
    client.switch(&token, "supervisor").await.data();
    token
}

fn shown(me: &Value) -> (&Value, &Value) {
    (&me["name"], &me["department"])
}

on_every_store! {
    async fn two_departments_with_one_name_do_not_see_each_other(app) {
        let mut client = app.client().await;
        let user = sign_in_from(&mut client, "user01", NAMESAKE).await;
        assert_eq!(client.me(&user).await.data()["department"], DESK);
        sign_in(&mut client, "agent01").await;
        let supervisor = sign_in(&mut client, "supervisor01").await;
        let supervisor = as_supervisor(&mut client, supervisor).await;
        assert_eq!(sight(&mut client, &supervisor).await, ["agent01", "supervisor01"]);
        let named = "/api/admin/employees?department=IT%20Service%20Desk";
        for path in [named.to_owned(), format!("{named}&role=user"), format!("{named}&q=s"), "/api/admin/employees?q=uma".to_owned()] {
            assert!(!listed(&mut client, &supervisor, &path).await.contains("user01"), "{path}");
        }
        assert!(listed(&mut client, &supervisor, "/api/admin/login-log?employee_id=user01").await.is_empty());
        assert!(listed(&mut client, &supervisor, "/api/admin/sessions?employee_id=user01").await.is_empty());
        // Users who see all departments filter by name.
        let security = sign_in(&mut client, "security01").await;
        client.switch(&security, "security").await.data();
        let all: HashSet<_> = ["agent01", "supervisor01", "user01"].map(str::to_owned).into();
        assert_eq!(listed(&mut client, &security, named).await, all);
    }

    async fn an_employee_who_moves_sees_another_department_from_the_next_sign_in_on(app) {
        let mut client = app.client().await;
        sign_in(&mut client, "agent01").await;
        let before = sign_in(&mut client, "supervisor01").await;
        let before = as_supervisor(&mut client, before).await;
        assert_eq!(sight(&mut client, &before).await, ["agent01", "supervisor01"]);
        sign_in_from(&mut client, "supervisor01", NAMESAKE).await;
        assert_eq!(sight(&mut client, &before).await, ["supervisor01"], "in sessions from before, too");
        // The name cannot be looked up: the former name does not apply any more.
        client.set_fault(&json!({ "api": "department/get", "http_status": 500, "body": "" })).await;
        sign_in_from(&mut client, "supervisor01", "[1]").await;
        assert_eq!(shown(&client.me(&before).await.data()), (&json!("Sven Supervisor"), &json!("")));
        assert_eq!(sight(&mut client, &before).await, ["supervisor01"]);
        sign_in(&mut client, "supervisor01").await;
        assert_eq!(sight(&mut client, &before).await, ["agent01", "supervisor01"]);
    }

    async fn an_employee_outside_the_visible_range_has_no_department() {
        let app = without_rechecks().await;
        let mut client = app.client().await;
        let token = sign_in(&mut client, "supervisor01").await;
        let token = as_supervisor(&mut client, token).await;
        let out_of_sight = json!({ "api": "user/get", "body": r#"{"errcode":0,"userid":"supervisor01","name":"Sven Supervisor","department":[],"status":1}"# });
        client.set_fault(&out_of_sight).await;
        sign_in(&mut client, "supervisor01").await;
        assert_eq!(shown(&client.me(&token).await.data()), (&json!("Sven Supervisor"), &json!("")));
        client.get_as(&token, "/api/admin/employees").await.refused(403, 1003);
        sign_in(&mut client, "supervisor01").await;
        assert_eq!(listed(&mut client, &token, "/api/admin/employees").await.len(), 2, "agent01 was entered there");
        // A failed call to the platform changes nothing.
        for fault in [json!({ "api": "user/get", "drop": true }), json!({ "api": "user/get", "errcode": 48002 })] {
            client.set_fault(&fault).await;
            sign_in(&mut client, "supervisor01").await;
            assert_eq!(listed(&mut client, &token, "/api/admin/employees").await.len(), 2, "{fault}");
        }
        // A member whom the application saw, and may not see any more, is locked out, and comes back with the department.
        client.set_fault(&json!({ "api": "user/get", "errcode": 60011 })).await;
        let qrcode = client.qrcode().await;
        let page = client.scan(&qrcode, "supervisor01").await;
        assert_eq!(fragment(&page, "error"), "disabled");
        client.me(&token).await.refused(401, 1001);
        app.clock.advance(Duration::from_secs(61));
        let token = sign_in(&mut client, "supervisor01").await;
        let token = as_supervisor(&mut client, token).await;
        assert_eq!(listed(&mut client, &token, "/api/admin/employees").await.len(), 2);
    }

    /// As in data from before departments had ids: supervisors see no colleagues until the platform reports an id.
    async fn an_employee_without_a_department_id_sees_only_themself(app) {
        let mut client = app.client().await;
        let token = client.sign_in("supervisor01").await;
        let token = as_supervisor(&mut client, token).await;
        for id in ["supervisor01", "agent01"] {
            let unknown = IdentifiedPerson { key: app.key(id), employee_id: id.to_owned(), through: None, name: None, department: None, department_id: Some(String::new()), avatar: None, email: None, asked_at: None, identified_at: None, seen: false, holder: None };
            app.auth().store.upsert_person(unknown, app.clock.now()).await.unwrap();
        }
        assert_eq!(client.me(&token).await.data()["department"], DESK, "its name is still there");
        for path in ["/api/admin/employees", "/api/admin/sessions", "/api/admin/login-log"] {
            client.get_as(&token, path).await.refused(403, 1003);
        }
        sign_in(&mut client, "supervisor01").await;
        assert_eq!(sight(&mut client, &token).await, ["supervisor01"]);
        // Development users get their ids when the service starts.
        app.auth().seed_dev_users().await.unwrap();
        assert!(listed(&mut client, &token, "/api/admin/employees").await.contains("agent01"));
    }

    async fn a_picture_that_the_platform_no_longer_reports_is_removed() {
        let app = without_rechecks().await;
        let mut client = app.client().await;
        let token = sign_in(&mut client, "admin01").await;
        assert_ne!(client.me(&token).await.data()["avatar"], "");
        client.set_fault(&json!({ "api": "user/get", "drop": true })).await;
        sign_in(&mut client, "admin01").await;
        assert_ne!(client.me(&token).await.data()["avatar"], "");
        sign_in_from(&mut client, "admin01", "[2]").await;
        assert_eq!(client.me(&token).await.data()["avatar"], "");
    }
}
