//! The OpenAPI description, compared with the responses of the service. The client of every other test compares them too.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Response, TestApp, assert_documented, request};

/// Has schemathesis generate requests from the description and compare the responses with it.
async fn explore(app: &TestApp, token: Option<&str>, more: &[&str]) {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("schemathesis");
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/schemathesis.toml");
    let scratch = tempfile::tempdir().unwrap();
    let mut command = Command::new(home.join("bin/st"));
    command.current_dir(scratch.path()).arg("--no-color").arg("--config-file").arg(settings.canonicalize().unwrap());
    command.arg("run").arg(format!("http://{}/api/openapi.json", app.address)).args(["--warnings", "off"]).args(more);
    if let Some(token) = token {
        command.arg("--header").arg(format!("Authorization: Bearer {token}"));
    }
    let ran = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let ran = ran.expect("no schemathesis; run tools/schemathesis first");
    let shown = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{shown}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(shown.contains("Tested: "), "{shown}");
}

/// On one store: the whole suite compares every answer with the description, on both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_no_answer_outside_the_description() {
    let app = TestApp::start().await;
    let token = app.client().await.sign_in("admin01").await;
    explore(&app, Some(&token), &[]).await;
    assert!(app.client().await.is_valid(&token).await, "it was asked with a token that was good until the end");
}

on_one_store! {
    async fn the_description_is_handed_out_to_anyone(app) {
        let answer = app.client().await.get("/api/openapi.json", &[]).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.json()["openapi"], "3.1.0");
        assert_eq!(answer.body, deskpass::http::description());
    }

    async fn production_describes_no_routes_of_development_mode() {
        let answer = TestApp::production().await.client().await.get("/api/openapi.json", &[]).await;
        assert!(answer.body.contains("/api/auth/me") && !answer.body.contains("/api/dev/"), "{}", answer.body);
        assert!(!answer.body.contains("developer"), "{}", answer.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_no_answer_outside_the_description_without_a_token() {
    // Without a token most routes have one answer to whatever is sent, and the others were explored with one.
    explore(&TestApp::start().await, None, &["--phases", "examples,fuzzing", "--max-examples", "4"]).await;
}

/// The description also follows OpenAPI and JSON Schema: every schema in it is valid.
#[test]
fn every_form_is_json_schema() {
    let description: Value = serde_json::from_str(deskpass::http::description()).unwrap();
    for (name, form) in description["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::draft202012::meta::is_valid(form), "{name}");
    }
}

/// The check that compares responses with the description in every test detects a deviation.
#[test]
fn an_answer_outside_the_description_is_noticed() {
    let hold = |status, data: Value, headers: &[(&str, &str)]| {
        let code = if status == 200 { 0 } else { 1001 };
        let body = json!({ "code": code, "message": "ok", "data": data, "request_id": "r" }).to_string();
        let always = [("x-request-id", "r"), ("content-type", "application/json")];
        let headers = always.iter().chain(headers).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let answer = Response { status, headers: headers.collect(), body };
        let request = request("POST", "/api/auth/verify", &[], b"");
        std::panic::catch_unwind(|| assert_documented(&request, &answer)).is_ok()
    };
    assert!(hold(200, json!({ "valid": false }), &[]));
    assert!(!hold(200, json!({ "valid": false, "else": 1 }), &[]), "a member too many");
    assert!(!hold(200, json!({}), &[]), "a member too few");
    assert!(!hold(200, json!({ "valid": true }), &[]), "what only goes with others");
    assert!(!hold(201, json!({ "valid": false }), &[]), "a status that is not described");
    assert!(!hold(401, json!(null), &[("www-authenticate", "Bearer")]), "a refusal that is not described");
}
