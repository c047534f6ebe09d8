//! Data that an earlier release wrote, in production mode: the upgrade keeps it, and everyone stays signed in.
//!
//! `fixtures/0.1.0` was written by deskpass 0.1.0: `deskpass.db.gz` is its embedded database, `postgres.sql` a dump of the same data
//! after `deskpass copy`, and `people.json` what the users hold: tokens, passwords, devices, a service key, and a receipt.

mod under_load;

use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use deskpass::config::Settings;
use deskpass_core::{Clock, Timestamp};
use deskpass_store::{Location, LogVerification, Mode, PostgresSettings, Receipt, verify_log};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::harness::{
    Client, ClusterStore, Device, PRODUCTION, Platform, Servers, StoreBackend, TestApp, binary, finished, query,
    request, rounds, settings, until, with_settings,
};

const EMBEDDED: &[u8] = include_bytes!("fixtures/0.1.0/deskpass.db.gz");
const POSTGRES: &str = include_str!("fixtures/0.1.0/postgres.sql");
const PEOPLE: &str = include_str!("fixtures/0.1.0/people.json");

/// What the users of the earlier release hold.
struct Holdings(Value);

impl Holdings {
    fn read() -> Self {
        Self(serde_json::from_str(PEOPLE).unwrap())
    }

    fn text(&self, pointer: &str) -> &str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer}"))
    }

    /// A minute after the data was written.
    fn clock(&self) -> Clock {
        let written = Timestamp::from_millis(self.0["written_at_millis"].as_i64().unwrap());
        Clock::manual(written + Duration::from_mins(1))
    }
}

fn production() -> Settings {
    let always = ("agents.password_fallback", "always");
    let given = settings(&[PRODUCTION.as_slice(), &[always, ("server.settle", "0s")]].concat());
    assert!(!given.development.enabled);
    given
}

async fn load(directory: &Path, place: Option<&ClusterStore>) {
    if let Some(place) = place {
        drop(place.hold(POSTGRES).await);
        return;
    }
    let mut database = Vec::new();
    GzDecoder::new(EMBEDDED).read_to_end(&mut database).unwrap();
    std::fs::write(directory.join("deskpass.db"), database).unwrap();
}

async fn upgraded(holdings: &Holdings) -> TestApp {
    TestApp::on_data(production(), holdings.clock(), load).await
}

/// Signs an agent in with the password and this code.
async fn sign_in(client: &mut Client, agent: &str, password: &str, code: &str) -> String {
    let partial = client.agent_login(agent, password).await.data();
    let token = partial["token"].as_str().unwrap();
    let full = client.post_as(token, "/api/auth/otp-verify", &json!({ "code": code })).await.data();
    full["token"].as_str().unwrap().to_owned()
}

