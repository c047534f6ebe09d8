//! Access to the kinds of sockets, by the active role and by where it may be active.

use deskpass_core::Role;
use serde_json::json;

use super::{AGENT, EMPLOYEE, ask_as};
use crate::harness::{Client, TestApp};

const CAST: [(&str, &str); 5] = [
    ("admin01", "admin"),
    ("agent01", "agent"),
    ("supervisor01", "supervisor"),
    ("security01", "security"),
    ("user01", "user"),
];

async fn sign_in(client: &mut Client, employee: &str, role: &str) -> String {
    let login = client.post("/api/dev/login", &[], &json!({ "employee_id": employee, "role": role })).await.data();
    assert_eq!(login["current_role"], role);
    login["token"].as_str().unwrap().to_owned()
}

async fn refused(app: &TestApp, token: &str, path: &str, code: u64) -> String {
    ask_as(app, token, path, &[]).await.refused(403, code).reason()
}

on_every_store! {
    async fn agents_sockets_are_for_three_roles_and_employees_for_all(app) {
        let mut client = app.client().await;
        for (employee, role) in CAST {
            let token = sign_in(&mut client, employee, role).await;
            assert_eq!(ask_as(&app, &token, EMPLOYEE, &[]).await.status, 101, "{role}");
            if ["admin", "agent", "supervisor"].contains(&role) {
                assert_eq!(ask_as(&app, &token, AGENT, &[]).await.status, 101, "{role}");
            } else {
                assert_eq!(refused(&app, &token, AGENT, 1003).await, "role_needed");
            }
        }
    }

    async fn a_role_that_is_held_but_not_active_does_not_count(app) {
        let mut client = app.client().await;
        let token = sign_in(&mut client, "admin01", "user").await;
        assert_eq!(refused(&app, &token, AGENT, 1003).await, "role_needed");
        client.switch(&token, "agent").await.data();
        assert_eq!(ask_as(&app, &token, AGENT, &[]).await.status, 101);
        client.switch(&token, "user").await.data();
        assert_eq!(refused(&app, &token, AGENT, 1003).await, "role_needed");
    }

    async fn a_role_that_was_taken_away_opens_nothing(app) {
        let token = sign_in(&mut app.client().await, "agent01", "agent").await;
        app.auth().operator().revoke(app.key("agent01"), Role::Agent.name()).await.unwrap();
        for path in [EMPLOYEE, AGENT] {
            assert_eq!(refused(&app, &token, path, 1003).await, "role_taken_away");
        }
    }

    async fn a_role_is_active_only_where_it_may_be(app) {
        let token = sign_in(&mut app.client().await, "agent01", "agent").await;
        app.set_list("agent", &["10.0.0.0/8"]).await;
        for path in [EMPLOYEE, AGENT] {
            refused(&app, &token, path, 1017).await;
            let cafe = ask_as(&app, &token, path, &[("x-forwarded-for", "203.0.113.9")]).await;
            cafe.refused(403, 1017);
            let office = ask_as(&app, &token, path, &[("x-forwarded-for", "10.1.2.3")]).await;
            assert_eq!(office.status, 101, "{office:?}");
        }
    }
}
