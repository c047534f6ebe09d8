//! /api/admin/oidc-clients

use std::time::Duration;

use deskpass::config;
use deskpass_core::Digest;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::{
    Client, Device, OidcClient, Response, TestApp, development, oauth_error, registration, registration_at,
};

const PATH: &str = "/api/admin/oidc-clients";

/// A service on which nothing is limited: the clock stands still, and all requests come from one address.
async fn desk() -> TestApp {
    TestApp::with(development(&[("limits.enabled", "false")])).await
}

/// An administrator with a device.
struct Admin {
    http: Client,
    token: String,
    device: Device,
}

impl Admin {
    async fn of(app: &TestApp) -> Self {
        let (token, device) = app.administrator().await;
        Self { http: app.client().await, token, device }
    }

    async fn items(&mut self) -> Vec<Value> {
        self.http.get_as(&self.token, PATH).await.data()["items"].as_array().unwrap().clone()
    }

    /// Sends a change with a fresh code.
    async fn change(&mut self, method: &str, path: &str, body: &Value) -> Response {
        let code = self.device.next_code();
        self.http.admin_request(&self.token, &code, method, path, body).await
    }

    async fn add(&mut self, body: &Value) -> Value {
        self.change("POST", PATH, body).await.data()
    }
}

fn path_of(client: &Value) -> String {
    format!("{PATH}/{}", client["client_id"].as_str().unwrap())
}

/// The client as a program that has this secret.
fn program(client: &Value, secret: &Value) -> OidcClient {
    OidcClient {
        id: client["client_id"].as_str().unwrap().to_owned(),
        secret: Some(secret.as_str().unwrap().to_owned()),
        redirect_uri: "https://rp.example/callback".to_owned(),
    }
}

/// Whether the client can authenticate.
async fn is_accepted(http: &mut Client, client: &OidcClient) -> bool {
    let answer = client.call(http, "/oidc/introspect", &[("token", "x")]).await;
    assert!(answer.status == 200 || (answer.status, &*oauth_error(&answer)) == (401, "invalid_client"), "{answer:?}");
    answer.status == 200
}

fn rows(app: &TestApp) -> Vec<String> {
    let clients = "event LIKE 'oidc_client_%' OR event = 'oidc_secret_rotated'";
    app.query(&format!("SELECT event, actor_key FROM login_log WHERE {clients} ORDER BY id"))
}