on_every_store! {
    async fn everyone_stays_signed_in() {
        let holdings = Holdings::read();
        let app = upgraded(&holdings).await;
        let mut client = app.client().await;
        for (person, token) in holdings.0["sessions"].as_object().unwrap() {
            assert_eq!(client.verify(token.as_str().unwrap()).await["employee_id"], **person);
        }
        let agent = holdings.text("/sessions/agent01");
        client.switch(agent, "supervisor").await.data();
        assert_eq!(client.me(holdings.text("/ended")).await.refused(401, 1001).reason(), "signed_out");
        let active = client.introspect(holdings.text("/service_key"), agent).await.json();
        assert_eq!(active["active"], true, "{active}");
        assert_eq!(app.query("SELECT target_key FROM link"), ["user01"]);
        assert_eq!(app.query("SELECT network FROM ip_rule"), ["10.0.0.0/8"]);
        assert_eq!(app.query("SELECT platform_kind, person_id FROM desk"), ["wecom|userid"]);
    }

    /// The migration marks nobody, since that would lock all employees: the service does.
    async fn people_who_signed_in_before_the_upgrade_are_marked_to_be_checked() {
        let app = upgraded(&Holdings::read()).await;
        let marked = "SELECT count(*) FROM employee WHERE watched = 1";
        until("everyone with a session is marked", async || app.query(marked) == ["3"]).await;
    }

    async fn passwords_devices_and_recovery_codes_still_work() {
        let holdings = Holdings::read();
        let app = upgraded(&holdings).await;
        let (mut client, password) = (app.client().await, holdings.text("/password"));
        let device = Device::scan(&json!({ "secret": holdings.text("/devices/agent01/secret") }), &app.clock);
        let token = sign_in(&mut client, "agent01", password, &device.code()).await;
        assert_eq!(client.verify(&token).await["employee_id"], "agent01");
        let token = sign_in(&mut client, "admin01", password, holdings.text("/devices/admin01/recovery_code")).await;
        assert_eq!(client.verify(&token).await["employee_id"], "admin01");
    }

    /// The earlier release did not keep who holds an identifier: that is learned, and compared from then on.
    async fn who_signs_in_through_the_platform_keeps_the_roles_and_is_known_from_then_on() {
        let (holdings, platform) = (Holdings::read(), Platform::start("desk.example.com").await);
        let app = TestApp::on_data(platform.settings(&[]), holdings.clock(), load).await;
        let mut client = app.client().await;
        let known = || app.query("SELECT employee_key FROM employee WHERE holder IS NOT NULL");
        assert!(known().is_empty());
        let token = platform.sign_in(&mut client, "admin01").await;
        let roles = client.verify(&token).await["roles"].to_string();
        assert!(roles.contains("admin") && known() == ["admin01"], "{roles}");
        let other = json!({ "name": "Nora New", "email": "nora.new@example.com" }).to_string();
        let change = request("PUT", "/sim/people/admin01", &[("content-type", "application/json")], other.as_bytes());
        assert_eq!(platform.client().await.send(&change).await.status, 200);
        let token = platform.sign_in(&mut client, "admin01").await;
        assert_eq!(client.verify(&token).await["roles"], json!(["user"]));
    }

    async fn the_audit_log_is_intact_and_its_receipt_still_valid() {
        let holdings = Holdings::read();
        let app = upgraded(&holdings).await;
        let location = match StoreBackend::current() {
            StoreBackend::Embedded => Location::Embedded(app.database().parent().unwrap().to_owned()),
            StoreBackend::ScaledOut => {
                let url = app.cluster_store().store.clone();
                Location::Postgres(PostgresSettings::new(url))
            }
        };
        let receipt = Receipt::parse(holdings.text("/receipt")).unwrap();
        let keys = &app.auth().chain_keys;
        let verification = LogVerification::new(&location, Mode::Production, keys, |_| true);
        let verdict = verify_log(LogVerification { receipt: Some(&receipt), ..verification }).await.unwrap();
        assert!(verdict.faults.is_empty() && verdict.rows >= 18, "{verdict:?}");
    }
}

/// Data of the earlier release, and no service.
struct OldData {
    directory: tempfile::TempDir,
    place: Option<ClusterStore>,
}

impl OldData {
    async fn new() -> Self {
        Self::at((StoreBackend::current() == StoreBackend::ScaledOut).then(|| Servers::shared().cluster_store())).await
    }

    async fn at(place: Option<ClusterStore>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        load(&directory.path().join("data"), place.as_ref()).await;
        Self { directory, place }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = binary();
        command.args(arguments).current_dir(self.directory.path());
        with_settings(&mut command, PRODUCTION);
        if let Some(place) = &self.place {
            with_settings(&mut command, place.settings());
        }
        command
    }

    fn query(&self, text: &str) -> Vec<String> {
        match &self.place {
            Some(place) => place.query(text),
            None => query(&self.directory.path().join("data/deskpass.db"), text),
        }
    }

    fn succeed(&self, arguments: &[&str]) {
        let output = finished(&mut self.command(arguments));
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
}

on_every_store! {
    async fn data_of_the_earlier_release_belongs_to_wecom() {
        let data = OldData::new().await;
        let mut other = data.command(&["migrate"]);
        with_settings(&mut other, [("platform.kind", "dingtalk"), ("platform.client_id", "dingclient")]);
        let output = finished(&mut other);
        let text = String::from_utf8_lossy(&output.stderr);
        let words = r#"its data belongs to platform.kind = "wecom", and the settings have platform.kind = "dingtalk""#;
        assert!(!output.status.success() && text.contains(words), "{output:?}");
        data.succeed(&["migrate"]);
    }

    /// SIGKILL at any moment of the upgrade: the next start completes it, and nothing is missing.
    async fn a_killed_upgrade_is_completed_by_the_next() {
        let began = Instant::now();
        OldData::new().await.succeed(&["migrate"]);
        let (whole, rounds) = (began.elapsed(), u32::try_from(rounds(50)).unwrap());
        for round in 0..rounds {
            let data = OldData::new().await;
            let mut child = data.command(&["migrate"]).spawn().unwrap();
            let started = Instant::now();
            while child.try_wait().unwrap().is_none() && started.elapsed() < whole * round / rounds {
                std::thread::yield_now();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            data.succeed(&["migrate"]);
            data.succeed(&["audit", "verify"]);
            assert_eq!(data.query("SELECT count(*) FROM session"), ["3"]);
            assert_eq!(data.query("SELECT count(*) FROM recovery_code"), ["20"]);
        }
    }
}
