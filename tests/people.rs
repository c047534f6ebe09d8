//! People who come and go: events of the platform, leavers, the re-check, the synchronisation, role rules, and temporary roles.

mod cluster;
mod commands;
mod events;
mod holder_source;
mod holders;
mod leavers;
mod recheck;
mod refused_events;
mod rename_orders;
mod role_rules;
mod synchronise;
mod temporary_admins;
mod timed_roles;

use std::time::Duration;

use deskpass_auth::{SyncOptions, SyncReport};
use deskpass_platform::PlatformKind;
use serde_json::{Value, json};

use crate::harness::{Client, TestApp, development, fragment, platform_kind, request, until};

/// For so long a departure may be newer than an answer of the platform, since the clocks of nodes differ.
const FRESH: Duration = Duration::from_secs(61);

/// The keys of events, as entered in the console of WeCom and DingTalk.
const TOKEN: &str = "eventtoken";
const AES_KEY: &str = "4Ma3YBrSBbX2aez8MJpXGBne5LSDwgGqHbhM9WPYIws";
/// The same of Feishu.
const ENCRYPT_KEY: &str = "encrypt-key";

const EVENTS: &str = "/api/platform/events";

/// The settings with which a service accepts the events of the platform.
fn event_settings() -> Vec<(&'static str, &'static str)> {
    match platform_kind() {
        PlatformKind::Feishu => vec![("platform.events.encrypt_key", ENCRYPT_KEY)],
        PlatformKind::Wecom | PlatformKind::Dingtalk => {
            vec![("platform.events.token", TOKEN), ("platform.events.aes_key", AES_KEY)]
        }
    }
}

/// The address of a service and its keys, as entered in the platform's console.
fn receiver(address: &str) -> Value {
    let url = format!("http://{address}{EVENTS}");
    match platform_kind() {
        PlatformKind::Feishu => json!({ "url": url, "encrypt_key": ENCRYPT_KEY }),
        PlatformKind::Wecom | PlatformKind::Dingtalk => json!({ "url": url, "token": TOKEN, "aes_key": AES_KEY }),
    }
}

/// Controls the simulated platform; returns its answer.
pub(crate) async fn control(platform: &mut Client, method: &str, path: &str, body: &Value) -> Value {
    let json = [("content-type", "application/json")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = platform.send(&request(method, &format!("/sim/{path}"), &json, body.as_bytes())).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Changes a person at the platform; returns the events that it sent.
pub(crate) async fn change(platform: &mut Client, who: &str, change: &Value) -> Vec<Value> {
    let answer = control(platform, "PUT", &format!("people/{who}"), change).await;
    answer["events"].as_array().unwrap().clone()
}

/// Why a person left, as the event of the platform says: WeCom's does not distinguish.
fn reason_of_event() -> &'static str {
    if platform_kind() == PlatformKind::Wecom { "out_of_range" } else { "left" }
}

/// A department of the simulated platform by its id.
fn department(number: u32) -> String {
    if platform_kind() == PlatformKind::Feishu { format!("od-{number}") } else { number.to_string() }
}

/// A tag of the simulated platform by its id.
fn tag(number: u32) -> String {
    if platform_kind() == PlatformKind::Feishu { format!("g{number}") } else { number.to_string() }
}

/// Synchronises a service.
async fn synchronise(app: &TestApp, options: SyncOptions) -> SyncReport {
    Box::pin(app.auth().synchronise(options, &|_| {})).await.unwrap()
}

/// A service in development mode which the simulated platform tells of changes.
struct Desk {
    app: TestApp,
    /// A connection to the service, and thereby to the platform inside it.
    client: Client,
}

impl Desk {
    async fn start() -> Self {
        let app = TestApp::with(development(&event_settings())).await;
        let mut client = app.client().await;
        control(&mut client, "PUT", "events", &receiver(&app.address)).await;
        Self { app, client }
    }

    /// A service which the platform tells nothing.
    async fn without_events() -> Self {
        let app = TestApp::start().await;
        let client = app.client().await;
        Self { app, client }
    }

    /// Changes a person at the platform; returns the events that it sent, which the service accepted.
    async fn change(&mut self, who: &str, what: &Value) -> Vec<Value> {
        let events = change(&mut self.client, who, what).await;
        assert!(events.iter().all(|event| event["accepted"] == true), "{events:?}");
        events
    }

    /// Sends an event by hand; returns it with its attempts.
    async fn send(&mut self, event: &Value) -> Value {
        control(&mut self.client, "POST", "events/send", event).await["events"][0].clone()
    }

    /// Waits until every event that arrived is handled.
    async fn handled(&self) {
        until("events are handled", async || self.pending() == 0).await;
    }

    /// The number of events that are not handled.
    fn pending(&self) -> usize {
        self.app.query("SELECT count(*) FROM platform_event WHERE due_at IS NOT NULL")[0].parse().unwrap()
    }

    /// Why an employee of the home corporation left; `-` if they did not.
    fn left(&self, who: &str) -> String {
        self.app.query(&format!("SELECT left_why FROM employee WHERE employee_key = '{who}'")).remove(0)
    }

    /// What the log says about the comings and goings of a person: event and details, oldest first.
    fn rows(&self, who: &str) -> Vec<String> {
        self.app.query(&format!(
            "SELECT event, detail FROM login_log WHERE employee_key = '{who}'
             AND event IN ('employee_left', 'employee_returned', 'employee_renamed') ORDER BY rowid"
        ))
    }

    /// The value of a series; zero if there is none yet.
    async fn metric(&mut self, series: &str) -> u64 {
        self.client.metric(series).await.unwrap_or(0)
    }

    /// How many requests with events had this outcome.
    async fn events(&mut self, outcome: &str) -> u64 {
        self.metric(&format!("deskpass_platform_events_total{{outcome=\"{outcome}\"}}")).await
    }

    /// Why a token is refused.
    async fn refusal(&mut self, token: &str) -> String {
        self.client.me(token).await.refused(401, 1001).reason()
    }

    /// Scans a code with the phone of a person who is refused; returns the word on the phone's page.
    async fn scan_error(&mut self, who: &str) -> String {
        let qrcode = self.client.qrcode().await;
        fragment(&self.client.scan(&qrcode, who).await, "error")
    }

    /// Signs in through the development route with the role of a user, which no test takes away; returns the token.
    async fn sign_in_as_user(&mut self, who: &str) -> String {
        let login = json!({ "employee_id": who, "role": "user" });
        self.client.post("/api/dev/login", &[], &login).await.data()["token"].as_str().unwrap().to_owned()
    }

    /// The roles of a token, sorted.
    async fn roles(&mut self, token: &str) -> Vec<String> {
        let roles = self.client.verify(token).await["roles"].clone();
        let mut roles: Vec<String> = serde_json::from_value(roles).unwrap();
        roles.sort();
        roles
    }
}
