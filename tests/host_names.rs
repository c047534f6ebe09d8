//! Responses under host names: development mode answers under its own alone, and refuses changes from pages of other sites; production
//! answers no browser under another one.

mod production;
mod rebinding;

use serde_json::json;

use crate::cli_simulate::Simulated;
use crate::harness::{Client, Response, TestApp, request, settings};

/// A request with this Host header.
fn to(host: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let bytes = request(method, path, headers, body.as_bytes());
    String::from_utf8(bytes).unwrap().replacen("host: localhost", &format!("host: {host}"), 1).into_bytes()
}

async fn ask(address: &str, host: &str, path: &str) -> Response {
    Client::connect(address).await.send(&to(host, "GET", path, &[], "")).await
}

#[tokio::test]
async fn of_others_are_refused_on_every_path() {
    let app = TestApp::start().await;
    let json = [("content-type", "application/json")];
    let upgrade = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    for host in
        ["evil.test", "evil.test:8080", "localhost.evil.test", "localhost..", "desk", "192.0.2.1", "[2001:db8::1]"]
    {
        let mut client = app.client().await;
        for path in ["/", "/h5/", "/api/version", "/api/dev/users", "/sim", "/sim/inbox", "/healthz", "/nothing"] {
            let answer = client.send(&to(host, "GET", path, &[], "")).await;
            assert_eq!(answer.refused(403, 1003).reason(), "unknown_host", "{host} {path}");
            assert!(answer.json()["message"].as_str().unwrap().contains("development.hosts"), "{answer:?}");
        }
        let login = to(host, "POST", "/api/dev/login", &json, r#"{"employee_id":"admin01"}"#);
        assert_eq!(client.send(&login).await.refused(403, 1003).reason(), "unknown_host");
        let socket = to(host, "GET", "/api/ws/employee", &upgrade, "");
        assert_eq!(client.send(&socket).await.refused(403, 1003).reason(), "unknown_host");
    }
    assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
}

#[tokio::test]
async fn of_its_own_are_answered_at_any_port() {
    let known =
        [("development.enabled", "true"), ("public_url", "http://desk.test:9"), ("development.hosts", "box,NAS.test")];
    let app = TestApp::with(settings(&known)).await;
    let hosts =
        ["localhost", "LOCALHOST.:1", "127.0.0.1:8080", "127.9.9.9", "[::1]:80", "desk.test", "box:8080", "nas.test"];
    for host in hosts {
        assert_eq!(ask(&app.address, host, "/api/version").await.status, 200, "{host}");
    }
    assert_eq!(ask(&app.address, "192.0.2.1", "/api/version").await.status, 403);
    let remote =
        TestApp::with(settings(&[("development.enabled", "true"), ("development.allow_remote", "true")])).await;
    for host in ["192.0.2.1:8080", "[2001:db8::1]"] {
        assert_eq!(ask(&remote.address, host, "/api/version").await.status, 200, "{host}");
    }
    assert_eq!(ask(&remote.address, "evil.test", "/api/version").await.status, 403);
    let production = TestApp::production().await;
    assert_eq!(ask(&production.address, "10.0.0.11:8080", "/api/version").await.status, 200);
}

const LOGIN: &str = r#"{"employee_id":"admin01"}"#;

/// Requests that change something: method, path, body.
const CHANGES: [(&str, &str, &str); 5] = [
    ("POST", "/api/dev/login", LOGIN),
    ("POST", "/sim/void-tokens", ""),
    ("PUT", "/sim/faults", r#"{"drop":true}"#),
    ("DELETE", "/sim/faults", ""),
    ("PUT", "/sim/switches", r#"{"strict_state":true,"trusted_ips":null}"#),
];

/// Headers that a browser sends for a page of another site.
const FOREIGN: [&[(&str, &str)]; 4] = [
    &[("origin", "http://evil.test")],
    &[("origin", "null")],
    &[("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "cross-site"), ("origin", "http://localhost:3000")],
];

#[tokio::test]
async fn pages_of_other_sites_change_nothing() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    for (method, path, body) in CHANGES {
        for page in FOREIGN {
            let headers = [page, &[("content-type", "application/json")]].concat();
            let answer = client.send(&request(method, path, &headers, body.as_bytes())).await;
            assert_eq!(answer.refused(403, 1003).reason(), "foreign_origin", "{method} {path} {page:?}");
        }
    }
    assert_eq!(client.get("/sim/faults", &[]).await.json(), json!({ "faults": [] }));
    assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    // Clients other than browsers, and pages on this machine.
    let own = [("sec-fetch-site", "same-origin"), ("origin", "http://localhost:3000")];
    for headers in [&[][..], &own] {
        let answer = client.post("/api/dev/login", headers, &json!({ "employee_id": "user01" })).await;
        assert_eq!(answer.data()["employee_id"], "user01");
        assert_eq!(client.send(&request("POST", "/sim/void-tokens", headers, b"")).await.status, 200);
    }
    // The platform's pages can be opened from any site.
    let link = "/sim/connect/oauth2/authorize?appid=wwdeskpass&redirect_uri=http%3A%2F%2Flocalhost%2Fback&response_type=code\
                &scope=snsapi_base&state=auth_login&agentid=1000002";
    let navigates = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    assert_eq!(client.get(link, &navigates).await.status, 200);
}

#[tokio::test]
async fn the_simulated_platform_alone_is_as_careful() {
    let simulated = Simulated::start(&["--host", "platform.test"]);
    for (host, status) in
        [("localhost:1", 200), ("[::1]", 200), ("platform.test:8090", 200), ("evil.test", 403), ("192.0.2.1", 403)]
    {
        let answer = ask(&simulated.address, host, "/sim/inbox").await;
        assert_eq!(answer.status, status, "{host}");
        assert_eq!(answer.body.contains("--host"), status == 403, "{answer:?}");
    }
    let mut client = Client::connect(&simulated.address).await;
    for (method, path, body) in &CHANGES[1..] {
        for page in FOREIGN {
            let answer = client.send(&request(method, path, page, body.as_bytes())).await;
            assert_eq!(answer.status, 403, "{method} {path} {page:?}");
        }
        assert_eq!(client.send(&request(method, path, &[], body.as_bytes())).await.status, 200);
    }
    let twice = b"GET /sim/inbox HTTP/1.1\r\nhost: localhost\r\nhost: evil.test\r\n\r\n";
    assert_eq!(client.send(twice).await.status, 403);
}
