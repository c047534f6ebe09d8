//! Requests that are held open while the rights of their sender are revoked: a change does not commit after the revocation did.

mod cluster;

use std::time::Duration;

use deskpass::http::{RequiredAccess, Route, description, routes};
use deskpass_core::Role;
use deskpass_core::oidc::{ClientRegistration, SigningAlgorithm};
use serde_json::{Value, json};

use crate::harness::{Client, Device, PASSWORD, Response, StoreBackend, TestApp, request};

/// Ways in which the rights of a session are revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Revocation {
    Logout,
    LogoutAll,
    SessionEnded,
    Disabled,
    RoleTaken,
    RoleSwitched,
    Expired,
    AddressExcluded,
}

use Revocation::{AddressExcluded, Disabled, Expired, Logout, LogoutAll, RoleSwitched, RoleTaken, SessionEnded};

const REVOCATIONS: [Revocation; 8] =
    [Logout, LogoutAll, SessionEnded, Disabled, RoleTaken, RoleSwitched, Expired, AddressExcluded];

impl Revocation {
    /// The status and the reason of the refusal.
    fn refusal(self) -> (u16, &'static str) {
        match self {
            Logout | LogoutAll => (401, "signed_out"),
            SessionEnded => (401, "kicked"),
            Disabled => (401, "disabled"),
            Expired => (401, "expired"),
            RoleTaken => (403, "role_taken_away"),
            RoleSwitched => (403, "role_needed"),
            AddressExcluded => (403, "address_not_allowed"),
        }
    }

    /// Revokes the rights of an employee's session in this role, at a node.
    async fn revoke(self, app: &TestApp, employee: &str, token: &str, role: Role) {
        app.auth().store.wait_until_caught_up().await;
        let (operator, mut client) = (app.auth().operator(), app.client().await);
        match self {
            Logout => drop(client.logout(token).await.data()),
            LogoutAll => drop(client.post_as(token, "/api/auth/logout-all", &json!({})).await.data()),
            SessionEnded => drop(operator.end_sessions_of(app.key(employee)).await.unwrap()),
            Disabled => drop(operator.disable(app.key(employee)).await.unwrap()),
            RoleTaken => assert!(operator.revoke(app.key(employee), role.name()).await.unwrap()),
            RoleSwitched => drop(client.switch(token, "user").await.data()),
            Expired => app.clock.advance(Duration::from_hours(8)),
            AddressExcluded => {
                assert!(operator.set_ip_rules_of(role, vec!["192.0.2.0/24".parse().unwrap()]).await.unwrap());
            }
        }
    }

    /// Restores the rights; returns once the service has applied the change.
    async fn restore(self, app: &TestApp, employee: &str, role: Role) {
        let operator = app.auth().operator();
        match self {
            Disabled => operator.enable(app.key(employee)).await.unwrap(),
            RoleTaken => assert!(operator.grant(app.key(employee), role.name()).await.unwrap()),
            AddressExcluded => assert!(operator.set_ip_rules_of(role, Vec::new()).await.unwrap()),
            _ => {}
        }
        app.auth().store.wait_until_caught_up().await;
    }
}

/// A request whose head, and maybe a part of its body, was sent to a service that waits for the rest.
struct HeldRequest {
    client: Client,
    rest: Vec<u8>,
}

impl HeldRequest {
    /// Sends the head and `sent` bytes of the body. The service reads the body once it has authorised the head.
    async fn send(
        app: &TestApp,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &Value,
        sent: usize,
    ) -> Self {
        let mut client = app.client().await;
        let body = body.to_string().into_bytes();
        let expecting = [("expect", "100-continue"), ("content-type", "application/json")];
        let headers: Vec<_> = headers.iter().copied().chain(expecting).collect();
        let whole = request(method, path, &headers, &body);
        let head = whole.len() - body.len();
        client.start(&whole[..head]).await;
        let asked = client.read_until("\r\n\r\n").await;
        assert!(asked.starts_with("HTTP/1.1 100 "), "{method} {path}: {asked}");
        client.start(&body[..sent]).await;
        Self { client, rest: body[sent..].to_vec() }
    }

