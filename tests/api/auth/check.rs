//! POST /api/auth/check

use std::path::Path;

use deskpass::config::{Settings, Sources};
use serde_json::json;

use super::permissions::{OPERATIONS, RESOURCES, ROLES, SCOPES, agreed, reaches, sign_in_with_all_roles};
use crate::cluster::soon;
use crate::harness::{StoreBackend, TestApp, binary, settings};

/// Development settings with a file that replaces the access matrix.
pub(in crate::api) fn with_matrix(text: &str) -> Settings {
    let read = |path: &Path| {
        if path.ends_with("matrix.toml") { Ok(text.to_owned()) } else { Err(std::io::ErrorKind::NotFound.into()) }
    };
    let given = [("DESKPASS_DEVELOPMENT__ENABLED", "true"), ("DESKPASS_ACCESS__MATRIX_FILE", "matrix.toml")];
    let environment = given.map(|(name, value)| (name.into(), value.into())).into();
    deskpass::config::load(&Sources { file: None, environment, overrides: Vec::new(), read: &read }).unwrap()
}

/// The output of `deskpass config matrix` with its first agent line changed: agents may delete any conversation and read none.
pub(in crate::api) fn replaced_matrix() -> String {
    let printed = binary().current_dir(std::env::temp_dir()).args(["config", "matrix"]).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let agents = r#"conversation = { read = "department", create = "own", update = "own", delete = "none" }"#;
    assert!(printed.contains(agents), "{printed}");
    printed.replace(agents, r#"conversation = { read = "none", create = "own", update = "own", delete = "all" }"#)
}

on_one_store! {
    async fn answers_every_cell_as_agreed(app) {
        let mut client = app.client().await;
        let token = sign_in_with_all_roles(&app, &mut client).await;
        let mut asked = 0;
        for role in ROLES {
            client.switch(&token, role).await.data();
            for resource in RESOURCES {
                for operation in OPERATIONS {
                    let granted = agreed(role, resource, operation);
                    for scope in SCOPES {
                        let expected = json!({ "allowed": reaches(granted, scope), "granted_scope": granted });
                        let answer = client.check(&token, [resource, operation, scope]).await.data();
                        assert_eq!(answer, expected, "{role} {resource} {operation} {scope}");
                        asked += 1;
                    }
                }
            }
        }
        assert_eq!(asked, 240);
    }
}

on_every_store! {
    async fn goes_by_the_active_role_and_no_other(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        assert_eq!(client.check(&token, ["account", "delete", "all"]).await.data()["allowed"], true);
        client.switch(&token, "user").await.data();
        let refused = json!({ "allowed": false, "granted_scope": null });
        assert_eq!(client.check(&token, ["account", "delete", "all"]).await.data(), refused);
    }

    async fn stops_at_once_when_the_active_role_is_taken_away(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        assert_eq!(client.check(&token, ["approval", "read", "own"]).await.data()["allowed"], true);
        app.auth().operator().revoke(app.key("agent01"), "agent").await.unwrap();
        let answer = client.check(&token, ["approval", "read", "own"]).await;
        assert_eq!(answer.refused(403, 1003).reason(), "role_taken_away");
    }
}

on_one_store! {
    async fn names_the_fields_that_it_does_not_know(app) {
        let mut client = app.client().await;
        let bearer = format!("Bearer {}", client.sign_in("user01").await);
        let auth = [("authorization", bearer.as_str())];
        let body = json!({ "resource": "conversations", "operation": "READ", "scope": "" });
        let answer = client.post("/api/auth/check", &auth, &body).await;
        let expected = json!({ "fields": {
            "resource": "must be one of conversation, approval, knowledge, account",
            "operation": "must be one of read, create, update, delete",
            "scope": "must be one of own, department, all",
        } });
        assert_eq!(answer.refused(400, 1002).json()["data"], expected);
        let answer = client.post("/api/auth/check", &auth, &json!({ "scope": 3, "operation": null })).await;
        let expected = json!({ "fields": {
            "resource": "is required", "operation": "is required", "scope": "must be a string",
        } });
        assert_eq!(answer.refused(400, 1002).json()["data"], expected);
    }

    async fn a_file_replaces_the_matrix() {
        let app = TestApp::with(with_matrix(&replaced_matrix())).await;
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        for (wish, granted) in [(["conversation", "read", "own"], None), (["conversation", "delete", "all"], Some("all"))] {
            let expected = json!({ "allowed": granted.is_some(), "granted_scope": granted });
            assert_eq!(client.check(&token, wish).await.data(), expected, "{wish:?}");
        }
        let app = app.restart_with(settings(&[("development.enabled", "true")])).await;
        let answer = app.client().await.check(&token, ["conversation", "delete", "own"]).await;
        assert_eq!(answer.data(), json!({ "allowed": false, "granted_scope": null }));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_taken_away_on_one_node_stops_on_another() {
    StoreBackend::ScaledOut
        .run(Box::pin(async {
            let one = TestApp::start().await;
            let other = one.second_node().await;
            let mut client = other.client().await;
            for _ in 0..10 {
                let token = client.sign_in("agent01").await;
                assert_eq!(client.check(&token, ["approval", "read", "own"]).await.data()["allowed"], true);
                assert_eq!(client.forward(&token, "?role=agent").await.status, 200);
                one.auth().operator().revoke(one.key("agent01"), "agent").await.unwrap();
                soon("check", async || client.check(&token, ["approval", "read", "own"]).await.status == 403).await;
                soon("forward", async || client.forward(&token, "?role=agent").await.status == 403).await;
                one.auth().operator().grant(one.key("agent01"), "agent").await.unwrap();
                soon("given back", async || client.forward(&token, "").await.status == 200).await;
            }
        }))
        .await;
}