on_every_store! {
    async fn a_client_is_added_changed_disabled_and_removed() {
        let app = desk().await;
        let mut admin = Admin::of(&app).await;
        assert!(admin.items().await.is_empty());
        let body = json!({ "name": "工单", "redirect_uris": ["https://rp.example/callback"], "algorithm": "ES256" });
        let made = admin.add(&body).await;
        let secret = made["client_secret"].clone();
        assert!(secret.as_str().is_some_and(|secret| secret.starts_with("dpe_") && secret.len() == 53), "{made}");
        let expected = json!({
            "client_id": made["client_id"], "client_secret": secret, "name": "工单", "kind": "confidential",
            "redirect_uris": ["https://rp.example/callback"], "post_logout_redirect_uris": [], "backchannel_logout_uri": null,
            "origins": [], "scopes": ["openid", "profile", "email", "groups", "offline_access"], "roles": [],
            "corporations": [], "groups": {}, "department_groups": false, "role_claims": "available", "algorithm": "ES256",
            "pkce": "required", "sso": "ask", "id_token_claims": true, "disabled": false, "from_file": false,
            "created_at": "2027-01-15T08:00:30Z", "created_by": { "corp_id": "wwdeskpass", "employee_id": "admin01" },
            "old_secret_until": null, "pending_logouts": 0, "last_logout_status": null,
        });
        assert_eq!(made, expected);
        let listed = admin.items().await.remove(0);
        assert_eq!(listed.get("client_secret"), None, "it is shown once");
        let (path, client) = (path_of(&made), program(&made, &secret));
        let token = admin.token.clone();
        assert_eq!(admin.http.get_as(&token, &path).await.data(), listed);
        assert!(is_accepted(&mut admin.http, &client).await);
        assert!(!app.query("SELECT registration, secret FROM oidc_client")[0].contains(&secret.as_str().unwrap()[4..]));

        let changed = json!({ "name": "Desk", "redirect_uris": ["https://rp.example/other"], "algorithm": "ES256",
            "groups": { "admin": "boss" }, "roles": ["agent"], "backchannel_logout_uri": "https://rp.example/back" });
        assert_eq!(admin.change("PUT", &path, &changed).await.data(), json!({ "success": true }));
        let listed = admin.items().await.remove(0);
        for (field, value) in changed.as_object().unwrap() {
            assert_eq!(listed[field], *value, "{field}");
        }
        assert!(is_accepted(&mut admin.http, &client).await, "a change keeps the secret");
        admin.change("POST", &format!("{path}/disable"), &json!({})).await.data();
        assert_eq!(admin.items().await[0]["disabled"], true);
        assert!(!is_accepted(&mut admin.http, &client).await);
        admin.change("POST", &format!("{path}/enable"), &json!({})).await.data();
        assert!(is_accepted(&mut admin.http, &client).await);
        assert_eq!(admin.change("DELETE", &path, &json!({})).await.data(), json!({ "success": true }));
        assert!(admin.items().await.is_empty());
        admin.change("DELETE", &path, &json!({})).await.refused(404, 1004);
        assert_eq!(rows(&app), ["added", "changed", "disabled", "enabled", "removed"]
            .map(|what| format!("oidc_client_{what}|admin01")));
    }

    async fn a_secret_is_replaced_without_a_gap() {
        let app = desk().await;
        let mut admin = Admin::of(&app).await;
        let body = json!({ "name": "Desk", "redirect_uris": ["https://rp.example/callback"], "algorithm": "ES256" });
        let made = admin.add(&body).await;
        let path = format!("{}/secret", path_of(&made));
        let first = program(&made, &made["client_secret"]);
        let second = admin.change("POST", &path, &json!({})).await.data();
        assert_eq!(second.as_object().unwrap().len(), 1, "{second}");
        let second = program(&made, &second["client_secret"]);
        assert!(is_accepted(&mut admin.http, &first).await && is_accepted(&mut admin.http, &second).await);
        assert!(admin.items().await[0]["old_secret_until"].is_string());
        app.clock.advance(Duration::from_hours(7 * 24));
        assert!(!is_accepted(&mut admin.http, &first).await && is_accepted(&mut admin.http, &second).await);
        let mut admin = Admin { token: admin.http.sign_in("admin01").await, ..admin };
        assert!(admin.items().await[0]["old_secret_until"].is_null());
        let third = admin.change("POST", &path, &json!({ "now": true })).await.data();
        let third = program(&made, &third["client_secret"]);
        assert!(!is_accepted(&mut admin.http, &second).await && is_accepted(&mut admin.http, &third).await);
        let public = json!({ "name": "Spa", "kind": "public", "redirect_uris": ["https://spa.example/"], "algorithm": "ES256" });
        let public = admin.add(&public).await;
        assert!(public["client_secret"].is_null());
        assert_ne!(admin.change("POST", &format!("{}/secret", path_of(&public)), &json!({})).await.status, 200);
    }

    async fn a_slip_costs_no_code() {
        let app = desk().await;
        let mut admin = Admin::of(&app).await;
        let (token, code) = (admin.token.clone(), admin.device.next_code());
        let with = |field: &str, value: Value| {
            let mut body = json!({ "name": "x", "redirect_uris": ["https://rp.example/"], "algorithm": "ES256" });
            body[field] = value;
            body
        };
        for (field, value) in [
            ("name", json!("")),
            ("name", json!("a\u{202e}b")),
            ("redirect_uris", json!([])),
            ("redirect_uris", json!(["javascript:alert(1)"])),
            ("redirect_uris", json!(["https://rp.example/#x"])),
            ("redirect_uris", json!(["https://user@rp.example/"])),
            ("redirect_uris", json!(vec!["https://rp.example/"; 21])),
            ("post_logout_redirect_uris", json!(["data:text/html,x"])),
            ("backchannel_logout_uri", json!("ftp://rp.example/")),
            ("origins", json!(["https://rp.example"])),
            ("scopes", json!(["profile"])),
            ("scopes", json!(["openid", "admin"])),
            ("roles", json!(["nobody"])),
            ("kind", json!("secret")),
            ("algorithm", json!("HS256")),
            ("algorithm", json!("none")),
            ("sso", json!("always")),
            ("groups", json!({ "agent": "" })),
        ] {
            let answer = admin.http.admin_request(&token, &code, "POST", PATH, &with(field, value.clone())).await;
            let fields = answer.refused(400, 1002).json()["data"]["fields"].clone();
            assert!(fields[field].is_string(), "{field} {value}: {answer:?}");
        }
        let optional = json!({ "name": "x", "kind": "public", "redirect_uris": ["https://rp.example/"], "pkce": "optional" });
        admin.http.admin_request(&token, &code, "POST", PATH, &optional).await.refused(400, 1002);
        let unknown = format!("{PATH}/nobody");
        for (method, path) in [("DELETE", unknown.clone()), ("POST", format!("{unknown}/secret")), ("POST", format!("{unknown}/disable"))] {
            admin.http.admin_request(&token, &code, method, &path, &json!({})).await.refused(404, 1004);
        }
        assert_eq!(app.query("SELECT count(*) FROM oidc_client"), ["0"]);
        assert_eq!(app.query("SELECT count(*) FROM oidc_key"), ["0"]);
        // The code is still good.
        admin.http.admin_request(&token, &code, "POST", PATH, &with("name", json!("y"))).await.data();
    }

    async fn clients_are_for_administrators_of_the_home_corporation() {
        let app = desk().await;
        let client = app.oidc_client(registration()).await;
        let mut http = app.client().await;
        let (abroad, device) = app.partner_administrator().await;
        let code = device.next_code();
        let path = format!("{PATH}/{}", client.id);
        let body = json!({ "name": "mine", "redirect_uris": ["https://evil.example/"], "algorithm": "ES256" });
        for (method, path) in [
            ("GET", PATH.to_owned()),
            ("POST", PATH.to_owned()),
            ("GET", path.clone()),
            ("PUT", path.clone()),
            ("DELETE", path.clone()),
            ("POST", format!("{path}/secret")),
            ("POST", format!("{path}/disable")),
            ("POST", format!("{path}/enable")),
        ] {
            let answer = http.admin_request(&abroad, &code, method, &path, &body).await;
            assert_eq!(answer.refused(403, 1003).reason(), "role_needed", "{method} {path}");
            assert!(!answer.body.contains("Help desk"));
        }
        let agent = http.sign_in("agent01").await;
        assert_eq!(http.get_as(&agent, PATH).await.refused(403, 1003).reason(), "role_needed");
        // Without a code nothing is changed.
        let admin = Admin::of(&app).await;
        assert_eq!(http.post_with_otp(&admin.token, &format!("{path}/disable"), None).await.code(), 1007);
        assert!(is_accepted(&mut http, &client).await);
        assert_eq!(rows(&app), ["oidc_client_added|-"]);
    }
}

