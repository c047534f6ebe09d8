//! /api/ready, /healthz, /metrics, /version, /api/version

use serde_json::{Value, json};

use crate::harness::{Client, PRODUCTION, Response, TestApp, metric, request, settings};

/// Reads the metrics under this host name.
async fn metrics(client: &mut Client, host: &str, headers: &[(&str, &str)]) -> Response {
    let bytes = String::from_utf8(request("GET", "/metrics", headers, b"")).unwrap();
    client.send(bytes.replacen("host: localhost", &format!("host: {host}"), 1).as_bytes()).await
}

async fn production(more: &[(&'static str, &str)]) -> TestApp {
    TestApp::with(settings(
        &[&PRODUCTION[..], &[("server.settle", "0s"), ("server.hosts", "node.internal")], more].concat(),
    ))
    .await
}

on_every_store! {
    async fn ready_names_each_dependency(app) {
        let ready = app.client().await.get("/api/ready", &[]).await.data();
        assert_eq!(ready, json!({ "ready": true, "draining": false, "mode": "development", "platform_kind": "wecom", "dependencies": { "store": "ok", "shared": "ok", "platform": "unknown", "clock": "ok" }, "administrators": "some" }));
    }
}

on_one_store! {
    async fn versions_are_the_same_on_both_paths(app) {
        let mut client = app.client().await;
        let version = client.get("/version", &[]).await.data();
        assert_eq!(version, client.get("/api/version", &[]).await.data());
        assert_eq!((&version["name"], &version["version"]), (&json!("deskpass"), &json!(env!("CARGO_PKG_VERSION"))));
        assert!(version["commit"].is_string() && version["built_at"].is_string());
    }

    async fn healthz_is_plain(app) {
        let answer = app.client().await.get("/healthz", &[]).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"));
    }

    async fn metrics_count_by_route_and_outcome(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for _ in 0..3 {
            client.me(&token).await.data();
        }
        client.me("x").await.refused(401, 1001);
        client.get("/nowhere", &[]).await.refused(404, 1004);
        let text = client.get("/metrics", &[]).await.body;
        for (series, value) in [
            (r#"deskpass_requests_total{method="GET",route="/api/auth/me",outcome="ok"}"#, "3"),
            (r#"deskpass_requests_total{method="GET",route="/api/auth/me",outcome="refused"}"#, "1"),
            (r#"deskpass_requests_total{method="other",route="other",outcome="refused"}"#, "1"),
            (r#"deskpass_http_request_duration_seconds_count{method="GET",route="/api/auth/me"}"#, "4"),
            ("deskpass_cached_sessions", "1"),
        ] {
            assert_eq!(metric(&text, series), Some(value), "{series} in\n{text}");
        }
    }

    /// A proxy on this machine connects from a permitted address, whoever its client is.
    async fn metrics_are_not_published_by_a_proxy() {
        let app = production(&[]).await;
        let mut client = app.client().await;
        for host in ["localhost", "127.0.0.1:8080", "[::1]", "10.0.0.11:8080", "node.internal:8080"] {
            assert_eq!(metrics(&mut client, host, &[]).await.status, 200, "{host}");
        }
        for host in ["desk.example.com", "DESK.example.com:443", "desk.example.com.", "evil.test"] {
            metrics(&mut client, host, &[]).await.refused(403, 1003);
        }
        let added = ["x-forwarded-for", "x-forwarded-host", "X-Forwarded-Proto", "forwarded", "via", "x-real-ip"];
        for name in added {
            let refused = metrics(&mut client, "localhost", &[(name, "127.0.0.1")]).await;
            assert!(refused.refused(403, 1003).json()["message"].as_str().unwrap().contains("node"), "{name}");
        }
    }

    async fn metrics_are_for_this_machine_unless_configured() {
        let local = ("server.operator_networks", "127.0.0.1/32");
        let app = production(&[local]).await;
        let mut other = Client::connect_from(&app.address, "127.0.0.2").await;
        metrics(&mut other, "localhost", &[]).await.refused(403, 1003);
        assert_eq!(metrics(&mut app.client().await, "localhost", &[]).await.status, 200);
        let defaults = settings(&PRODUCTION).server.operator_networks;
        assert_eq!(defaults.iter().map(ToString::to_string).collect::<Vec<_>>(), ["127.0.0.0/8", "::1/128"]);
    }
}

/// Who is neither an operator nor signed in learns nothing about the people of the desk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ready_says_whether_anybody_administers_the_desk_to_operators_and_to_signed_in_users() {
    let networks = [("server.operator_networks", "127.0.0.2/32")];
    let (app, platform) = TestApp::production_with_platform(&networks).await;
    let (mut client, mut operator) = (app.client().await, Client::connect_from(&app.address, "127.0.0.2").await);
    let token = platform.sign_in(&mut client, "user01").await;
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let mut told = async || {
        let [stranger, user] = [client.get("/api/ready", &[]).await, client.get("/api/ready", &headers).await];
        [stranger, user, operator.get("/api/ready", &[]).await].map(|answer| answer.data()["administrators"].clone())
    };
    assert_eq!(told().await, [Value::Null, json!("none"), json!("none")]);
    app.auth().operator().grant(app.key("user01"), "admin").await.unwrap();
    assert_eq!(told().await, [Value::Null, json!("some"), json!("some")]);
}

/// A proxy on this machine has the address of an operator, whoever its client is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ready_tells_nobody_behind_a_proxy_about_administrators_unless_the_client_is_an_operator() {
    let app = production(&[("server.operator_networks", "127.0.0.1/32,10.0.0.7/32")]).await;
    let mut client = app.client().await;
    let mut told = async |host: &str, headers: &[(&str, &str)]| {
        let bytes = String::from_utf8(request("GET", "/api/ready", headers, b"")).unwrap();
        let answer = client.send(bytes.replacen("host: localhost", &format!("host: {host}"), 1).as_bytes()).await;
        answer.data()["administrators"].clone()
    };
    for (host, headers, expected) in [
        ("localhost", &[][..], json!("none")),
        ("node.internal:8080", &[], json!("none")),
        ("desk.example.com", &[], Value::Null),
        ("evil.test", &[], Value::Null),
        ("localhost", &[("via", "1.1 proxy")], Value::Null),
        ("localhost", &[("x-forwarded-for", "127.0.0.1")], Value::Null),
        ("desk.example.com", &[("x-forwarded-for", "10.0.0.7")], json!("none")),
        ("desk.example.com", &[("x-forwarded-for", "10.0.0.8")], Value::Null),
    ] {
        assert_eq!(told(host, headers).await, expected, "{host} {headers:?}");
    }
}