    /// Sends the rest.
    async fn finish(mut self) -> Response {
        self.client.start(&self.rest).await;
        self.client.read().await.expect("an answer")
    }
}

/// Everything that a request could have changed.
fn state(app: &TestApp) -> Vec<String> {
    let tables = [
        "employee_key, name, disabled_at, left_at, unconfirmed_at, holder FROM employee",
        "employee_key, role_id FROM user_role",
        "employee_key, role_id, disabled_at, password_hash, otp_secret, otp_pending, otp_proven, otp_step, setup_code FROM agent",
        "employee_key, digest FROM recovery_code",
        "digest, role_id FROM session",
        "digest FROM half_session",
        "corp_id, user_id, target_key FROM link",
        "role_id, network FROM ip_rule",
        "id, name, revoked_at FROM service_key",
        "sign_in FROM disowned",
        "id, registration, secret, disabled_at FROM oidc_client",
    ];
    let mut rows: Vec<_> = tables.iter().flat_map(|text| app.query(&format!("SELECT {text}"))).collect();
    rows.sort();
    rows
}

/// A body with all fields of the administrative routes.
fn everything() -> Value {
    json!({
        "corp_id": "wwpartner", "user_id": "partner01", "employee_id": "user01", "roles": ["admin"], "role": "agent", "disabled": true,
        "name": "a key", "scopes": ["introspect"], "digest": "0123456789abcdef",
        "admin": ["127.0.0.1"], "agent": ["192.0.2.1"], "user": [], "supervisor": [], "security": [],
    })
}

/// The fields that one route reads.
fn asked_by(route: &Route) -> Value {
    match route.path {
        // The corporation is that of the caller.
        "/api/admin/roles/user-roles" => json!({ "employee_id": "user01", "roles": ["admin"] }),
        "/api/admin/roles/temporary" => {
            json!({ "employee_id": "user01", "role": "agent", "minutes": 30, "reason": "on call" })
        }
        "/api/admin/role-rules" => json!({ "rules": [] }),
        path if path.starts_with("/api/admin/oidc-clients") => {
            json!({ "name": "Wiki", "redirect_uris": ["https://wiki.example/"], "algorithm": "ES256" })
        }
        _ => everything(),
    }
}

/// Whether a request can be held open once its head is authorised: it changes something, and reads a body, as the description of
/// the API says.
fn can_be_held(route: &Route, description: &Value) -> bool {
    if route.access != RequiredAccess::HighRisk {
        // The description has no routes of protocols, such as those of OpenID Connect.
        return false;
    }
    let operation = &description["paths"][route.path][route.method.as_str().to_lowercase()];
    assert!(operation.is_object(), "{route:?}");
    operation["requestBody"].is_object()
}

/// Another node, where there are several.
async fn elsewhere(app: &TestApp) -> Option<TestApp> {
    match StoreBackend::current() {
        StoreBackend::ScaledOut => Some(app.second_node().await),
        StoreBackend::Embedded => None,
    }
}

/// Holds a request open at a service while the rights of its sender are revoked, at another node where there is one.
async fn hold_and_revoke(
    (app, other): (&TestApp, &TestApp),
    route: &Route,
    device: &Device,
    revocation: Revocation,
    sent: usize,
) {
    let token = app.client().await.sign_in("admin01").await;
    let (bearer, code) = (format!("Bearer {token}"), device.next_code());
    let path = route.path.replace("{corp_id}", "wwdeskpass").replace("{employee_id}", "user01");
    let client = app.query("SELECT id FROM oidc_client").first().cloned().unwrap_or_default();
    let path = path.replace("{id}", &client);
    let headers = [("authorization", &*bearer), ("x-otp-code", &*code)];
    let held = HeldRequest::send(app, (route.method.as_str(), &path), &headers, &asked_by(route), sent).await;
    revocation.revoke(other, "admin01", &token, Role::Admin).await;
    let before = state(app);
    let answer = held.finish().await;
    let shown = (answer.status, answer.reason());
    let (status, reason) = revocation.refusal();
    assert_eq!(shown, (status, reason.to_owned()), "{route:?} after {revocation:?}: {answer:?}");
    assert_eq!(state(app), before, "{route:?} after {revocation:?}");
    revocation.restore(app, "admin01", Role::Admin).await;
}

