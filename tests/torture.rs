//! A checker in the spirit of Jepsen: eight clients use three nodes at random while nodes are killed and paused, connections are cut,
//! refused and delayed, answers get lost, PostgreSQL and Redis fail over, and clocks step. What the clients saw is compared with a
//! model.
//!
//! `TORTURE_SECONDS` says how long (20 by default), and `TORTURE_SEED` which random choices are made: a run prints its seed. The
//! choices of one seed are always the same, but not the moments at which they meet each other.

mod call;
mod history;
mod listener;
mod model;
mod nemesis;
mod nodes;
mod sentinel_front;
mod sign_in;
mod workload;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deskpass_core::{Clock, Timestamp, TotpStep};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::harness::{Client, Device, Platform, Stopwatch, request, until};
use history::{History, Outcome, Timer};
use nemesis::Nemesis;
use nodes::Nodes;
use workload::{Scene, Worker};

const CLIENTS: usize = 8;
/// A run that sees less than this proves nothing.
const LEAST_ACKNOWLEDGED: usize = 100;
/// What all nodes know when it is over.
const SETTLED: Duration = Duration::from_millis(1_200);
/// Settings of the nodes and of the operator besides those of production.
const SETTINGS: [(&str, &str); 6] = [
    ("limits.enabled", "false"),
    ("session.max_per_employee", "0"),
    ("bind.mode", "open"),
    ("bind.networks", "10.0.0.0/8"),
    ("trusted_proxies", "127.0.0.1"),
    ("sockets.ping", "5s"),
];

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// The person of a client, by their name at the simulated platform.
fn person(client: usize) -> String {
    format!("member{:05}", client + 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_are_those_of_a_correct_service() {
    let seed = variable("TORTURE_SEED").unwrap_or_else(|| RandomState::new().hash_one(()));
    let seconds = variable("TORTURE_SECONDS").unwrap_or(20);
    println!("TORTURE_SEED={seed} TORTURE_SECONDS={seconds}");
    let logs = tempfile::tempdir().unwrap();
    let (scene, workers) = Box::pin(prepare(seed, &logs)).await;
    let end = Instant::now() + Duration::from_secs(seconds);
    let nemesis = Nemesis::new(Arc::clone(&scene.nodes), seed, scene.timer);
    let nemesis = tokio::spawn(nemesis.run(end));
    let workers = all(workers, |worker| worker.run(end)).await;
    let faults = nemesis.await.unwrap();
    heal(&scene).await;
    let mut histories = all(workers, Worker::settle).await;
    count_rows(&scene, &mut histories);
    let verified = scene.nodes.operate(&["audit", "verify"]);
    report(seed, &histories, &faults, logs, &verified);
}

/// Runs something for each of these at once; the results are in the same order.
async fn all<T, U, F>(of: Vec<T>, run: impl Fn(T) -> F) -> Vec<U>
where
    U: Send + 'static,
    F: Future<Output = U> + Send + 'static,
{
    let running: Vec<_> = of.into_iter().map(|one| tokio::spawn(run(one))).collect();
    let mut results = Vec::new();
    for one in running {
        results.push(one.await.unwrap());
    }
    results
}

/// Starts everything: servers, people, nodes, and a client with an authenticator for each person.
async fn prepare(seed: u64, logs: &TempDir) -> (Arc<Scene>, Vec<Worker>) {
    let platform = Platform::start("desk.example.com").await;
    let mut settings = platform.pairs();
    settings.extend(SETTINGS.map(|(key, value)| (key, value.to_owned())));
    let body = json!({ "members": CLIENTS }).to_string();
    let members = request("PUT", "/sim/people", &[("content-type", "application/json")], body.as_bytes());
    assert_eq!(platform.client().await.send(&members).await.status, 200);
    let nodes = Arc::new(Nodes::new(settings, logs.path()).await);
    let key = tokio::task::spawn_blocking({
        let nodes = Arc::clone(&nodes);
        move || add_people(&nodes)
    });
    let key = key.await.unwrap();
    for node in &nodes.all {
        node.start().await;
    }
    let clock = Clock::steady(Timestamp::from_millis(0));
    let mut devices = Vec::new();
    for client in 0..CLIENTS {
        devices.push(bind_device(&nodes, &platform, &person(client), &clock).await);
    }
    let scene = Arc::new(Scene { nodes, platform, key, timer: Timer::start() });
    let worker = |(client, device): (usize, Device)| {
        let seed = seed.wrapping_add(1 + client as u64);
        Worker::new(Arc::clone(&scene), client, person(client), device, clock.clone(), seed)
    };
    let workers = devices.into_iter().enumerate().map(worker).collect();
    (scene, workers)
}

/// Adds the people, and returns a service key that may send messages.
fn add_people(nodes: &Nodes) -> String {
    for client in 0..CLIENTS {
        let (success, told) = nodes.operate(&["employee", "add", &person(client), "--role", "agent", "--role", "user"]);
        assert!(success, "{told}");
    }
    let (success, told) = nodes.operate(&["service-key", "create", "bot", "--scope", "messages"]);
    assert!(success, "{told}");
    told.lines().find_map(|line| line.trim().strip_prefix("service key: ")).expect("a key").to_owned()
}

/// Binds an authenticator with the code before the current one, so that the current one is still good.
async fn bind_device(nodes: &Nodes, platform: &Platform, who: &str, clock: &Clock) -> Device {
    let mut client = Client::connect(&nodes.all[0].address).await;
    let token = platform.sign_in(&mut client, who).await;
    let setup = client.post_as(&token, "/api/auth/otp-setup", &json!({})).await.data();
    let device = Device::scan(&setup, clock);
    // Between two time steps the code may be too old when it arrives.
    loop {
        let step = TotpStep::at(clock.now()).number() - 1;
        let code = device.seed.code_at(TotpStep::from_number(step));
        let bound = client.post_as(&token, "/api/auth/otp-bind", &json!({ "code": code })).await;
        if bound.status == 200 {
            return device;
        }
        bound.refused(401, 1008);
    }
}

/// Waits until all nodes are ready and know everything.
async fn heal(scene: &Scene) {
    for node in &scene.nodes.all {
        until("a node is ready again", async || {
            let ready = call::send(&node.address, &request("GET", "/api/ready", &[], b"")).await;
            ready.outcome() == Outcome::Done
        })
        .await;
    }
    let began = Stopwatch::start();
    while began.elapsed() < SETTLED {
        sleep(Duration::from_millis(10)).await;
    }
}

/// Counts the rows of the audit log. The address tells the client and the sign-in.
fn count_rows(scene: &Scene, histories: &mut [History]) {
    let rows = scene.nodes.query(
        "SELECT event, ip_address, count(*) FROM login_log WHERE ip_address LIKE '10.%' \
         AND event IN ('sign_in', 'logout', 'switch_role') GROUP BY event, ip_address",
    );
    for history in histories.iter_mut() {
        history.audit = Some(BTreeMap::new());
    }
    for row in rows {
        let [event, address, count]: [&str; 3] = row.split('|').collect::<Vec<_>>().try_into().unwrap();
        let numbers: Vec<usize> = address.split('.').map(|number| number.parse().unwrap()).collect();
        let audit = histories[numbers[1] - 1].audit.get_or_insert_default();
        audit.insert((event.to_owned(), numbers[2] * 256 + numbers[3]), count.parse().unwrap());
    }
}

/// Says what the run saw, and fails where it was not right.
fn report(seed: u64, histories: &[History], faults: &[String], logs: TempDir, verified: &(bool, String)) {
    let total = |outcome| histories.iter().map(|history| history.count(outcome)).sum::<usize>();
    let heard: usize = histories.iter().flat_map(|history| &history.chains).map(|chain| chain.heard.len()).sum();
    let mut text = format!("TORTURE_SEED={seed}: {} acknowledged, ", total(Outcome::Done));
    let (refused, unknown) = (total(Outcome::Refused), total(Outcome::Unknown));
    writeln!(text, "{refused} refused, {unknown} unknown, {heard} messages received").unwrap();
    println!("{text}{}", faults.join("\n"));
    let mut violations = 0;
    for (client, history) in histories.iter().enumerate() {
        for violation in model::check(history) {
            violations += 1;
            writeln!(text, "client {client}, {:?}: {}", violation.kind, violation.text).unwrap();
        }
    }
    let (is_genuine, told) = verified;
    if violations > 0 || !is_genuine {
        let logs = logs.keep();
        panic!("{violations} violations, and audit verify: {told}; the logs of the nodes: {}\n{text}", logs.display());
    }
    assert!(total(Outcome::Done) > LEAST_ACKNOWLEDGED && heard > 0, "this run looks at too little: {text}");
}
