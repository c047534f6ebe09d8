//! Metrics, alerts and the dashboard, with the real Prometheus: what `deploy/` offers works with what the service says.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{
    Prometheus, StoreBackend, TestApp, deployed, fragment, location, metric, promtool, request, until,
};
use crate::sign_in_proof::show;

/// What a service on PostgreSQL without a certificate and without OpenID Connect clients that was never told to reload does not say.
const ELSEWHERE: [&str; 6] = [
    "deskpass_disk_free_bytes",
    "deskpass_disk_size_bytes",
    "deskpass_oidc_logouts_total",
    "deskpass_tls_certificate_expiry_timestamp_seconds",
    "deskpass_config_last_reload_successful",
    "deskpass_config_last_reload_success_timestamp_seconds",
];

/// Signs in by every method, and is refused.
async fn sign_in_by_every_method(app: &TestApp) {
    let mut client = app.client().await;
    let token = client.sign_in_by_phone("user01").await;
    assert!(client.is_valid(&token).await);
    client.me(&token).await.data();
    assert_ne!(client.switch(&token, "admin").await.status, 200);
    let (link, cookies) = client.begin_oauth("http://localhost/h5/").await;
    let back = client.authorize(&link, "user01").await;
    let landed = client.oauth_callback(&back, &cookies).await;
    assert!(!fragment(location(&landed), "ticket").is_empty());
    let device = app.agent_with_device("agent01").await;
    let half = client.partial_sign_in("agent01").await;
    show(&mut client, &half, "verify", &device.next_code()).await.data();
    client.agent_login("agent01", "wrong").await.refused(401, 1011);
    let qrcode = client.qrcode().await;
    client.scan(&qrcode, "left01").await;
}

/// The names in the first column of the table of metrics.
fn documented() -> BTreeSet<&'static str> {
    let rows = include_str!("../docs/operations.md").lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.filter_map(|row| row.split(['`', '{']).next());
    names
        .filter(|name| !name.contains('.'))
        .filter(|name| name.starts_with("deskpass_") || name.starts_with("process_"))
        .collect()
}

/// The metrics as promtool reads them, in Prometheus' own format: there, the name of a counter has its suffix everywhere.
fn for_promtool(text: &str) -> String {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let counters: BTreeSet<_> = types.filter_map(|line| line.strip_suffix(" counter")).collect();
    let lines = text.lines().map(|line| match line.splitn(4, ' ').collect::<Vec<_>>()[..] {
        ["#", what, name, rest] if counters.contains(name) => format!("# {what} {name}_total {rest}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// The names of the metrics in Prometheus' text format, which must all have help and a type.
fn exposed(text: &str) -> BTreeSet<&str> {
    let about = |what: &str| -> BTreeSet<_> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(what));
        lines.map(|line| line.trim().split(' ').next().unwrap()).collect()
    };
    let (helped, typed) = (about("# HELP"), about("# TYPE"));
    assert_eq!(helped, typed);
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
        assert!(typed.contains(name) || family.is_some_and(|family| typed.contains(family)), "{line}");
    }
    typed
}

/// The queries of the dashboard, each with the title of its panel, with its variables replaced.
fn queries() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(deployed("grafana/deskpass.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has an id of its own");
    let mut queries = Vec::new();
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let title = panel["title"].as_str().unwrap();
        assert!(panel["description"].as_str().is_some_and(|text| text.ends_with('.')), "{title} has no description");
        assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{title} has no unit");
        for target in panel["targets"].as_array().unwrap() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
            let query = target["expr"].as_str().unwrap();
            let known = [("$__rate_interval", "5m"), ("$__range", "5m"), ("$job", ".+"), ("$instance", ".+")];
            let query = known.iter().fold(query.to_owned(), |query, (name, value)| query.replace(name, value));
            assert!(!query.contains('$'), "{title}: {query}");
            queries.push((title.to_owned(), query));
        }
    }
    queries
}