on_one_store! {
    /// Clients of the settings file are shown, work, and can be changed there only.
    async fn clients_of_the_settings_file_cannot_be_changed() {
        let secret = "canary-secret-canary-secret-canary-secret";
        let in_file = config::OidcClient {
            id: "wiki".to_owned(),
            registration: registration(),
            secrets: vec![Digest::from_bytes(Sha256::digest(secret.as_bytes()).into())],
        };
        let mut given = development(&[]);
        given.oidc.clients.push(in_file);
        let app = TestApp::with(given).await;
        let client = OidcClient {
            id: "wiki".to_owned(),
            secret: Some(secret.to_owned()),
            redirect_uri: "https://rp.example/callback".to_owned(),
        };
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        assert!(client.is_live(&mut browser.http, &tokens).await);
        let mut admin = Admin::of(&app).await;
        let listed = admin.items().await.remove(0);
        assert_eq!((&listed["client_id"], &listed["from_file"], &listed["created_at"]), (&json!("wiki"), &json!(true), &Value::Null));
        let path = format!("{PATH}/wiki");
        let body = json!({ "name": "mine", "redirect_uris": ["https://evil.example/"], "algorithm": "ES256" });
        for (method, path) in [("PUT", path.clone()), ("DELETE", path.clone()), ("POST", format!("{path}/secret")), ("POST", format!("{path}/disable"))] {
            let answer = admin.change(method, &path, &body).await;
            assert_eq!((answer.code(), answer.reason().as_str()), (1019, "oidc_client_from_file"), "{method} {path}");
        }
        assert!(client.is_live(&mut browser.http, &tokens).await);
    }

    async fn the_list_has_what_could_not_be_delivered() {
        let app = desk().await;
        let receiver = crate::harness::Receiver::start().await;
        receiver.answer_with(crate::harness::LogoutAnswer::Status(500));
        let client = app.oidc_client(registration_at(&receiver)).await;
        let (mut browser, _) = app.oidc_sign_in(&client, "user01").await;
        let session = browser.token.clone().unwrap();
        browser.http.logout(&session).await.data();
        let mut admin = Admin::of(&app).await;
        crate::harness::until("a failed attempt", async || {
            let listed = admin.items().await.remove(0);
            listed["pending_logouts"] == 1 && listed["last_logout_status"] == "refused"
        })
        .await;
    }

    async fn the_list_says_how_far_the_clock_of_a_program_is_off() {
        let app = desk().await;
        let receiver = crate::harness::Receiver::start().await;
        receiver.answer_with(crate::harness::LogoutAnswer::RefuseAt("Fri, 15 Jan 2027 08:03:20 GMT".to_owned()));
        let client = app.oidc_client(registration_at(&receiver)).await;
        let (mut browser, _) = app.oidc_sign_in(&client, "user01").await;
        let session = browser.token.clone().unwrap();
        browser.http.logout(&session).await.data();
        let mut admin = Admin::of(&app).await;
        crate::harness::until("a refusal that tells of the clock", async || {
            let listed = admin.items().await.remove(0);
            let status = listed["last_logout_status"].as_str().unwrap_or_default();
            status.starts_with("refused; its clock is ") && status.ends_with(" s ahead")
        })
        .await;
    }

    async fn a_program_cannot_be_told_where_machines_get_their_secrets() {
        let app = desk().await;
        let mut admin = Admin::of(&app).await;
        for host in ["169.254.169.254", "[fe80::1]", "0.0.0.0", "224.0.0.1", "100.100.100.200", "[::ffff:169.254.0.1]", "[fd00:ec2::23]"] {
            let address = format!("http://{host}/out");
            let body = json!({
                "name": "mine", "redirect_uris": ["https://rp.example/"], "algorithm": "ES256", "backchannel_logout_uri": address,
            });
            let answer = admin.change("POST", PATH, &body).await;
            assert_eq!(answer.status, 400, "{answer:?}");
            assert!(answer.body.contains("backchannel_logout_uri"), "{answer:?}");
        }
    }
}
