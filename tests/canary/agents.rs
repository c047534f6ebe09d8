//! Credentials of agents.

use deskpass_core::{Clock, Timestamp, TotpStep};
use serde_json::{Value, json};

use super::Scene;
use crate::harness::{Client, Device, cookies};

/// An agent whose credentials all come from the service. Most of them must not appear anywhere else.
struct Prover<'a> {
    client: &'a mut Client,
    clock: Clock,
    secrets: Vec<String>,
    /// All responses that must not contain a secret.
    answers: Vec<String>,
}

impl Prover<'_> {
    /// Sends a request and asserts the response's code.
    async fn ask(&mut self, token: &str, path: &str, body: &Value, code: u64) {
        let bearer = format!("Bearer {token}");
        let answer = self.client.post(path, &[("authorization", &bearer), ("x-otp-code", "canary")], body).await;
        assert_eq!(answer.code(), code, "{path} {answer:?}");
        self.answers.push(format!("{:?} {}", answer.headers, answer.body));
    }

    /// Stores a secret of the response.
    fn keep(&mut self, data: &Value, name: &str) -> String {
        let secret = data[name].as_str().unwrap_or_else(|| panic!("no {name}: {data}")).to_owned();
        self.secrets.push(secret.clone());
        secret
    }

    async fn partial_sign_in(&mut self) -> String {
        let half = self.client.agent_login("agent01", "canary horses crossed a bridge").await.data();
        self.keep(&half, "token")
    }

    /// Sets up a device; returns the codes of this time step and the next.
    async fn set_up(&mut self, token: &str) -> [String; 2] {
        let setup = self.client.post_as(token, "/api/auth/otp-setup", &json!({})).await.data();
        for name in ["secret", "otpauth_url", "qrcode_png_base64"] {
            self.keep(&setup, name);
        }
        let device = Device::scan(&setup, &self.clock);
        let wrong = json!({ "code": device.wrong_code() });
        self.ask(token, "/api/auth/otp-bind", &wrong, 1008).await;
        let step = TotpStep::at(self.clock.now()).number();
        let codes = [step, step + 1].map(|step| device.seed.code_at(TotpStep::from_number(step)));
        self.secrets.extend(codes.iter().cloned().chain([device.wrong_code()]));
        codes
    }

    async fn bind(&mut self, token: &str, code: &str) -> Value {
        let bound = self.client.post_as(token, "/api/auth/otp-bind", &json!({ "code": code })).await.data();
        let codes = bound["recovery_codes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap());
        self.secrets.extend(codes.flat_map(|code| [code.to_owned(), code.replace('-', "")]));
        bound
    }

    async fn passwords(&mut self) {
        let token = self.client.sign_in("agent01").await;
        let new = |old: &str, new: &str| json!({ "old_password": old, "new_password": new });
        self.ask(&token, "/api/agents/password", &json!({ "new_password": "canary" }), 1014).await;
        self.ask(&token, "/api/agents/password", &json!({ "new_password": "canary horses crossed a bridge" }), 0).await;
        self.ask(&token, "/api/agents/password", &json!({ "new_password": "canary boats" }), 1015).await;
        self.ask(&token, "/api/agents/password", &new("canary wrong", "canary boats"), 1016).await;
        self.ask(&token, "/api/agents/password", &json!({ "new_password": ["canary boats"] }), 1002).await;
        for name in ["agent01", "nobody", "canary horses"] {
            let code = if name.contains(' ') { 1002 } else { 1011 };
            self.ask(&token, "/api/agents/login", &json!({ "employee_id": name, "password": "canary guess" }), code)
                .await;
        }
    }

    async fn devices(&mut self) {
        let half = self.partial_sign_in().await;
        let [now, next] = self.set_up(&half).await;
        let bound = self.bind(&half, &now).await;
        self.keep(&bound, "token");
        let spare = bound["recovery_codes"][0].as_str().unwrap().to_owned();
        let half = self.partial_sign_in().await;
        for path in ["/api/auth/otp-setup", "/api/auth/otp-bind"] {
            self.ask(&half, path, &json!({ "code": now }), 1010).await;
        }
        self.ask(&half, "/api/auth/otp-verify", &json!({ "code": now }), 1008).await;
        let bearer = format!("Bearer {half}");
        let page = [("authorization", &*bearer), ("sec-fetch-site", "same-origin")];
        let entered = self.client.post("/api/auth/otp-verify", &page, &json!({ "code": spare })).await;
        let token = self.keep(&entered.data(), "token");
        self.secrets.push(cookies(&entered).split_once('=').unwrap().1.to_owned());
        self.ask(&token, "/api/auth/otp-unbind", &json!({ "code": spare }), 1008).await;
        self.ask(&token, "/api/auth/otp-verify", &json!({ "code": next }), 0).await;
        self.ask(&token, "/api/auth/otp-verify", &json!({ "code": next }), 1008).await;
        let half = self.partial_sign_in().await;
        self.ask(&half, "/api/auth/switch-role", &json!({ "role": "agent" }), 1001).await;
        self.ask(&spare, "/api/auth/otp-verify", &json!({ "code": half }), 1001).await;
        self.ask(&half, "/api/auth/logout", &json!({}), 0).await;
        self.ask(&half, "/api/auth/logout", &json!({}), 1001).await;
    }

    async fn reset(&mut self) {
        let admin = self.client.sign_in("admin01").await;
        let [now, next] = self.set_up(&admin).await;
        self.bind(&admin, &now).await;
        let path = "/api/admin/agents/agent01/reset-password";
        self.ask(&admin, path, &json!({}), 1008).await;
        let reset = self.client.post_with_otp(&admin, path, Some(&next)).await.data();
        let code = self.keep(&reset, "setup_code");
        self.secrets.push(code.replace('-', ""));
        let setup =
            |code: &str, new: &str| json!({ "employee_id": "agent01", "setup_code": code, "new_password": new });
        let path = "/api/agents/password/setup";
        self.ask("", path, &setup(&code, "canary"), 1014).await;
        self.ask("", path, &setup(&format!("{code}-x"), "canary boats on a quiet river"), 1003).await;
        self.ask("", path, &setup(&code, "canary boats on a quiet river"), 0).await;
        self.ask("", path, &setup(&code, "canary boats on a quiet river"), 1003).await;
    }
}

