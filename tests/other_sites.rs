//! Pages of other sites: browsers report their requests, which are refused before they count.

use deskpass::http::{RateLimit, Route, routes};

use crate::harness::{Client, PRODUCTION, Response, TestApp, request, settings};

/// The routes that links and redirects of other sites lead to.
const LEAD: [&str; 6] = [
    "/api/auth/oauth2/callback",
    "/api/auth/qrcode/open",
    "/api/docs",
    "/api/openapi.json",
    "/oidc/authorize",
    "/oidc/logout",
];

/// The routes that pages of other sites may call, or that proxies call with the headers of such a page.
const CALL: [&str; 9] = [
    "/api/auth/forward",
    "/api/ready",
    "/api/version",
    "/api/ws/agent",
    "/api/ws/employee",
    "/oidc/jwks",
    "/oidc/revoke",
    "/oidc/token",
    "/oidc/userinfo",
];

/// The limits, each with a key of its own.
const LIMITS: [&str; 12] = [
    "limits.qrcode",
    "limits.oauth_url",
    "limits.sign_in",
    "limits.scan_status",
    "limits.bind",
    "limits.agents_login",
    "limits.otp",
    "limits.replies",
    "limits.oidc",
    "limits.questions",
    "limits.events",
    "limits.verify",
];

/// The interfaces: all routes but pages, health checks and discovery.
fn interfaces() -> Vec<Route> {
    let all = routes().into_iter();
    all.filter(|route| route.path.starts_with("/api/") || route.path.starts_with("/oidc/")).collect()
}

/// What a browser reports of a page of another site: the mode and the destination of its request.
fn of_page<'a>(mode: &'a str, destination: &'a str) -> [(&'static str, &'a str); 3] {
    [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", mode), ("sec-fetch-dest", destination)]
}

async fn ask(client: &mut Client, route: &Route, headers: &[(&str, &str)]) -> Response {
    let json = ("content-type", "application/json");
    client.send(&request(route.method.as_str(), route.path, &[headers, &[json]].concat(), b"{}")).await
}

/// Whether it is refused because a page of another site sent it; below /oidc in the form of OAuth.
fn is_refused(answer: &Response) -> bool {
    answer.status == 403 && answer.body.contains("pages of other sites may not call this")
}

on_one_store! {
    async fn send_nothing_but_visitors_to_the_addresses_for_people() {
        let app = TestApp::start().await;
        for route in interfaces() {
            for (mode, destination, leads) in [
                ("no-cors", "image", false),
                ("cors", "empty", false),
                ("navigate", "document", true),
            ] {
                let mut client = app.client().await;
                let answer = ask(&mut client, &route, &of_page(mode, destination)).await;
                let may = CALL.contains(&route.path) || leads && LEAD.contains(&route.path);
                assert_eq!(!is_refused(&answer), may, "{route:?} {mode}: {answer:?}");
                if !may && route.path.starts_with("/api/") {
                    assert_eq!(answer.refused(403, 1003).reason(), "foreign_origin");
                }
            }
        }
        // A frame of such a page is no visit either.
        for path in ["/api/auth/oauth2/callback?code=x", "/api/auth/qrcode/open"] {
            let framed = app.client().await.get(path, &of_page("navigate", "iframe")).await;
            assert!(is_refused(&framed), "{framed:?}");
        }
    }

    async fn use_up_no_limit() {
        let once = LIMITS.map(|limit| (limit, "1/min"));
        let given = [&PRODUCTION[..], &[("server.settle", "0s"), ("limits.enabled", "true")], &once].concat();
        let app = TestApp::with(settings(&given)).await;
        let limited = interfaces().into_iter().filter(|route| route.limit != RateLimit::Unlimited);
        for (number, route) in limited.enumerate() {
            // Everybody in an office has the same address.
            let office = format!("198.51.100.{number}");
            let office = ("x-forwarded-for", &*office);
            let mut client = app.client().await;
            for (mode, destination) in [("no-cors", "image"), ("cors", "empty"), ("no-cors", "image")] {
                let headers = [&of_page(mode, destination)[..], &[office]].concat();
                assert!(is_refused(&ask(&mut client, &route, &headers).await), "{route:?}");
            }
            let own = ask(&mut client, &route, &[office]).await;
            assert_ne!(own.status, 429, "{route:?}: {own:?}");
        }
        // Nor what the network of the office may claim of the platform's codes: two a minute here.
        let mut client = app.client().await;
        let office = ("x-forwarded-for", "203.0.113.7");
        let shown = [("no-cors", "image"), ("navigate", "iframe"), ("navigate", "object"), ("navigate", "embed")];
        for (number, (mode, destination)) in shown.iter().cycle().take(12).enumerate() {
            for path in ["/h5/", "/api/auth/oauth2/callback", "/no/such/page"] {
                let headers = [&of_page(mode, destination)[..], &[office]].concat();
                let framed = client.get(&format!("{path}?code=framed-{number}&state=auth_login"), &headers).await;
                assert_ne!(framed.status, 429, "{mode} {destination} {path}: {framed:?}");
            }
        }
        let own = client.get("/api/auth/oauth2/callback?code=of-a-visitor&sid=ended", &[office]).await;
        assert_ne!(own.status, 429, "{own:?}");
    }

    /// The address of a picture costs the platform nothing.
    async fn make_no_call_of_the_platform() {
        let app = TestApp::start().await;
        let mut client = app.client().await;
        let callback = "/api/auth/oauth2/callback?code=a-code-of-somebody&state=auth_login";
        for (mode, destination) in [("no-cors", "image"), ("navigate", "iframe"), ("navigate", "object")] {
            assert!(is_refused(&client.get(callback, &of_page(mode, destination)).await));
        }
        assert_eq!(client.calls("auth/getuserinfo").await, 0);
    }
}
