//! Data that an earlier release wrote, in production mode: the upgrade keeps it, and everyone stays signed in.
//!
//! `fixtures/VERSION` was written by that release: `deskpass.db.gz` is its embedded database, `postgres.sql` a dump of the same data
//! after `deskpass copy`, and `people.json` what the users hold: tokens, passwords, devices, a service key, and a receipt. Since 0.2.0
//! `redis.json` has what was in progress in Redis. `upgrade::write` wrote them.

mod beside;
mod in_progress;
mod under_load;
mod write;

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
    Client, ClusterStore, Device, OidcClient, PRODUCTION, Platform, Servers, StoreBackend, TestApp, binary, decoded,
    finished, query, request, rounds, settings, signed_by_us, until, with_settings,
};

/// A release whose data can be upgraded.
#[derive(Clone, Copy, Debug)]
struct Release {
    embedded: &'static [u8],
    postgres: &'static str,
    people: &'static str,
}

const FIRST: Release = Release {
    embedded: include_bytes!("fixtures/0.1.0/deskpass.db.gz"),
    postgres: include_str!("fixtures/0.1.0/postgres.sql"),
    people: include_str!("fixtures/0.1.0/people.json"),
};
const SECOND: Release = Release {
    embedded: include_bytes!("fixtures/0.2.0/deskpass.db.gz"),
    postgres: include_str!("fixtures/0.2.0/postgres.sql"),
    people: include_str!("fixtures/0.2.0/people.json"),
};
const RELEASES: [Release; 2] = [FIRST, SECOND];

/// What the users of the earlier release hold.
struct Holdings(Value);

impl Holdings {
    fn of(release: Release) -> Self {
        Self(serde_json::from_str(release.people).unwrap())
    }

    fn text(&self, pointer: &str) -> &str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer}"))
    }

    /// A program that the release knows.
    fn program(&self) -> OidcClient {
        let text = |name: &str| self.text(&format!("/program/{name}")).to_owned();
        OidcClient { id: text("id"), secret: Some(text("secret")), redirect_uri: text("redirect_uri") }
    }

    /// A while after the data was written.
    fn clock(&self, later: Duration) -> Clock {
        let written = Timestamp::from_millis(self.0["written_at_millis"].as_i64().unwrap());
        Clock::manual(written + later)
    }
}

fn production() -> Settings {
    let always = ("agents.password_fallback", "always");
    let given = settings(&[PRODUCTION.as_slice(), &[always, ("server.settle", "0s")]].concat());
    assert!(!given.development.enabled);
    given
}

async fn load(release: Release, directory: &Path, place: Option<&ClusterStore>) {
    if let Some(place) = place {
        drop(place.hold(release.postgres).await);
        return;
    }
    let mut database = Vec::new();
    GzDecoder::new(release.embedded).read_to_end(&mut database).unwrap();
    std::fs::write(directory.join("deskpass.db"), database).unwrap();
}

async fn upgraded(release: Release) -> (TestApp, Holdings) {
    let holdings = Holdings::of(release);
    let clock = holdings.clock(Duration::from_mins(1));
    let prepare = async |directory: &Path, place: Option<&ClusterStore>| load(release, directory, place).await;
    (TestApp::on_data(production(), clock, prepare).await, holdings)
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
        for release in RELEASES {
            let (app, holdings) = upgraded(release).await;
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
    }

    /// The migration marks nobody, since that would lock all employees: the service does.
    async fn people_who_signed_in_before_the_upgrade_are_marked_to_be_checked() {
        for release in RELEASES {
            let (app, _) = upgraded(release).await;
            let marked = "SELECT count(*) FROM employee WHERE watched = 1";
            until("everyone with a session is marked", async || app.query(marked) == ["3"]).await;
        }
    }

    async fn passwords_devices_and_recovery_codes_still_work() {
        for release in RELEASES {
            let (app, holdings) = upgraded(release).await;
            let mut client = app.client().await;
            let password = holdings.text("/password");
            let setup = json!({ "secret": holdings.text("/devices/agent01/secret") });
            let device = Device::scan(&setup, &app.clock);
            let token = sign_in(&mut client, "agent01", password, &device.code()).await;
            assert_eq!(client.verify(&token).await["employee_id"], "agent01");
            let recovery_code = holdings.text("/devices/admin01/recovery_code");
            let token = sign_in(&mut client, "admin01", password, recovery_code).await;
            assert_eq!(client.verify(&token).await["employee_id"], "admin01");
        }
    }

    async fn what_a_program_holds_still_works() {
        let (app, holdings) = upgraded(SECOND).await;
        let program = holdings.program();
        let mut client = app.client().await;
        assert_eq!(client.userinfo(holdings.text("/program/access")).await.status, 200);
        let refreshed = program.refresh(&mut client, holdings.text("/program/refresh")).await.json();
        assert_eq!(client.userinfo(refreshed["access_token"].as_str().unwrap()).await.status, 200, "{refreshed}");
        // The key that signed then is published, and signs still.
        let before = holdings.text("/program/id_token");
        let now = refreshed["id_token"].as_str().unwrap();
        let jwks = client.jwks().await;
        assert!(signed_by_us(&jwks, before) && signed_by_us(&jwks, now), "{jwks}");
        assert_eq!(decoded(now).0["kid"], decoded(before).0["kid"]);
        client.logout(holdings.text("/sessions/user01")).await.data();
        assert_eq!(client.userinfo(refreshed["access_token"].as_str().unwrap()).await.status, 401);
    }

    /// The earlier release did not keep who holds an identifier: that is learned, and compared from then on.
    async fn who_signs_in_through_the_platform_keeps_the_roles_and_is_known_from_then_on() {
        let platform = Platform::start("desk.example.com").await;
        let clock = Holdings::of(SECOND).clock(Duration::from_mins(1));
        let prepare = async |directory: &Path, place: Option<&ClusterStore>| load(SECOND, directory, place).await;
        let app = TestApp::on_data(platform.settings(&[]), clock, prepare).await;
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
        for release in RELEASES {
            let (app, holdings) = upgraded(release).await;
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
}

/// Data of the earlier release, and no service.
struct OldData {
    directory: tempfile::TempDir,
    place: Option<ClusterStore>,
}

impl OldData {
    async fn of(release: Release) -> Self {
        let scaled_out = StoreBackend::current() == StoreBackend::ScaledOut;
        Self::at(release, scaled_out.then(|| Servers::shared().cluster_store())).await
    }

    async fn at(release: Release, place: Option<ClusterStore>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        load(release, &directory.path().join("data"), place.as_ref()).await;
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
        let data = OldData::of(FIRST).await;
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
        for release in RELEASES {
            let began = Instant::now();
            OldData::of(release).await.succeed(&["migrate"]);
            let whole = began.elapsed();
            let rounds = u32::try_from(rounds(25)).unwrap();
            for round in 0..rounds {
                killed_after(release, whole * round / rounds).await;
            }
        }
    }
}

async fn killed_after(release: Release, time: Duration) {
    let data = OldData::of(release).await;
    let mut child = data.command(&["migrate"]).spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() && started.elapsed() < time {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    data.succeed(&["migrate"]);
    data.succeed(&["audit", "verify"]);
    assert_eq!(data.query("SELECT count(*) FROM session"), ["3"]);
    assert_eq!(data.query("SELECT count(*) FROM recovery_code"), ["20"]);
}
