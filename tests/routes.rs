//! Walks the route table: each route behaves as its entry says.

use std::time::Duration;

use deskpass::http::{RequiredAccess, Route, routes};
use deskpass_core::Role;
use serde_json::json;

use crate::envelope::assert_shape;
use crate::harness::{Client, Response, TestApp, request};

fn ask(route: &Route, headers: &[(&str, &str)]) -> Vec<u8> {
    let json = ("content-type", "application/json");
    request(route.method.as_str(), route.path, &[headers, &[json]].concat(), b"{}")
}

/// The callers of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    /// Sends no token.
    Anonymous,
    /// Sends a token that never was one.
    Stranger,
    /// Has only given a password so far.
    Partial,
    /// Is signed in in this role, and as an administrator has a device.
    Role(Role),
    /// Sends a service key for every purpose.
    Service,
}

impl Caller {
    fn all() -> impl Iterator<Item = Self> {
        [Self::Anonymous, Self::Stranger, Self::Partial, Self::Service].into_iter().chain(Role::ALL.map(Self::Role))
    }

    /// A new token of this caller.
    async fn token(self, app: &TestApp, client: &mut Client, service_key: &str) -> Option<String> {
        match self {
            Self::Anonymous => None,
            Self::Stranger => Some("not-a-token".to_owned()),
            Self::Partial => {
                app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap();
                Some(client.partial_sign_in("agent01").await)
            }
            Self::Role(role) => {
                let body = json!({ "employee_id": format!("{}01", role.name()), "role": role.name() });
                Some(client.post("/api/dev/login", &[], &body).await.data()["token"].as_str().unwrap().to_owned())
            }
            Self::Service => Some(service_key.to_owned()),
        }
    }
}

/// The refusal that a route gives this caller by its declared access: status, code and reason. `None` where it admits the caller.
fn refusal(route: &Route, caller: Caller) -> Option<(u16, u64, &'static str)> {
    // A supervisor reads a department, and these figures are of all employees.
    if route.path == "/api/admin/statistics" && caller == Caller::Role(Role::Supervisor) {
        return Some((403, 1003, "role_needed"));
    }
    match (route.access, caller) {
        (RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator, _)
        | (RequiredAccess::Service(_), Caller::Service)
        | (RequiredAccess::PartialOrFull, Caller::Partial | Caller::Role(_))
        | (RequiredAccess::TokenHolder | RequiredAccess::ActiveUser, Caller::Role(_))
        | (RequiredAccess::Reader, Caller::Role(Role::Admin | Role::Supervisor | Role::Security))
        | (RequiredAccess::Admin, Caller::Role(Role::Admin)) => None,
        (RequiredAccess::HighRisk, Caller::Role(Role::Admin)) => Some((403, 1007, "otp_needed")),
        (_, Caller::Anonymous) => Some((401, 1001, "missing")),
        (RequiredAccess::Service(_), _) | (_, Caller::Stranger | Caller::Service) => Some((401, 1001, "malformed")),
        (_, Caller::Partial) => Some((401, 1001, "half_authenticated")),
        (_, Caller::Role(_)) => Some((403, 1003, "role_needed")),
    }
}