/// Returns whether a text contains a secret. Six digits inside a longer token, such as a time, are not a code.
fn stands_in(secret: &str, text: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let alone = |at: usize| !text[..at].ends_with(part) && !text[at + secret.len()..].starts_with(part);
    text.match_indices(secret).any(|(at, _)| secret.len() != 6 || alone(at))
}

on_every_store! {
    async fn what_agents_prove_themselves_with_reaches_no_log_no_error_no_figure_and_no_file() {
        for format in ["json", "text"] {
            let scene = Scene::new();
            let process = scene.serve(format);
            let mut client = Client::connect(&process.address).await;
            let clock = Clock::steady(Timestamp::from_millis(0));
            let mut prover = Prover { client: &mut client, clock, secrets: Vec::new(), answers: Vec::new() };
            prover.passwords().await;
            prover.devices().await;
            prover.reset().await;
            let Prover { secrets, mut answers, .. } = prover;
            answers.push(client.get("/sim/inbox", &[]).await.body);
            answers.push(client.get("/metrics", &[]).await.body);
            let kept: Vec<_> = scene.kept().iter().map(|thing| String::from_utf8_lossy(thing).into_owned()).collect();
            let log = scene.log(process);
            // The metrics request is the last one, so its line shows that the log is complete.
            for line in ["password_wrong", "otp_wrong", "administrative change", "/metrics"] {
                assert!(log.contains(line), "the log is silent: this test looks at nothing");
            }
            assert!(secrets.len() > 50 && answers.len() > 20);
            assert!(!answers.iter().chain(&kept).any(|text| text.contains("canary")), "a password is told or kept");
            assert!(!log.contains("$argon2id$"), "the log has what is handed to the database");
            for secret in secrets {
                assert!(!stands_in(&secret, &log), "the log has {secret}");
                assert!(!answers.iter().any(|answer| stands_in(&secret, answer)), "an answer has {secret}");
                assert!(!kept.iter().any(|thing| stands_in(&secret, thing)), "{secret} is kept somewhere");
            }
        }
    }
}