on_every_store! {
    async fn no_administrative_request_outlives_its_senders_rights(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        let second = elsewhere(&app).await;
        let other = second.as_ref().unwrap_or(&app);
        let registration = ClientRegistration {
            name: "Desk".to_owned(),
            redirect_uris: vec!["https://rp.example/".to_owned()],
            algorithm: SigningAlgorithm::Es256,
            ..ClientRegistration::default()
        };
        app.auth().operator().add_oidc_client(registration).await.unwrap();
        let (table, description) = (routes(), serde_json::from_str(description()).unwrap());
        let held: Vec<_> = table.iter().filter(|route| can_be_held(route, &description)).collect();
        assert!(held.len() >= 6, "{held:?}");
        for (number, route) in held.into_iter().enumerate() {
            for (at, revocation) in REVOCATIONS.into_iter().enumerate() {
                let sent = if (number + at) % 2 == 0 { 0 } else { 9 };
                hold_and_revoke((&app, other), route, &device, revocation, sent).await;
            }
        }
        let shown = app.query("SELECT COUNT(*) FROM login_log WHERE event LIKE '%_refused' AND reason = 'signed_out'");
        assert_ne!(shown, ["0"], "the refusal is logged");
        // The same request succeeds where nothing was revoked.
        let token = client.sign_in("admin01").await;
        let (bearer, code) = (format!("Bearer {token}"), device.next_code());
        let (put, body) = (("PUT", "/api/admin/roles/user-roles"), json!({ "employee_id": "user01", "roles": ["agent"] }));
        let held = HeldRequest::send(&app, put, &[("authorization", &bearer), ("x-otp-code", &code)], &body, 5).await;
        held.finish().await.data();
    }

    async fn no_request_about_the_own_account_outlives_its_session(app) {
        let device = app.agent_with_device("agent01").await;
        let other = elsewhere(&app).await;
        let other = other.as_ref().unwrap_or(&app);
        let another = "seven clouds over a quiet harbour";
        let asks: [(&str, &[Revocation]); 5] = [
            ("/api/agents/password", &[Logout, SessionEnded, Disabled, RoleTaken, Expired, AddressExcluded]),
            ("/api/auth/otp-verify", &[LogoutAll, Disabled, AddressExcluded]),
            ("/api/auth/otp-unbind", &[Logout, SessionEnded, Expired, AddressExcluded]),
            ("/api/auth/logout-all", &[SessionEnded, Expired]),
            ("/api/auth/switch-role", &[Logout, Disabled]),
        ];
        for (path, revocations) in asks {
            for revocation in revocations {
                let token = app.client().await.sign_in("agent01").await;
                let _another = app.client().await.sign_in("agent01").await;
                let body = json!({
                    "old_password": PASSWORD, "new_password": another, "code": device.next_code(), "role": "user",
                    "except_current": true
                });
                let bearer = format!("Bearer {token}");
                let held = HeldRequest::send(&app, ("POST", path), &[("authorization", &bearer)], &body, 3).await;
                revocation.revoke(other, "agent01", &token, Role::Agent).await;
                let before = state(&app);
                let answer = held.finish().await;
                let (status, reason) = revocation.refusal();
                let shown = (answer.status, answer.reason());
                assert_eq!(shown, (status, reason.to_owned()), "{path} after {revocation:?}: {answer:?}");
                assert_eq!(state(&app), before, "{path} after {revocation:?}");
                revocation.restore(&app, "agent01", Role::Agent).await;
            }
        }
    }

    async fn a_session_that_is_over_learns_nothing_of_the_password(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let token = client.sign_in("agent01").await;
        let (bearer, post) = (format!("Bearer {token}"), ("POST", "/api/agents/password"));
        let body = json!({ "old_password": "a guess", "new_password": "seven clouds over a quiet harbour" });
        let held = HeldRequest::send(&app, post, &[("authorization", &bearer)], &body, 3).await;
        client.logout(&token).await.data();
        assert_eq!(held.finish().await.refused(401, 1001).reason(), "signed_out");
        assert_eq!(app.query("SELECT count(*) FROM guess"), ["0"]);
    }

    async fn no_role_is_switched_to_that_was_taken_away_meanwhile(app) {
        let other = elsewhere(&app).await;
        let other = other.as_ref().unwrap_or(&app);
        let token = app.client().await.sign_in("agent01").await;
        let bearer = format!("Bearer {token}");
        let (post, body) = (("POST", "/api/auth/switch-role"), json!({ "role": "user" }));
        let held = HeldRequest::send(&app, post, &[("authorization", &bearer)], &body, 3).await;
        RoleTaken.revoke(other, "agent01", &token, Role::User).await;
        let before = state(&app);
        assert_eq!(held.finish().await.refused(403, 1003).reason(), "role_not_held");
        assert_eq!(state(&app), before);
        RoleTaken.restore(&app, "agent01", Role::User).await;
        app.client().await.switch(&token, "user").await.data();
    }

    async fn no_device_is_bound_for_a_session_or_partial_session_that_has_ended(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        for with_password in [false, true] {
            let token = if with_password { client.partial_sign_in("agent01").await } else { client.sign_in("agent01").await };
            let setup = client.post_as(&token, "/api/auth/otp-setup", &json!({})).await.data();
            let body = json!({ "code": Device::scan(&setup, &app.clock).code() });
            let bearer = format!("Bearer {token}");
            let held = HeldRequest::send(&app, ("POST", "/api/auth/otp-bind"), &[("authorization", &bearer)], &body, 1).await;
            client.logout(&token).await.data();
            let before = state(&app);
            assert_eq!(held.finish().await.refused(401, 1001).reason(), "signed_out");
            assert_eq!(state(&app), before);
        }
    }

    async fn no_answer_outlives_the_session_it_is_given_in(app) {
        let mut client = app.client().await;
        let wish = json!({ "resource": "account", "operation": "read", "scope": "all" });
        for (path, body) in [("/api/auth/check", wish), ("/api/admin/ip-rules/dry-run", everything())] {
            let token = client.sign_in("admin01").await;
            let bearer = format!("Bearer {token}");
            let held = HeldRequest::send(&app, ("POST", path), &[("authorization", &bearer)], &body, 4).await;
            client.logout(&token).await.data();
            assert_eq!(held.finish().await.refused(401, 1001).reason(), "signed_out");
        }
    }

    async fn no_service_outlives_its_key(app) {
        let operator = app.auth().operator();
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let message = json!({ "to": { "employee_id": "user01" }, "msg_type": "byod_card", "content": {} });
        for (path, body) in [("/api/auth/introspect", json!({ "token": token })), ("/api/messages", message)] {
            let scopes = deskpass_core::ServiceScope::ALL.into_iter().collect();
            let name = deskpass_core::ServiceKeyName::parse("service").unwrap();
            let made = operator.create_service_key(&name, scopes, Duration::from_hours(1)).await.unwrap();
            let bearer = format!("Bearer {}", made.value.expose());
            let held = HeldRequest::send(&app, ("POST", path), &[("authorization", &bearer)], &body, 4).await;
            assert!(operator.revoke_service_key(made.kept.id).await.unwrap());
            held.finish().await.refused(401, 1001);
        }
    }
}
