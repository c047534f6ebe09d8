//! A wrong clock, however far off, never destroys or shortens stored records.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use deskpass_core::{Clock, MachineClock, Timestamp};
use serde_json::Value;

use crate::harness::{
    Client, ClusterStore, FakeClock, Platform, Process, Servers, StoreBackend, TestApp, binary, finished, query, until,
    with_settings,
};

/// Starts the service in development mode, on a machine with this clock.
pub(crate) fn serve(data: &Path, clock: Option<&FakeClock>) -> Process {
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    if let Some(clock) = clock {
        clock.on(&mut command);
    }
    Process::spawn(command)
}

async fn ready(process: &Process) -> Value {
    let response = Client::connect(&process.address).await.get("/api/ready", &[]).await;
    assert_eq!(response.status, 200, "a wrong clock does not prevent use of the service");
    response.data()
}

/// The clock's state in the readiness response: the reason, and the days ahead.
async fn doubt(process: &Process) -> Option<(String, i64)> {
    let ready = ready(process).await;
    let clock = ready.get("clock")?;
    assert_eq!(ready["dependencies"]["clock"], "doubted");
    assert!(clock["action"].as_str().unwrap().contains("clock"), "{clock}");
    Some((clock["reason"].as_str().unwrap().to_owned(), clock["ahead_seconds"].as_i64().unwrap() / 86_400))
}

/// Every record that expires by age, by its id.
fn records(database: &Path) -> Vec<String> {
    let tables = [
        ("login_log", "id"),
        ("session", "digest"),
        ("denied_token", "digest"),
        ("notice", "id"),
        ("guess", "trial"),
        ("known_browser", "digest"),
        ("half_session", "digest"),
        ("bind_proof", "digest"),
        ("sign_in_count", "hour"),
        ("disowned", "sign_in"),
    ];
    let name = |(table, name)| query(database, &format!("SELECT '{table} ' || {name} FROM {table}"));
    tables.into_iter().flat_map(name).collect()
}

/// Inserts a row that is due by any clock, and waits until it is gone: then everything was swept once.
async fn swept(database: &Path, start: impl FnOnce() -> Process) -> Process {
    query(database, "INSERT INTO denied_token (digest, reason, until) VALUES ('due', 'kicked', 1)");
    query(database, "UPDATE chore SET until = 0");
    let process = start();
    let due = "SELECT 1 FROM denied_token WHERE until = 1";
    until("everything is swept", async || query(database, due).is_empty()).await;
    process
}

