//! Walks the route table: each route behaves as its entry says.

use deskpass::http::{RequiredAccess, Route, routes};

use crate::envelope::assert_shape;
use crate::harness::{TestApp, request};

fn ask(route: &Route, headers: &[(&str, &str)]) -> Vec<u8> {
    let json = ("content-type", "application/json");
    request(route.method.as_str(), route.path, &[headers, &[json]].concat(), b"{}")
}

on_every_store! {
    async fn without_a_token_only_open_routes_answer(app) {
        let mut client = app.client().await;
        for route in routes() {
            let answer = client.send(&ask(&route, &[])).await;
            match route.access {
                RequiredAccess::PartialOrFull | RequiredAccess::TokenHolder | RequiredAccess::ActiveUser | RequiredAccess::Reader | RequiredAccess::Admin | RequiredAccess::HighRisk | RequiredAccess::Service => {
                    assert_eq!(answer.refused(401, 1001).reason(), "missing");
                }
                RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator => assert_ne!(answer.status, 401, "{route:?}"),
            }
        }
    }

    async fn with_the_active_role_taken_away_only_holders_routes_answer() {
        let with_token = |route: &Route| matches!(route.access, RequiredAccess::PartialOrFull | RequiredAccess::TokenHolder | RequiredAccess::ActiveUser | RequiredAccess::Reader | RequiredAccess::Admin | RequiredAccess::HighRisk);
        for route in routes().into_iter().filter(with_token) {
            let app = TestApp::start().await;
            let mut client = app.client().await;
            let bearer = format!("Bearer {}", client.sign_in("agent01").await);
            app.auth().operator().revoke(app.key("agent01"), "agent").await.unwrap();
            let answer = client.send(&ask(&route, &[("authorization", &bearer)])).await;
            let suspended = answer.code() == 1003 && answer.reason() == "role_taken_away";
            let callers = matches!(route.access, RequiredAccess::ActiveUser | RequiredAccess::Reader | RequiredAccess::Admin | RequiredAccess::HighRisk);
            assert_eq!(suspended, callers, "{route:?} {answer:?}");
        }
    }

    /// The routes that a client with only a password can reach.
    async fn with_a_partial_session_only_completing_and_leaving_it_answer(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        for route in routes() {
            let half = client.partial_sign_in("agent01").await;
            app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap();
            let answer = client.send(&ask(&route, &[("authorization", &format!("Bearer {half}"))])).await;
            match route.access {
                RequiredAccess::PartialOrFull => assert_ne!(answer.code(), 1001, "{route:?} {answer:?}"),
                RequiredAccess::TokenHolder | RequiredAccess::ActiveUser | RequiredAccess::Reader | RequiredAccess::Admin | RequiredAccess::HighRisk => {
                    assert_eq!(answer.refused(401, 1001).reason(), "half_authenticated", "{route:?}");
                }
                RequiredAccess::Service => assert_eq!(answer.refused(401, 1001).reason(), "malformed", "{route:?}"),
                // A token makes no difference where none is required.
                RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator => assert_ne!(answer.status, 401, "{route:?}"),
            }
            assert!(!client.is_valid(&half).await, "{route:?}");
        }
        let open: Vec<_> = routes().into_iter().filter(|route| route.access == RequiredAccess::PartialOrFull).map(|route| route.path).collect();
        let expected = ["logout", "otp-status", "otp-setup", "otp-bind", "otp-verify", "otp-unbind"];
        assert_eq!(open, expected.map(|path| format!("/api/auth/{path}")));
    }

    async fn only_high_risk_routes_ask_for_a_fresh_code(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        client.bind_device(&token, &app.clock).await;
        for route in routes() {
            let (admin, agent) = (client.sign_in("admin01").await, client.sign_in("agent01").await);
            let asked = client.send(&ask(&route, &[("authorization", &format!("Bearer {admin}"))])).await;
            let refused = client.send(&ask(&route, &[("authorization", &format!("Bearer {agent}"))])).await;
            let (high_risk, readers) = (route.access == RequiredAccess::HighRisk, matches!(route.access, RequiredAccess::Reader | RequiredAccess::Admin));
            assert_eq!(asked.body.contains("\"code\":1007"), high_risk, "{route:?} {asked:?}");
            assert_eq!(refused.body.contains("role_needed"), high_risk || readers, "{route:?} {refused:?}");
        }
    }

    async fn in_production_developers_routes_do_not_answer_and_operators_need_their_network() {
        let app = TestApp::production().await;
        let mut client = app.client().await;
        for route in routes() {
            let answer = client.send(&ask(&route, &[("x-forwarded-for", "203.0.113.5")])).await;
            match route.access {
                RequiredAccess::Developer => drop(answer.refused(403, 1018)),
                RequiredAccess::Operator => drop(answer.refused(403, 1003)),
                _ => {
                    assert_ne!(answer.status, 500, "{route:?}");
                }
            }
        }
    }

    async fn every_route_below_api_answers_in_the_envelope_whatever_the_method(app) {
        let mut client = app.client().await;
        for route in routes().into_iter().filter(|route| route.path.starts_with("/api")) {
            for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
                let answer = client.send(&request(method, route.path, &[], b"")).await;
                // Browsers call the callback, and are redirected.
                match (route.path, method) {
                    ("/api/auth/oauth2/callback", "GET") => assert_eq!(answer.status, 303),
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
        let expected = ["auth/qrcode", "auth/scan/status", "auth/scan/events", "auth/oauth2/url", "auth/oauth2/callback"];
        let expected = expected.into_iter().chain(["ws/employee", "ws/agent"]).map(|path| format!("/api/{path}"));
        assert_eq!(traces, expected.collect::<Vec<_>>());
        let app = TestApp::start().await;
        for path in traces {
            let mut client = app.client().await;
            client.start(&request("HEAD", path, &[], b"")).await;
            assert!(client.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 405"), "{path}");
            app.client().await.get(path, &[("sec-purpose", "prefetch")]).await.refused(400, 1002);
        }
    }
}

#[test]
fn the_table_has_no_row_twice() {
    let rows: Vec<_> = routes().iter().map(|route| (route.method.clone(), route.path)).collect();
    let unique: std::collections::HashSet<_> = rows.iter().cloned().collect();
    assert_eq!(rows.len(), unique.len());
}
