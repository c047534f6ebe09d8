//! /api/admin/service-keys

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, TestApp};

const PATH: &str = "/api/admin/service-keys";

/// The items of the list.
async fn items(client: &mut Client, token: &str) -> Vec<Value> {
    client.get_as(token, PATH).await.data()["items"].as_array().unwrap().clone()
}

fn path_of(key: &Value) -> String {
    format!("{PATH}/{}", key["id"].as_str().unwrap())
}

fn about_keys(app: &TestApp) -> Vec<String> {
    app.query("SELECT event, actor_key, detail FROM login_log WHERE event LIKE 'service_key%' ORDER BY id")
}

on_every_store! {
    async fn a_key_is_made_listed_and_revoked(app) {
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        assert_eq!(items(&mut client, &token).await, [] as [Value; 0]);
        let body = json!({ "name": "工单系统", "scopes": ["messages", "introspect"], "expires_in_days": 30 });
        let made = client.admin_request(&token, &device.next_code(), "POST", PATH, &body).await.data();
        let key = made["key"].as_str().unwrap().to_owned();
        assert!(key.starts_with("dpk_") && key.len() == 53, "{key}");
        let expected = json!({
            "id": made["id"], "name": "工单系统", "scopes": ["introspect", "messages"], "key": key,
            "created_at": "2027-01-15T08:00:30Z", "expires_at": "2027-02-14T08:00:30Z",
        });
        assert_eq!(made, expected);

        app.clock.advance(Duration::from_millis(1));
        let body = json!({ "name": "billing", "scopes": ["introspect"] });
        let other = client.admin_request(&token, &device.next_code(), "POST", PATH, &body).await.data();
        assert_eq!(other["expires_at"], "2028-01-15T08:01:00.001Z", "a year");
        app.clock.advance(Duration::from_millis(1));
        let by_operator = app.service_key("messages").await;
        let listed = items(&mut client, &token).await;
        assert_eq!(listed.iter().map(|item| &item["name"]).collect::<Vec<_>>(), ["a service", "billing", "工单系统"]);
        assert_eq!((&listed[0]["created_by"], &listed[0]["id"]), (&Value::Null, &json!(by_operator.1)));
        assert_eq!(listed[2], json!({
            "id": made["id"], "name": "工单系统", "scopes": ["introspect", "messages"], "created_at": made["created_at"],
            "created_by": { "corp_id": "wwdeskpass", "employee_id": "admin01" }, "expires_at": made["expires_at"],
            "revoked_at": null, "state": "active",
        }));
        assert!(!serde_json::to_string(&listed).unwrap().contains(&key[4..]), "the key is shown once");

        assert_eq!(client.introspect(&key, &token).await.json()["active"], true);
        let revoked = client.admin_request(&token, &device.next_code(), "DELETE", &path_of(&made), &json!({})).await;
        assert_eq!(revoked.data(), json!({ "success": true }));
        client.introspect(&key, &token).await.refused(401, 1001);
        assert_eq!(client.introspect(other["key"].as_str().unwrap(), &token).await.json()["active"], true);
        let listed = items(&mut client, &token).await;
        assert_eq!((&listed[2]["state"], &listed[2]["revoked_at"]), (&json!("revoked"), &json!("2027-01-15T08:01:30.002Z")));
        // Revoking a key again changes nothing.
        app.clock.advance(Duration::from_hours(1));
        client.admin_request(&token, &device.next_code(), "DELETE", &path_of(&made), &json!({})).await.data();
        assert_eq!(items(&mut client, &token).await[2], listed[2]);
        let id = made["id"].as_str().unwrap();
        assert_eq!(about_keys(&app), [
            "service_key_created|admin01|工单系统: introspect messages".to_owned(),
            "service_key_created|admin01|billing: introspect".to_owned(),
            "service_key_created|-|a service: messages".to_owned(),
            format!("service_key_revoked|admin01|工单系统: {id}"),
        ]);
    }

    async fn a_key_that_has_ended_says_so(app) {
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        let body = json!({ "name": "short", "scopes": ["introspect"], "expires_in_days": 1 });
        client.admin_request(&token, &device.next_code(), "POST", PATH, &body).await.data();
        app.clock.advance(Duration::from_hours(24) - Duration::from_millis(1));
        let token = client.sign_in("admin01").await;
        assert_eq!(items(&mut client, &token).await[0]["state"], "active");
        app.clock.advance(Duration::from_millis(1));
        assert_eq!(items(&mut client, &token).await[0]["state"], "expired");
    }

    /// The code is checked after everything else in the request.
    async fn a_slip_costs_no_code(app) {
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        let code = device.next_code();
        let long = "长".repeat(65);
        for (body, fields) in [
            (json!({}), json!({ "name": "is required", "scopes": "is required" })),
            (json!({ "name": "x", "scopes": [] }), json!({ "scopes": "must be a list of at least one of introspect, messages" })),
            (json!({ "name": "x", "scopes": ["admin"] }), json!({ "scopes": "must be a list of at least one of introspect, messages" })),
            (json!({ "name": "x", "scopes": ["introspect", "Messages"] }), json!({ "scopes": "must be a list of at least one of introspect, messages" })),
            (json!({ "name": "x", "scopes": "introspect" }), json!({ "scopes": "must be a list of at most 2 strings" })),
            (json!({ "name": "x", "scopes": ["introspect"], "expires_in_days": 0 }), json!({ "expires_in_days": "must be a whole number from 1 to 3650" })),
            (json!({ "name": "x", "scopes": ["introspect"], "expires_in_days": 3651 }), json!({ "expires_in_days": "must be a whole number from 1 to 3650" })),
            (json!({ "name": "x", "scopes": ["introspect"], "expires_in_days": 1.5 }), json!({ "expires_in_days": "must be a whole number from 1 to 3650" })),
        ] {
            let answer = client.admin_request(&token, &code, "POST", PATH, &body).await;
            assert_eq!(answer.refused(400, 1002).json()["data"]["fields"], fields, "{body}");
        }
        for name in ["", " ", "a\nb", "a\u{202e}b", "\u{200b}", &long] {
            let body = json!({ "name": name, "scopes": ["introspect"] });
            let answer = client.admin_request(&token, &code, "POST", PATH, &body).await;
            let why = answer.refused(400, 1002).json()["data"]["fields"]["name"].as_str().unwrap().to_owned();
            assert!(why.starts_with("must be 1 to 64 visible characters"), "{why}");
        }
        let unknown_key = format!("{PATH}/{}", "0".repeat(32));
        client.admin_request(&token, &code, "DELETE", &unknown_key, &json!({})).await.refused(404, 1004);
        client.admin_request(&token, &code, "DELETE", &format!("{PATH}/x"), &json!({})).await.refused(400, 1002);
        assert_eq!(items(&mut client, &token).await, [] as [Value; 0]);
        let body = json!({ "name": "x", "scopes": ["introspect"], "expires_in_days": 3650 });
        let made = client.admin_request(&token, &code, "POST", PATH, &body).await.data();
        let (id, digest) = (path_of(&made), app.query("SELECT digest FROM service_key").remove(0));
        client.admin_request(&token, &code, "DELETE", &id, &json!({})).await.refused(401, 1008);
        // The digest that a thief finds in the database identifies no key.
        client.admin_request(&token, &device.next_code(), "DELETE", &format!("{PATH}/{digest}"), &json!({})).await.refused(400, 1002);
    }

    async fn keys_are_for_administrators_of_the_home_corporation(app) {
        let mut client = app.client().await;
        let (_, id) = app.service_key("introspect").await;
        let (abroad, device) = app.partner_administrator().await;
        let code = device.next_code();
        let body = json!({ "name": "mine", "scopes": ["introspect"] });
        let path = format!("{PATH}/{id}");
        let refusals = || app.query("SELECT count(*) FROM login_log WHERE event = 'administration_refused'");
        for (round, (method, path)) in [("GET", PATH), ("POST", PATH), ("DELETE", &path)].into_iter().enumerate() {
            let answer = client.admin_request(&abroad, &code, method, path, &body).await;
            assert_eq!(answer.refused(403, 1003).reason(), "role_needed", "{method}");
            assert!(!answer.body.contains("a service") && !answer.body.contains(&id));
            assert_eq!(refusals(), [(round + 1).to_string()], "it is logged once");
        }
        // An administrator of another corporation does not learn whether such a key exists.
        client.admin_request(&abroad, &code, "DELETE", &format!("{PATH}/{}", "0".repeat(32)), &body).await.refused(403, 1003);
        let [agent, supervisor] = [client.sign_in("agent01").await, client.sign_in("supervisor01").await];
        for token in [agent, supervisor] {
            assert_eq!(client.get_as(&token, PATH).await.refused(403, 1003).reason(), "role_needed");
        }
        assert_eq!(app.query("SELECT name, revoked_at FROM service_key"), ["a service|-"]);
        // The refusals used up no code.
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'otp_refused'"), ["0"]);
        client.post_as(&abroad, "/api/auth/otp-verify", &json!({ "code": code })).await.data();
    }
}
