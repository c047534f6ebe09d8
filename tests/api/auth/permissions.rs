//! GET /api/auth/permissions

use serde_json::{Value, json};

use crate::harness::{Client, TestApp};

pub(in crate::api) const ROLES: [&str; 5] = ["admin", "supervisor", "agent", "security", "user"];
pub(super) const RESOURCES: [&str; 4] = ["conversation", "approval", "knowledge", "account"];
pub(super) const OPERATIONS: [&str; 4] = ["read", "create", "update", "delete"];
pub(super) const SCOPES: [&str; 3] = ["own", "department", "all"];

/// The default matrix as it was agreed on: a row per role in the order above, a column per resource, and in each cell
/// read, create, update, delete.
const AGREED: [[&str; 4]; 5] = [
    ["all all all all", "all all all all", "all all all all", "all all all all"],
    ["all dept dept –", "dept dept dept –", "all dept dept dept", "dept – – –"],
    ["dept own own –", "own own own –", "all own own –", "own – own –"],
    ["all – – –", "all – dept –", "all – – –", "all – dept –"],
    ["own own own –", "own own own –", "all – – –", "own – own –"],
];

/// The widest scope in the agreed matrix.
pub(super) fn agreed(role: &str, resource: &str, operation: &str) -> Option<&'static str> {
    let at = |words: &[&str], word| words.iter().position(|known| *known == word).unwrap();
    let column = AGREED[at(&ROLES, role)][at(&RESOURCES, resource)];
    match column.split(' ').nth(at(&OPERATIONS, operation)).unwrap() {
        "–" => None,
        "dept" => Some("department"),
        scope => Some(scope),
    }
}

/// The row of a role as it stands in the response.
pub(in crate::api) fn agreed_row(role: &str) -> Value {
    let row = |resource| {
        let cells = OPERATIONS.map(|operation| (operation.to_owned(), agreed(role, resource, operation).into()));
        Value::Object(cells.into_iter().collect())
    };
    let rows: serde_json::Map<_, _> =
        RESOURCES.iter().map(|resource| ((*resource).to_owned(), row(resource))).collect();
    json!({ "role": role, "permissions": rows })
}

/// Returns whether the granted scope covers the requested one.
pub(super) fn reaches(granted: Option<&str>, scope: &str) -> bool {
    let rank = |scope| SCOPES.iter().position(|known| *known == scope).unwrap();
    granted.is_some_and(|granted| rank(granted) >= rank(scope))
}

/// Signs in an employee who holds all five roles.
pub(super) async fn sign_in_with_all_roles(app: &TestApp, client: &mut Client) -> String {
    for role in ROLES {
        app.auth().operator().grant(app.key("admin01"), role).await.unwrap();
    }
    client.sign_in("admin01").await
}

async fn ask(client: &mut Client, token: &str) -> Value {
    client.get("/api/auth/permissions", &[("authorization", &format!("Bearer {token}"))]).await.data()
}

on_one_store! {
    async fn is_the_row_of_the_active_role(app) {
        let mut client = app.client().await;
        let token = sign_in_with_all_roles(&app, &mut client).await;
        for role in ROLES {
            client.switch(&token, role).await.data();
            assert_eq!(ask(&mut client, &token).await, agreed_row(role));
        }
    }

    async fn has_null_where_nothing_is_granted(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        let permissions = ask(&mut client, &token).await;
        let row = json!({ "read": "department", "create": "own", "update": "own", "delete": null });
        assert_eq!((&permissions["role"], &permissions["permissions"]["conversation"]), (&json!("agent"), &row));
    }
}