/// Each query of the dashboard returns data, and each rule can be evaluated.
async fn returns_data(prometheus: &Prometheus, app: &TestApp) {
    let mut client = app.client().await;
    for (title, query) in queries() {
        until(&format!("{title}: {query}"), async || {
            // Quantiles are numbers only where something was measured lately.
            client.get("/api/version", &[]).await.data();
            prometheus.values(&query).is_some_and(|values| values.iter().any(|value| !value.is_nan()))
        })
        .await;
    }
    until("all rules are evaluated", async || {
        let groups = prometheus.get("/api/v1/rules").unwrap()["data"]["groups"].clone();
        let rules = groups[0]["rules"].as_array().unwrap();
        assert!(rules.len() > 10 && rules.iter().all(|rule| rule["health"] != "err"), "{groups}");
        rules.iter().all(|rule| rule["health"] == "ok")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_as_prometheus_wants_them_and_every_query_of_the_dashboard_returns_data() {
    StoreBackend::ScaledOut
        .run(async {
            let app = TestApp::start().await;
            // Scraped before anything happens: what happens then is an increase.
            let prometheus = Prometheus::scraping(&app.address).await;
            sign_in_by_every_method(&app).await;
            let answer = app.client().await.get("/metrics", &[]).await;
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            assert_eq!(answer.header("content-type"), Some(kind));
            let text = for_promtool(&answer.body);
            let found = exposed(&text);
            let known: BTreeSet<_> = documented().into_iter().filter(|name| !ELSEWHERE.contains(name)).collect();
            let told: BTreeSet<_> = found.iter().copied().filter(|name| !ELSEWHERE.contains(name)).collect();
            assert_eq!(told, known, "docs/operations.md lists exactly what the service says");
            let checked = promtool(&["check", "metrics"], &text);
            assert!(checked.status.success() && checked.stderr.is_empty(), "{checked:?}");
            returns_data(&prometheus, &app).await;
        })
        .await;
}

#[test]
fn the_rules_and_the_example_configuration_are_valid_and_the_rules_pass_their_tests() {
    for arguments in [
        &["check", "config", "prometheus.yml"][..],
        &["check", "rules", "rules.yml"],
        &["test", "rules", "rules_test.yml"],
    ] {
        let done = promtool(arguments, "");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    }
    let rules = std::fs::read_to_string(deployed("prometheus/rules.yml")).unwrap();
    let tests = std::fs::read_to_string(deployed("prometheus/rules_test.yml")).unwrap();
    let alerts: Vec<_> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let operations = [include_str!("../docs/operations.md"), include_str!("../docs/zh/operations.md")];
    for alert in &alerts {
        assert!(tests.contains(&format!("alertname: {alert}\n")), "{alert} has no test");
        assert!(operations.iter().all(|text| text.contains(&format!("| `{alert}` |"))), "{alert} is not explained");
    }
    for line in rules.lines().filter(|line| line.trim().starts_with("severity: ")) {
        assert!(line.ends_with(" critical") || line.ends_with(" warning"), "{line}");
    }
    let documented = documented();
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    for name in rules.split(word).filter(|word| word.starts_with("deskpass_")) {
        assert!(documented.contains(name), "the rules name {name}, which the service does not have");
    }
}

on_one_store! {
    async fn what_happens_is_counted_by_method_step_and_reason(app) {
        sign_in_by_every_method(&app).await;
        let mut client = app.client().await;
        for _ in 0..6 {
            client.agent_login("supervisor01", "wrong").await;
        }
        client.set_fault(&json!({ "api": "auth/getuserinfo", "http_status": 500, "times": 9 })).await;
        let (link, cookies) = client.begin_oauth("http://localhost/h5/").await;
        let back = client.authorize(&link, "user01").await;
        client.oauth_callback(&back, &cookies).await;
        assert_eq!(client.send(&request("DELETE", "/sim/faults", &[], b"")).await.status, 200);
        let text = client.get("/metrics", &[]).await.body;
        for line in [
            r#"deskpass_sign_in_steps_total{method="qrcode",step="shown"} 2"#,
            r#"deskpass_sign_in_steps_total{method="qrcode",step="scanned"} 1"#,
            r#"deskpass_sign_in_steps_total{method="qrcode",step="confirmed"} 1"#,
            r#"deskpass_sign_in_steps_total{method="qrcode",step="collected"} 1"#,
            r#"deskpass_sign_in_steps_total{method="oauth2",step="started"} 2"#,
            r#"deskpass_sign_in_steps_total{method="oauth2",step="returned"} 2"#,
            r#"deskpass_sign_in_steps_total{method="oauth2",step="signed_in"} 1"#,
            r#"deskpass_sign_in_steps_total{method="password",step="accepted"} 1"#,
            r#"deskpass_sign_ins_total{method="qrcode"} 1"#,
            r#"deskpass_sign_ins_total{method="oauth2"} 1"#,
            r#"deskpass_sign_ins_total{method="password"} 1"#,
            r#"deskpass_refusals_total{event="sign_in_refused",reason="left_platform"} 1"#,
            r#"deskpass_agent_lockouts_total{credential="password"} 1"#,
            r#"deskpass_agent_lockouts_total{credential="otp"} 0"#,
            r#"deskpass_platform_sign_ins_refused_total{reason="platform_unavailable"} 1"#,
            r#"deskpass_store_operations_total{operation="write",outcome="unavailable"} 0"#,
            "deskpass_store_up 1",
            "deskpass_shared_store_up 1",
            "deskpass_password_hash_queue_length 0",
            r#"deskpass_clock_skew_seconds{reference="service"} 0"#,
        ] {
            let (series, value) = line.rsplit_once(' ').unwrap();
            assert_eq!(metric(&text, series), Some(value), "{line} is missing in\n{text}");
        }
        let counted = |series: &str| metric(&text, series).is_some_and(|value| value != "0");
        assert!(counted(r#"deskpass_platform_calls_total{api="auth/getuserinfo",outcome="ok"}"#), "{text}");
        assert!(counted(r#"deskpass_platform_calls_total{api="auth/getuserinfo",outcome="invalid"}"#), "{text}");
        assert!(counted(r#"deskpass_platform_call_duration_seconds_count{api="gettoken"}"#), "{text}");
        assert!(counted(r#"deskpass_store_operation_duration_seconds_count{operation="write"}"#), "{text}");
        assert!(counted("deskpass_connections"), "{text}");
    }

    async fn connections_are_counted_while_they_are_open(app) {
        let mut client = app.client().await;
        let mut second = app.client().await;
        second.get("/healthz", &[]).await;
        assert_eq!(client.metric("deskpass_connections").await, Some(2));
        drop(second);
        until("the connection is closed", async || client.metric("deskpass_connections").await == Some(1)).await;
    }
}