fn verify_log(data: &Path) -> Option<i32> {
    binary().args(["audit", "verify", "--dev", "--data"]).arg(data).output().unwrap().status.code()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_with_a_wrong_clock_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (data, database) = (directory.path(), directory.path().join("deskpass.db"));
    let process = serve(data, None);
    let mut client = Client::connect(&process.address).await;
    let (token, other) = (client.sign_in("user01").await, client.sign_in("user01").await);
    client.logout(&other).await;
    client.first_password("agent01").await;
    client.partial_sign_in("agent01").await;
    client.agent_login("agent01", "wrong password").await;
    process.terminate();
    let before = records(&database);
    assert!(before.len() > 8, "{before:?}");
    for (wrong, reason, days) in
        [("+800d", "ahead_of_record", 799), ("-10y", "behind_record", -3_649), ("+10y", "ahead_of_record", 3_649)]
    {
        let clock = FakeClock::by(wrong);
        let process = swept(&database, || serve(data, Some(&clock))).await;
        let (output, by) = doubt(&process).await.unwrap();
        assert!(output == reason && (by - days).abs() <= 2, "{wrong}: {output} by {by} days");
        let mut client = Client::connect(&process.address).await;
        assert_eq!(client.is_valid(&token).await, days < 0, "{wrong}: what may be over is not accepted meanwhile");
        let meanwhile = client.sign_in("admin01").await;
        assert!(client.is_valid(&meanwhile).await, "{wrong}: new sign-ins work");
        process.terminate();
        let after = records(&database);
        let lost: Vec<_> = before.iter().filter(|record| !after.contains(record)).collect();
        assert!(lost.is_empty(), "{wrong}: {lost:?}");
    }
    let process = serve(data, None);
    assert_eq!(doubt(&process).await, None, "the service recovers with the clock");
    assert!(Client::connect(&process.address).await.is_valid(&token).await, "and so does who was signed in");
    process.terminate();
    assert_eq!(verify_log(data), Some(0));
    let ahead = "SELECT id FROM login_log WHERE at > (strftime('%s', 'now') + 60) * 1000";
    assert_eq!(query(&database, ahead), Vec::<String>::new(), "no row has a time in the future");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_while_the_service_runs_changes_nothing() {
    let (directory, clock) = (tempfile::tempdir().unwrap(), FakeClock::by("+0"));
    let process = serve(directory.path(), Some(&clock));
    let mut client = Client::connect(&process.address).await;
    let token = client.sign_in("user01").await;
    for wrong in ["+800d", "-10y", "+10y", "+0"] {
        clock.set(wrong);
        let doubted = doubt(&process).await.map(|(reason, _)| reason);
        assert_eq!(doubted.as_deref(), (wrong != "+0").then_some("stepped"), "{wrong}");
        let remaining = client.verify(&token).await["expires_in"].as_i64().unwrap();
        assert!((28_700..=28_800).contains(&remaining), "{wrong}: {remaining}");
    }
    process.terminate();
}

/// After a week without use, a development service starts without a warning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn development_mode_believes_a_pause_of_a_week() {
    let (directory, clock) = (tempfile::tempdir().unwrap(), FakeClock::by("-7d"));
    serve(directory.path(), Some(&clock)).terminate();
    let process = serve(directory.path(), None);
    assert_eq!(doubt(&process).await, None);
    process.terminate();
}

/// A production node; its platform is another process with a clock of its own.
fn produce(data: &Path, platform: &Platform, clock: &FakeClock) -> Process {
    let mut command = binary();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    let pairs = platform.pairs();
    with_settings(&mut command, pairs.iter().map(|(key, value)| (*key, &**value)));
    clock.on(&mut command);
    Process::spawn(command)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_platforms_clock_tells_a_wrong_clock_from_a_long_pause() {
    let (directory, platform) = (tempfile::tempdir().unwrap(), Platform::start("desk.example.com").await);
    let database = directory.path().join("deskpass.db");
    let clock = FakeClock::by("-8d");
    let process = produce(directory.path(), &platform, &clock);
    assert_eq!(doubt(&process).await, None, "there is no record yet, and nothing to ask about");
    process.terminate();
    // The node was off for eight days, and starts with a right clock.
    clock.set("+0");
    let process = produce(directory.path(), &platform, &clock);
    assert_eq!(doubt(&process).await, None, "it continues automatically");
    let log = "SELECT event, detail FROM login_log WHERE event = 'clock_set'";
    let output = query(&database, log);
    assert!(output.len() == 1 && output[0].contains("confirmed by the platform"), "{output:?}");
    process.terminate();
    // The node starts with a wrong clock.
    clock.set("+800d");
    let process = produce(directory.path(), &platform, &clock);
    let (reason, days) = doubt(&process).await.unwrap();
    assert!(reason == "contradicted_by_platform" && (799..=801).contains(&days), "{reason} by {days} days");
    process.terminate();
    assert_eq!(query(&database, log), output, "it is not believed");
}

/// A node in development mode on a shared database.
fn node(place: &ClusterStore, clock: &FakeClock) -> Command {
    let mut command = binary();
    command.arg("serve").current_dir(std::env::temp_dir());
    let given = [("listen", "127.0.0.1:0"), ("development.enabled", "true")];
    with_settings(&mut command, given.into_iter().chain(place.settings()));
    clock.on(&mut command);
    command
}

/// On a shared database, a node with a wrong clock does not start, and a running node survives a step of its clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_go_by_the_clock_of_their_database() {
    let (place, clock) = (Servers::shared().cluster_store(), FakeClock::by("+800d"));
    let refused = finished(&mut node(&place, &clock));
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && why.contains("s apart"), "{why}");
    clock.set("+0");
    let process = Process::spawn(node(&place, &clock));
    let mut client = Client::connect(&process.address).await;
    let token = client.sign_in("user01").await;
    clock.set("+800d");
    assert_eq!(doubt(&process).await.unwrap().0, "stepped");
    assert!(client.is_valid(&token).await);
    clock.set("+0");
    assert_eq!(doubt(&process).await, None);
    process.terminate();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_expires_while_the_machine_is_suspended() {
    let now = Timestamp::from_millis(1_800_000_000_000);
    let machine = MachineClock::manual(now);
    let app = TestApp::with_clock(Clock::after_record(machine.clone(), Some(now))).await;
    let mut client = app.client().await;
    let token = client.sign_in("user01").await;
    machine.advance(Duration::from_hours(7));
    assert!(client.is_valid(&token).await);
    machine.advance(Duration::from_hours(1));
    assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "expired");
}

