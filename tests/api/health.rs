//! /api/ready, /healthz, /metrics, /version, /api/version

use serde_json::{Value, json};

use crate::harness::{Client, TestApp};

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
        for line in [
            r#"deskpass_requests_total{method="GET",route="/api/auth/me",outcome="ok"} 3"#,
            r#"deskpass_requests_total{method="GET",route="/api/auth/me",outcome="refused"} 1"#,
            r#"deskpass_requests_total{method="other",route="other",outcome="refused"} 1"#,
            r#"deskpass_http_request_duration_seconds_count{method="GET",route="/api/auth/me"} 4"#,
            "deskpass_cached_sessions 1",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
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
