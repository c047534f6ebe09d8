//! Acts as an agent with a password and an authenticator.

use std::time::Duration;

use deskpass_core::{Clock, TotpSecret, TotpStep};
use serde_json::{Value, json};

use super::{Client, Response, TestApp, request};

/// A password that satisfies every rule.
pub(crate) const PASSWORD: &str = "four horses crossed a bridge";

/// A TOTP time step, after which a device shows another code.
pub(crate) const STEP: Duration = Duration::from_secs(30);

/// An authenticator device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) seed: TotpSecret,
    clock: Clock,
    /// The recovery codes that were shown when it was bound.
    pub(crate) recovery_codes: Vec<String>,
}

impl Device {
    /// Reads the response of `otp-setup`.
    pub(crate) fn scan(setup: &Value, clock: &Clock) -> Self {
        let seed = TotpSecret::from_base32(setup["secret"].as_str().unwrap()).unwrap();
        Self { seed, clock: clock.clone(), recovery_codes: Vec::new() }
    }

    /// The current code.
    pub(crate) fn code(&self) -> String {
        self.seed.code_at(TotpStep::at(self.clock.now()))
    }

    /// The code of the next time step, for use when an earlier code was used already.
    pub(crate) fn next_code(&self) -> String {
        self.clock.advance(STEP);
        self.code()
    }

    /// A code that is wrong in all nearby time steps.
    pub(crate) fn wrong_code(&self) -> String {
        let now = TotpStep::at(self.clock.now()).number();
        let near: Vec<_> = (now - 3..=now + 3).map(|step| self.seed.code_at(TotpStep::from_number(step))).collect();
        (0..10).map(|guess| format!("{guess:06}")).find(|guess| !near.contains(guess)).unwrap()
    }
}

impl Client {
    /// Posts JSON with a token.
    pub(crate) async fn post_as(&mut self, token: &str, path: &str, body: &Value) -> Response {
        self.post(path, &[("authorization", &format!("Bearer {token}"))], body).await
    }

    /// Sends a GET request with a token.
    pub(crate) async fn get_as(&mut self, token: &str, path: &str) -> Response {
        self.get(path, &[("authorization", &format!("Bearer {token}"))]).await
    }

    /// Posts an administrator's command, with a code or without.
    pub(crate) async fn post_with_otp(&mut self, token: &str, path: &str, code: Option<&str>) -> Response {
        let bearer = format!("Bearer {token}");
        let headers: Vec<_> =
            [("authorization", &*bearer)].into_iter().chain(code.map(|code| ("x-otp-code", code))).collect();
        self.send(&request("POST", path, &headers, b"")).await
    }

    pub(crate) async fn agent_login(&mut self, employee: &str, password: &str) -> Response {
        self.post("/api/agents/login", &[], &json!({ "employee_id": employee, "password": password })).await
    }

    /// Sets an agent's first password, which a development sign-in allows without a setup code.
    pub(crate) async fn first_password(&mut self, employee: &str) {
        let token = self.sign_in(employee).await;
        self.post_as(&token, "/api/agents/password", &json!({ "new_password": PASSWORD })).await.data();
        self.logout(&token).await.data();
    }

    /// Starts a sign-in of an agent with the usual password; returns the token of the partial session.
    pub(crate) async fn partial_sign_in(&mut self, employee: &str) -> String {
        let half = self.agent_login(employee, PASSWORD).await.data();
        assert_eq!(half["half_authenticated"], true, "{half}");
        half["token"].as_str().unwrap().to_owned()
    }

    /// Binds a device with a token of any kind; returns it with the response.
    pub(crate) async fn bind_device(&mut self, token: &str, clock: &Clock) -> (Device, Value) {
        let setup = self.post_as(token, "/api/auth/otp-setup", &json!({})).await.data();
        let mut device = Device::scan(&setup, clock);
        let bound = self.post_as(token, "/api/auth/otp-bind", &json!({ "code": device.code() })).await.data();
        let codes = bound["recovery_codes"].as_array().unwrap();
        device.recovery_codes = codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect();
        (device, bound)
    }
}

impl TestApp {
    /// Sets up an agent with the usual password and a device.
    pub(crate) async fn agent_with_device(&self, employee: &str) -> Device {
        let mut client = self.client().await;
        client.first_password(employee).await;
        let token = client.sign_in(employee).await;
        let (device, _) = client.bind_device(&token, &self.clock).await;
        client.logout(&token).await.data();
        device
    }
}