/// The answers to an admitted caller who sends no body, where they are not 200: the caller with the least that the route
/// requires, and for a session an administrator.
const WITHOUT_A_BODY: &[(&str, u16, u64)] = &[
    ("GET /api/auth/qrcode/open", 303, 0),
    ("GET /api/auth/scan/status", 400, 1002),
    ("GET /api/auth/scan/events", 400, 1002),
    ("POST /api/auth/scan/request", 415, 1002),
    ("POST /api/auth/scan/confirm", 415, 1002),
    ("POST /api/auth/scan/cancel", 415, 1002),
    ("POST /api/auth/scan/outcome", 415, 1002),
    ("GET /api/auth/oauth2/url", 400, 1002),
    ("GET /api/auth/oauth2/script", 404, 1004),
    ("GET /api/auth/oauth2/callback", 303, 0),
    ("POST /api/auth/oauth2/pending", 415, 1002),
    ("POST /api/auth/oauth2/continue", 415, 1002),
    ("POST /api/auth/bind", 415, 1002),
    ("POST /api/auth/oidc/request", 415, 1002),
    ("POST /api/auth/oidc/continue", 415, 1002),
    ("POST /api/auth/oidc/deny", 415, 1002),
    ("POST /api/auth/oidc/logout", 415, 1002),
    ("POST /api/auth/verify", 415, 1002),
    ("POST /api/auth/switch-role", 415, 1002),
    ("DELETE /api/auth/sessions/{id}", 400, 1002),
    ("POST /api/auth/sign-ins/{id}/not-me", 400, 1002),
    ("POST /api/auth/check", 415, 1002),
    ("POST /api/auth/introspect", 415, 1002),
    ("POST /api/agents/login", 415, 1002),
    ("POST /api/agents/password", 415, 1002),
    ("POST /api/agents/password/setup", 415, 1002),
    ("POST /api/auth/otp-setup", 409, 1010),
    ("POST /api/auth/otp-bind", 415, 1002),
    ("POST /api/auth/otp-verify", 415, 1002),
    ("POST /api/auth/otp-unbind", 415, 1002),
    ("POST /api/auth/approvals", 415, 1002),
    ("POST /api/auth/approvals/question", 415, 1002),
    ("POST /api/auth/approvals/answer", 415, 1002),
    ("POST /api/verifications", 415, 1002),
    ("POST /api/verifications/question", 415, 1002),
    ("POST /api/verifications/answer", 415, 1002),
    ("POST /api/admin/ip-rules/dry-run", 415, 1002),
    ("POST /api/admin/role-rules/dry-run", 415, 1002),
    ("GET /api/admin/employees/{corp_id}/{employee_id}", 400, 1002),
    ("GET /api/admin/oidc-clients/{id}", 400, 1002),
    ("GET /api/ws/employee", 426, 1002),
    ("GET /api/ws/agent", 426, 1002),
    ("POST /api/messages", 415, 1002),
    // Nothing signed them.
    ("GET /api/platform/events", 403, 1003),
    ("POST /api/platform/events", 403, 1003),
    ("POST /api/messages/reply", 415, 1002),
    ("POST /api/dev/login", 415, 1002),
    // Without a registered client there is no OpenID Connect provider.
    ("GET /.well-known/openid-configuration", 404, 0),
    ("GET /.well-known/oauth-authorization-server", 404, 0),
    ("GET /oidc/jwks", 404, 0),
    ("GET /oidc/authorize", 404, 0),
    ("POST /oidc/authorize", 404, 0),
    ("POST /oidc/token", 404, 0),
    ("OPTIONS /oidc/token", 404, 0),
    ("GET /oidc/userinfo", 404, 0),
    ("POST /oidc/userinfo", 404, 0),
    ("OPTIONS /oidc/userinfo", 404, 0),
    ("POST /oidc/revoke", 404, 0),
    ("OPTIONS /oidc/revoke", 404, 0),
    ("POST /oidc/introspect", 404, 0),
    ("GET /oidc/logout", 404, 0),
    ("POST /oidc/logout", 404, 0),
    ("GET /WW_verify_{file}", 404, 0),
    ("GET /assets/{file}", 404, 0),
    ("GET /assets/{version}/{file}", 404, 0),
    ("GET /app", 404, 0),
    ("GET /app/", 404, 0),
    ("GET /app/{*path}", 404, 0),
    ("GET /h5", 308, 0),
    ("GET /itagent", 308, 0),
    ("GET /itadmin", 308, 0),
    // The platform of this test has no script.
    ("GET /open/", 404, 0),
    ("POST /sim", 405, 0),
    ("PUT /sim", 405, 0),
    ("DELETE /sim", 405, 0),
    ("POST /sim/", 405, 0),
    ("PUT /sim/", 405, 0),
    ("DELETE /sim/", 405, 0),
    ("GET /sim/{*rest}", 404, 0),
    ("POST /sim/{*rest}", 404, 0),
    ("PUT /sim/{*rest}", 404, 0),
    ("DELETE /sim/{*rest}", 404, 0),
];

/// The answer to an admitted caller who sends no body: status and code.
fn without_a_body(route: &Route) -> (u16, u64) {
    let row = format!("{} {}", route.method, route.path);
    WITHOUT_A_BODY.iter().find(|(listed, ..)| *listed == row).map_or((200, 0), |(_, status, code)| (*status, *code))
}

/// Returns what is wrong with an answer, if anything.
fn fault(route: &Route, caller: Caller, answer: &Response) -> Option<String> {
    let json = answer.header("content-type") == Some("application/json");
    let told = if json && route.path.starts_with("/api") && route.path != "/api/openapi.json" {
        (answer.status, answer.code(), answer.reason())
    } else {
        (answer.status, 0, String::new())
    };
    let least = match route.access {
        RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator => Caller::Anonymous,
        RequiredAccess::Service(_) => Caller::Service,
        _ => Caller::Role(Role::Admin),
    };
    let right = match refusal(route, caller) {
        Some((status, code, reason)) => told == (status, code, reason.to_owned()),
        None if caller == least => (told.0, told.1) == without_a_body(route),
        None => told.0 != 401 && told.0 != 500 && told.2 != "role_needed",
    };
    (!right).then(|| format!("{caller:?} {} {}: {told:?}", route.method, route.path))
}

