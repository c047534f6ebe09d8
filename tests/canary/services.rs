//! Credentials of other services.

use deskpass_core::{Clock, Timestamp, TotpStep};
use serde_json::{Value, json};

use super::{Scene, is_in};
use crate::harness::{Client, request};

const KEYS: &str = "/api/admin/service-keys";
const INTROSPECT: &str = "/api/auth/introspect";

/// Makes every mistake that is possible with a service key and a user's token; returns all responses.
async fn misuse(client: &mut Client, key: &str, token: &str) -> Vec<String> {
    let bearer = format!("Bearer {key}");
    let json = ("content-type", "application/json");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let mut out = Vec::new();
    let mut ask = async |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        let answer = client.send(&request(method, path, headers, body.as_bytes())).await;
        out.push(format!("{:?} {}", answer.headers, answer.body));
    };
    let auth = ("authorization", &*bearer);
    ask("POST", INTROSPECT, &[auth, form], &format!("token={token}")).await;
    ask("POST", INTROSPECT, &[auth, form], &format!("token={key}&token_type_hint={token}")).await;
    ask("POST", INTROSPECT, &[auth, form], &format!("token={token}&ip_address={token}")).await;
    ask("POST", INTROSPECT, &[auth, form], &format!("token={token}&token={key}")).await;
    ask("POST", INTROSPECT, &[auth, json], &format!("{{\"token\":{token}}}")).await;
    ask("POST", INTROSPECT, &[auth], &format!("token={token}")).await;
    ask("POST", INTROSPECT, &[auth, auth, form], &format!("token={token}")).await;
    ask("POST", INTROSPECT, &[("authorization", key), form], &format!("token={token}")).await;
    ask("POST", INTROSPECT, &[("authorization", &format!("Bearer {token}")), form], &format!("token={key}")).await;
    ask("POST", INTROSPECT, &[("authorization", &format!("Basic {key}")), form], &format!("token={token}")).await;
    ask("GET", &format!("{INTROSPECT}?key={key}&token={token}"), &[auth], "").await;
    ask("POST", &format!("{INTROSPECT}/{key}"), &[auth], "").await;
    ask("GET", "/api/auth/me", &[auth, ("cookie", key)], "").await;
    ask("POST", "/api/auth/verify", &[json], &json!({ "token": key, "ip_address": key }).to_string()).await;
    ask("GET", "/metrics", &[], "").await;
    out
}

on_every_store! {
    async fn a_service_key_reaches_no_log_no_error_no_figure_and_no_file() {
        for format in ["json", "text"] {
            let scene = Scene::new();
            let process = scene.serve(format);
            let mut client = Client::connect(&process.address).await;
            let clock = Clock::steady(Timestamp::from_millis(0));
            let admin = client.sign_in("admin01").await;
            let (device, _) = client.bind_device(&admin, &clock).await;
            let code = device.seed.code_at(TotpStep::from_number(TotpStep::at(clock.now()).number() + 1));
            let body = json!({ "name": "billing", "scopes": ["introspect"] });
            let made = client.admin_request(&admin, &code, "POST", KEYS, &body).await.data();
            let (key, id) = (made["key"].as_str().unwrap(), made["id"].as_str().unwrap());
            let token = client.sign_in("user01").await;
            let mut answers = misuse(&mut client, key, &token).await;
            let listed = client.get_as(&admin, KEYS).await;
            assert_eq!(listed.data()["items"].as_array().map(Vec::len), Some(1));
            answers.push(listed.body);
            // A key in place of its id, and a mistake that the response repeats.
            for (path, body) in [(format!("{KEYS}/{key}"), Value::Null), (KEYS.into(), json!({ "name": "x", "scopes": [key] }))] {
                let method = if body.is_null() { "DELETE" } else { "POST" };
                answers.push(client.admin_request(&admin, "000000", method, &path, &body).await.body);
            }
            answers.push(client.get_as(&admin, &format!("{KEYS}/{id}")).await.body);
            let kept = scene.kept();
            let log = scene.log(process);
            assert!(log.contains("answered") && log.contains(INTROSPECT), "the log is silent: this test looks at nothing");
            assert!(is_in("billing", &kept), "nothing is kept: this test looks at nothing");
            for secret in [key, &token] {
                let random = &secret[4..47];
                assert!(!answers.iter().any(|answer| answer.contains(random)), "an answer has it");
                assert!(!log.contains(random), "the log has it");
                assert!(!is_in(random, &kept), "it is kept somewhere");
            }
        }
    }
}