/// The clocks of two nodes may be further apart than a lease lasts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_end_by_the_clock_of_the_database() {
    let (place, clock) = (Servers::shared().cluster_store(), FakeClock::by("+25"));
    let process = Process::spawn(node(&place, &clock));
    let left = "SELECT until - (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM chore
        WHERE name = 'sweep' AND until > 0";
    until("the node has the lease of a sweep", async || !place.query(left).is_empty()).await;
    let left: i64 = place.query(left)[0].parse().unwrap();
    assert!(left <= 52_000, "a lease of 50 s ends in {left} ms");
    process.terminate();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_far_from_the_clock_of_its_database_is_not_ready() {
    let test = async {
        let now = MachineClock::real().wall();
        let skew = Duration::from_mins(10);
        let machines = [now, now - skew].map(MachineClock::manual);
        let [right, behind] = machines.clone().map(|machine| Clock::after_record(machine, None));
        let one = TestApp::with_clock(right).await;
        let other = one.second_node_at(behind).await;
        let ready = async |node: &TestApp| node.client().await.get("/api/ready", &[]).await;
        assert_eq!(ready(&one).await.data()["dependencies"]["clock"], "ok");
        let refused = ready(&other).await;
        let refused = refused.refused(503, 1005).json();
        let state = &refused["data"];
        assert_eq!(state["ready"], false, "{refused}");
        assert_eq!(state["dependencies"]["clock"], "differs", "{refused}");
        assert_eq!(state["dependencies"]["store"], "ok", "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("clock differs from the database's"), "{refused}");
        // One runs ahead, the other one catches up.
        for machine in &machines {
            machine.advance(skew);
        }
        assert_eq!(ready(&one).await.refused(503, 1005).json()["data"]["dependencies"]["clock"], "differs");
        assert_eq!(ready(&other).await.data()["dependencies"]["clock"], "ok");
    };
    StoreBackend::ScaledOut.run(Box::pin(test)).await;
}

/// Otherwise it would leave and enter the load balancer with every measurement around the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_ready_again_only_when_its_clock_is_clearly_within_the_tolerance() {
    let test = async {
        let machine = MachineClock::manual(MachineClock::real().wall() - Duration::from_secs(40));
        let app = TestApp::with_clock(Clock::after_record(machine.clone(), None)).await;
        let state = async || {
            let answer = app.client().await.get("/api/ready", &[]).await.json();
            answer["data"]["dependencies"]["clock"].as_str().unwrap().to_owned()
        };
        assert_eq!(state().await, "differs");
        // The database's clock runs on meanwhile, so the node stays at least 27 s behind.
        machine.advance(Duration::from_secs(13));
        assert_eq!(state().await, "differs");
        machine.advance(Duration::from_secs(25));
        assert_eq!(state().await, "ok");
    };
    StoreBackend::ScaledOut.run(Box::pin(test)).await;
}