on_one_store! {
    /// Every route with every kind of caller, without a body.
    async fn every_route_answers_every_caller_as_its_access_says(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        app.administrator().await;
        let (service_key, _) = app.service_key("introspect messages").await;
        let mut faults = Vec::new();
        for caller in Caller::all() {
            let mut token = caller.token(&app, &mut client, &service_key).await;
            for route in routes() {
                let bearer = token.as_ref().map(|token| format!("Bearer {token}"));
                let headers: Vec<_> = bearer.iter().map(|bearer| ("authorization", &**bearer)).collect();
                // Refusals are rate-limited by the minute.
                app.clock.advance(Duration::from_secs(1));
                let answer = app.client().await.send(&request(route.method.as_str(), route.path, &headers, b"")).await;
                faults.extend(fault(&route, caller, &answer));
                let whole = matches!(caller, Caller::Role(_));
                assert!(whole || !client.is_valid(token.as_deref().unwrap_or_default()).await, "{caller:?} {route:?}");
                // Some routes end it.
                if matches!(route.access, RequiredAccess::PartialOrFull | RequiredAccess::TokenHolder) {
                    token = caller.token(&app, &mut client, &service_key).await;
                }
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        let rows: Vec<_> = routes().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
        let unknown: Vec<_> = WITHOUT_A_BODY.iter().filter(|(row, ..)| !rows.iter().any(|known| known == row)).collect();
        assert!(unknown.is_empty(), "no such routes: {unknown:?}");
    }
}

on_every_store! {
    async fn with_the_active_role_taken_away_only_holders_routes_answer(app) {
        let mut client = app.client().await;
        for route in routes() {
            app.auth().operator().grant(app.key("agent01"), "agent").await.unwrap();
            let bearer = format!("Bearer {}", client.sign_in("agent01").await);
            app.auth().operator().revoke(app.key("agent01"), "agent").await.unwrap();
            app.clock.advance(Duration::from_secs(1));
            let answer = app.client().await.send(&ask(&route, &[("authorization", &bearer)])).await;
            let suspended = answer.status == 403 && answer.body.contains("\"role_taken_away\"");
            let callers = matches!(route.access, RequiredAccess::ActiveUser | RequiredAccess::Reader | RequiredAccess::Admin | RequiredAccess::HighRisk);
            assert_eq!(suspended, callers, "{route:?} {answer:?}");
            assert!(!callers || answer.code() == 1003, "{route:?} {answer:?}");
        }
    }
}

on_one_store! {
    /// The routes that a client with only a password can reach.
    async fn a_partial_session_is_only_completed_or_left() {
        let open: Vec<_> = routes().into_iter().filter(|route| route.access == RequiredAccess::PartialOrFull).map(|route| route.path).collect();
        let expected = ["logout", "otp-status", "otp-setup", "otp-bind", "otp-verify", "otp-unbind"];
        assert_eq!(open, expected.map(|path| format!("/api/auth/{path}")));
    }

    async fn in_production_developers_routes_do_not_answer_and_operators_need_their_network() {
        let app = TestApp::production().await;
        let mut client = app.client().await;
        for route in routes() {
            let answer = client.send(&ask(&route, &[("x-forwarded-for", "203.0.113.5")])).await;
            match route.access {
                RequiredAccess::Developer => drop(answer.refused(403, 1018)),
                RequiredAccess::Operator => drop(answer.refused(403, 1003)),
                _ => match refusal(&route, Caller::Anonymous) {
                    Some((status, code, reason)) => assert_eq!(answer.refused(status, code).reason(), reason, "{route:?}"),
                    None => assert!(answer.status < 500 && answer.status != 401, "{route:?} {answer:?}"),
                },
            }
        }
    }

    async fn every_route_below_api_answers_in_the_envelope_whatever_the_method(app) {
        let mut client = app.client().await;
        for route in routes().into_iter().filter(|route| route.path.starts_with("/api")) {
            for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
                let answer = client.send(&request(method, route.path, &[], b"")).await;
                // Browsers call these, and are redirected.
                match (route.path, method) {
                    ("/api/auth/oauth2/callback" | "/api/auth/qrcode/open", "GET") => assert_eq!(answer.status, 303),
                    // The description of the envelope has no envelope itself.
                    ("/api/openapi.json" | "/api/docs", "GET") => assert_eq!(answer.status, 200),
                    _ => assert_shape(&answer),
                }
            }
        }
    }

    /// HEAD and the prefetch of a browser have no side effects.
    async fn what_leaves_traces_is_not_asked_in_passing() {
        let traces: Vec<_> = routes().into_iter().filter(|route| route.has_side_effects).map(|route| route.path).collect();
        let expected = ["auth/qrcode", "auth/qrcode/open", "auth/scan/status", "auth/scan/events", "auth/oauth2/url"];
        let expected = expected.into_iter().chain(["auth/oauth2/callback", "ws/employee", "ws/agent"]).map(|path| format!("/api/{path}"));
        let expected = expected.chain(["/oidc/authorize", "/oidc/logout"].map(str::to_owned));
        assert_eq!(traces, expected.collect::<Vec<_>>());
        let app = TestApp::start().await;
        for path in traces {
            let mut client = app.client().await;
            client.start(&request("HEAD", path, &[], b"")).await;
            assert!(client.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 405"), "{path}");
            let refused = app.client().await.get(path, &[("sec-purpose", "prefetch")]).await;
            if path.starts_with("/api") {
                refused.refused(400, 1002);
            } else {
                assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("invalid_request")), "{path}");
            }
        }
    }
}

#[test]
fn the_table_has_no_row_twice() {
    let rows: Vec<_> = routes().iter().map(|route| (route.method.clone(), route.path)).collect();
    let unique: std::collections::HashSet<_> = rows.iter().cloned().collect();
    assert_eq!(rows.len(), unique.len());
}
