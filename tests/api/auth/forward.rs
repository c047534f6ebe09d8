//! GET /api/auth/forward

use deskpass_core::Role;
use serde_json::{Value, json};

use super::check::{replaced_matrix, with_matrix};
use super::permissions::{OPERATIONS, RESOURCES, ROLES, SCOPES, agreed, reaches, sign_in_with_all_roles};
use crate::envelope::assert_shape;
use crate::harness::{Response, TestApp, request};

/// The headers that identify the user: id, corporation, name, role, roles.
fn identity(answer: &Response) -> [Option<&str>; 5] {
    let names = ["x-auth-employee-id", "x-auth-corp-id", "x-auth-name", "x-auth-role", "x-auth-roles"];
    names.map(|name| answer.header(name))
}

fn fields(answer: &Response) -> Value {
    answer.refused(400, 1002).json()["data"]["fields"].clone()
}

on_every_store! {
    async fn says_whose_request_it_is(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        client.switch(&token, "agent").await.data();
        let answer = client.forward(&token, "").await;
        let expected = ["admin01", "wwdeskpass", "Ada%20Admin", "agent", "admin,agent,user"].map(Some);
        assert_eq!(identity(&answer), expected);
        assert_shape(&answer);
        let expected = json!({
            "employee_id": "admin01", "corp_id": "wwdeskpass", "name": "Ada Admin", "current_role": "agent",
            "roles": ["admin", "agent", "user"]
        });
        assert_eq!(answer.data(), expected);
    }
}

on_one_store! {
    async fn writes_ids_as_the_corporation_does_and_names_so_that_any_header_carries_them(app) {
        let mut client = app.client().await;
        for (employee, name, encoded) in [
            ("Zhang.San@x_1-y", "张三", "%E5%BC%A0%E4%B8%89"),
            ("nameless", "", ""),
            ("odd", "a-b._~\r\nX-Auth-Role: admin,%", "a-b._~%0D%0AX-Auth-Role%3A%20admin%2C%25"),
        ] {
            app.add_named(employee, name, Role::User).await;
            let token = client.sign_in(employee).await;
            let answer = client.forward(&token, "").await;
            let expected = [employee, "wwdeskpass", encoded, "user", "user"];
            assert_eq!(identity(&answer).map(Option::unwrap_or_default), expected);
            assert_eq!(answer.headers.iter().filter(|(name, _)| name == "x-auth-role").count(), 1);
        }
    }

    async fn answers_every_cell_as_agreed(app) {
        let mut client = app.client().await;
        let token = sign_in_with_all_roles(&app, &mut client).await;
        let mut asked = 0;
        for role in ROLES {
            client.switch(&token, role).await.data();
            for resource in RESOURCES {
                for operation in OPERATIONS {
                    for scope in SCOPES {
                        let query = format!("?resource={resource}&operation={operation}&scope={scope}");
                        let answer = client.forward(&token, &query).await;
                        if reaches(agreed(role, resource, operation), scope) {
                            assert_eq!(answer.data()["current_role"], role);
                        } else {
                            assert_eq!(answer.refused(403, 1003).reason(), "not_permitted", "{role} {query}");
                            assert_eq!(identity(&answer), [None; 5]);
                        }
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
        client.switch(&token, "user").await.data();
        for (query, passes) in [
            ("?role=user", true),
            ("?role=admin", false),
            ("?role=admin,agent", false),
            ("?role=admin,user", true),
            ("?role=user&resource=account&operation=read&scope=own", true),
            ("?role=user&resource=account&operation=read&scope=all", false),
            ("?role=admin&resource=account&operation=read&scope=own", false),
        ] {
            assert_eq!(client.forward(&token, query).await.status, if passes { 200 } else { 403 }, "{query}");
        }
        let answer = client.forward(&token, "?role=supervisor,admin").await;
        assert_eq!(answer.refused(403, 1003).reason(), "role_needed");
        assert_eq!(answer.json()["message"], "this operation requires one of these active roles: admin, supervisor");
    }

    async fn stops_at_once_when_the_active_role_is_taken_away_and_after_logout(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        client.forward(&token, "?role=agent").await.data();
        app.auth().operator().revoke(app.key("agent01"), "agent").await.unwrap();
        assert_eq!(client.forward(&token, "?role=agent").await.refused(403, 1003).reason(), "role_taken_away");
        client.switch(&token, "user").await.data();
        client.forward(&token, "").await.data();
        client.logout(&token).await.data();
        let answer = client.forward(&token, "").await;
        assert_eq!(answer.refused(401, 1001).reason(), "signed_out");
        assert_eq!((answer.header("www-authenticate"), identity(&answer)), (Some("Bearer"), [None; 5]));
    }
}

on_one_store! {
    async fn wants_all_of_a_permission_or_none_and_only_words_it_knows(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let roles = "must be one of admin, agent, user, supervisor, security";
        let known = "must have no other fields than role, resource, operation, scope";
        for (query, expected) in [
            ("?resource=account", json!({ "operation": "is required", "scope": "is required" })),
            ("?scope=all&operation=read", json!({ "resource": "is required" })),
            ("?resource=account&operation=read&scope=mine", json!({ "scope": "must be one of own, department, all" })),
            ("?resource=&operation=&scope=all", json!({
                "resource": "must be one of conversation, approval, knowledge, account",
                "operation": "must be one of read, create, update, delete",
            })),
            ("?role=", json!({ "role": roles })),
            ("?role=admin,", json!({ "role": roles })),
            ("?role=admin,%20user", json!({ "role": roles })),
            ("?role=Admin", json!({ "role": roles })),
            ("?role=admin&role=user", json!({ "role": "must not be given twice" })),
            // A typing mistake in a proxy's settings must not let every request through.
            ("?roles=user", json!({ "query": known })),
            ("?role=admin&ressource=account", json!({ "query": known })),
        ] {
            assert_eq!(fields(&client.forward(&token, query).await), expected, "{query}");
        }
    }

    /// Proxies pass on what the client sent, and some use the client's method.
    async fn takes_what_proxies_send(app) {
        let mut client = app.client().await;
        let bearer = format!("Bearer {}", client.sign_in("user01").await);
        let spoofed = [
            ("authorization", bearer.as_str()),
            ("x-auth-role", "admin"),
            ("x-auth-employee-id", "admin01"),
            ("x-original-uri", "/api/auth/forward?role=admin"),
            ("x-forwarded-uri", "/?role=admin"),
            ("x-forwarded-method", "DELETE"),
            ("x-forwarded-for", "203.0.113.5, garbage"),
            ("content-type", "application/json"),
        ];
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let answer = client.send(&request(method, "/api/auth/forward?role=user", &spoofed, b"")).await;
            assert_eq!(identity(&answer)[3..], [Some("user"), Some("user")], "{method}");
            assert_eq!((answer.data()["employee_id"].as_str(), answer.header("cache-control")), (Some("user01"), Some("no-store")));
        }
        let mut client = app.client().await;
        client.start(&request("HEAD", "/api/auth/forward", &spoofed, b"")).await;
        let head = client.read_until("\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("x-auth-employee-id: user01"), "{head}");
        assert!(head.ends_with("\r\n\r\n"), "{head}");
    }

    async fn a_file_replaces_the_matrix() {
        let app = TestApp::with(with_matrix(&replaced_matrix())).await;
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        client.forward(&token, "?resource=conversation&operation=delete&scope=all").await.data();
        let answer = client.forward(&token, "?resource=conversation&operation=read&scope=own").await;
        assert_eq!(answer.refused(403, 1003).reason(), "not_permitted");
    }
}
