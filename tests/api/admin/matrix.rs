//! GET /api/admin/matrix

use serde_json::{Value, json};

use crate::api::auth::check::{replaced_matrix, with_matrix};
use crate::api::auth::permissions::{ROLES, agreed_row};
use crate::harness::{Client, TestApp};

async fn ask(client: &mut Client, token: &str) -> Vec<Value> {
    client.get_as(token, "/api/admin/matrix").await.data()["items"].as_array().unwrap().clone()
}

fn row<'a>(matrix: &'a [Value], role: &str) -> &'a Value {
    matrix.iter().find(|row| row["role"] == role).unwrap()
}

on_one_store! {
    async fn readers_get_the_built_in_matrix(app) {
        let mut client = app.client().await;
        for (employee, role) in [("admin01", "admin"), ("supervisor01", "supervisor"), ("security01", "security")] {
            let token = client.sign_in(employee).await;
            client.switch(&token, role).await.data();
            let matrix = ask(&mut client, &token).await;
            assert_eq!(matrix.len(), ROLES.len());
            for role in ROLES {
                assert_eq!(*row(&matrix, role), agreed_row(role));
            }
        }
    }

    async fn is_none_of_agents_and_users_business(app) {
        let mut client = app.client().await;
        for employee in ["agent01", "user01"] {
            let token = client.sign_in(employee).await;
            assert_eq!(client.get_as(&token, "/api/admin/matrix").await.refused(403, 1003).reason(), "role_needed");
        }
        client.get("/api/admin/matrix", &[]).await.refused(401, 1001);
    }

    async fn readers_get_the_replaced_matrix() {
        let app = TestApp::with(with_matrix(&replaced_matrix())).await;
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let matrix = ask(&mut client, &token).await;
        let conversation = &row(&matrix, "agent")["permissions"]["conversation"];
        assert_eq!((&conversation["read"], &conversation["delete"]), (&json!(null), &json!("all")));
        assert_eq!(*row(&matrix, "user"), agreed_row("user"));
    }
}
