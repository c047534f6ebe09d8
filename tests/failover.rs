//! Failover of PostgreSQL to its synchronous standby, while the old primary still runs and a node still reaches it.

use std::process::Output;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::harness::{
    Client, ClusterStore, Fault, FaultProxy, Process, Servers, Stopwatch, Trigger, binary, finished, until,
    with_settings,
};

/// How long another node may accept a token after its logout was acknowledged on one node.
const LAG: Duration = Duration::from_secs(1);

/// A part of the statement by which a server proves that it is the primary.
const HEARTBEAT: Trigger = Trigger::Request(b"pg_logical_emit_message");

/// A transaction that contains it.
const HEARTBEAT_IN_TRANSACTION: Trigger = Trigger::CommitOf(b"pg_logical_emit_message");

/// The statement, on the connection that reads the journal.
const HEARTBEAT_OF_READER: Trigger = Trigger::RequestAfter(b"pg_try_advisory_lock_shared", b"pg_logical_emit_message");

/// Heartbeats that wait for the standby. A commit is not cancelled, and may wait there for ever.
const WAITING_HEARTBEATS: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query <> 'COMMIT'";

/// The store on two servers, each behind its proxy.
fn behind(place: &ClusterStore, proxies: [&FaultProxy; 2]) -> ClusterStore {
    let both = proxies.map(FaultProxy::address).join(",");
    ClusterStore { store: place.store.replacen(&place.postgres_address(), &both, 1), ..place.clone() }
}

/// Whether a token is valid; `None` while the node cannot tell.
async fn validity(client: &mut Client, token: &str) -> Option<bool> {
    let answer = client.post("/api/auth/verify", &[], &json!({ "token": token })).await;
    if answer.status == 503 {
        return None;
    }
    answer.data()["valid"].as_bool()
}

async fn is_ready(client: &mut Client) -> bool {
    client.get("/api/ready", &[]).await.status == 200
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_on_the_old_primary_accepts_no_session_that_ended_on_the_new_one() {
    let servers = Servers::replicated();
    let (place, standby) = (servers.place(), servers.standby_address());
    let primary = place.postgres_address();
    let (old_for_first, new_for_first) = (FaultProxy::to(&primary).await, FaultProxy::to(&standby).await);
    let (old_of_other, new_of_other) = (FaultProxy::to(&primary).await, FaultProxy::to(&standby).await);
    let heartbeat = old_for_first.once(Fault::Delay(Duration::ZERO), HEARTBEAT);
    let nodes = [
        Process::node(&behind(&place, [&old_for_first, &new_for_first]), &[]),
        Process::node(&behind(&place, [&old_of_other, &new_of_other]), &[]),
    ];
    let mut here = Client::connect(&nodes[0].address).await;
    let mut there = Client::connect(&nodes[1].address).await;
    let token = here.sign_in("user01").await;
    assert!(here.is_valid(&token).await && there.is_valid(&token).await);
    assert_eq!(heartbeat.count(), 1, "a node proves its server before it serves");

    // The first node reaches only the old primary, and the second one only the new.
    new_for_first.refuse();
    old_of_other.cut();
    servers.promote_standby();
    until("a logout on the new primary", async || there.logout(&token).await.status == 200).await;
    let (ended, mut refused) = (Stopwatch::start(), 0);
    while ended.elapsed() < Duration::from_secs(4) {
        let late = ended.elapsed() > LAG;
        let valid = validity(&mut here, &token).await;
        assert!(!late || valid != Some(true), "a session that ended on the new primary is valid on the old one");
        refused += usize::from(valid.is_none());
        sleep(Duration::from_millis(20)).await;
    }
    assert!(refused > 0, "the first node still reaches the old primary");

    new_for_first.mend();
    until("the first node uses the new primary", async || validity(&mut here, &token).await == Some(false)).await;
    until("the first node is ready", async || is_ready(&mut here).await).await;
    until("nothing waits for the standby that is gone", async || place.query(WAITING_HEARTBEATS) == ["0"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_synchronous_standby_a_primary_is_not_used_until_it_is_told_to_go_on_alone() {
    let servers = Servers::replicated();
    let place = servers.place();
    let node = Process::node(&place, &[]);
    let mut client = Client::connect(&node.address).await;
    let token = client.sign_in("user01").await;
    assert!(client.is_valid(&token).await);
    // For the primary, the standby is gone.
    servers.promote_standby();
    until("reads are refused", async || validity(&mut client, &token).await.is_none()).await;
    until("the node is not ready", async || !is_ready(&mut client).await).await;
    place.query("ALTER SYSTEM SET synchronous_standby_names = ''");
    place.query("SELECT pg_reload_conf()");
    until("reads are answered", async || validity(&mut client, &token).await == Some(true)).await;
    until("the node is ready", async || is_ready(&mut client).await).await;

    // A server that is read-only, as an old primary may be made before a failover, is not used either.
    place.query("ALTER SYSTEM SET default_transaction_read_only = on");
    place.query("SELECT pg_reload_conf()");
    until("reads are refused", async || validity(&mut client, &token).await.is_none()).await;
    place.query("ALTER SYSTEM RESET default_transaction_read_only");
    place.query("SELECT pg_reload_conf()");
    until("reads are answered", async || validity(&mut client, &token).await == Some(true)).await;
}

/// One heartbeat of the journal reader is late, and no other: the other connections prove their server themselves.
async fn assert_a_slow_reader_costs_no_request(client: &mut Client, proxy: &FaultProxy) {
    let delay = Duration::from_secs(2);
    proxy.once(Fault::Delay(delay), HEARTBEAT_OF_READER).happened().await;
    let began = Stopwatch::start();
    while began.elapsed() < delay {
        let token = client.sign_in("user01").await;
        assert_eq!(validity(client, &token).await, Some(true));
        sleep(Duration::from_millis(20)).await;
    }
}

/// A commit that a node has given up takes effect when the standby has it, and not before: a failover would lose it.
async fn assert_a_commit_waits_for_the_standby(client: &mut Client, place: &ClusterStore, servers: &Servers) {
    let (token, sessions) = (client.sign_in("user01").await, "SELECT count(*) FROM session");
    let before = place.query(sessions);
    servers.order("pause standby");
    client.logout(&token).await.refused(503, 1005);
    until("reads are refused", async || validity(client, &token).await.is_none()).await;
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'";
    assert_ne!(place.query(waiting), ["0"]);
    assert_eq!(place.query(sessions), before, "the standby has not confirmed the logout");
    servers.order("resume standby");
    until("the logout takes effect", async || validity(client, &token).await == Some(false)).await;
    assert_ne!(place.query(sessions), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_is_slow_for_a_moment_costs_no_connection() {
    let servers = Servers::replicated();
    let place = servers.place();
    let proxy = FaultProxy::to(&place.postgres_address()).await;
    let node = Process::node(&place.through(Some(&proxy), None), &[]);
    let mut client = Client::connect(&node.address).await;
    let token = client.sign_in("user01").await;
    // A transaction carries a heartbeat even where its connection has just had one confirmed: it may rest on a commit that the standby
    // does not have.
    for _ in 0..5 {
        let heartbeat = proxy.once(Fault::Delay(Duration::ZERO), HEARTBEAT_IN_TRANSACTION);
        client.sign_in("user01").await;
        assert_eq!(heartbeat.count(), 1);
    }
    let reader = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'";
    let before = place.query(reader);
    assert_eq!(before.len(), 1);
    assert_a_slow_reader_costs_no_request(&mut client, &proxy).await;
    servers.order("pause standby");
    until("reads are refused", async || validity(&mut client, &token).await.is_none()).await;
    servers.order("resume standby");
    until("reads are answered", async || validity(&mut client, &token).await == Some(true)).await;
    assert_eq!(place.query(reader), before, "the journal is read on the same connection");
    assert_a_commit_waits_for_the_standby(&mut client, &place, &servers).await;
}

fn migrate(place: &ClusterStore) -> Output {
    let mut migrate = binary();
    migrate.args(["migrate", "--dev"]).current_dir(std::env::temp_dir());
    with_settings(&mut migrate, place.settings());
    finished(&mut migrate)
}

/// Its first commit would wait for ever, with the tables locked. Tables that seem to be up to date may be those of a deposed server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_synchronous_standby_a_primary_is_not_migrated() {
    let servers = Servers::replicated();
    let [empty, migrated] = [servers.place(), servers.place()];
    assert!(migrate(&migrated).status.success());
    // For the primary, the standby is gone.
    servers.promote_standby();
    let outputs = std::thread::scope(|scope| {
        let attempts = [&empty, &migrated].map(|place| scope.spawn(move || migrate(place)));
        attempts.map(|attempt| attempt.join().unwrap())
    });
    for output in outputs {
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && why.contains("the server does not confirm commits"), "{output:?}");
    }
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename = 'migration' AND schemaname = current_schema()";
    assert_eq!(empty.query(tables), ["0"], "nothing was begun");
    until("nothing waits for the standby", async || empty.query(WAITING_HEARTBEATS) == ["0"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_synchronous_standby_no_heartbeat_is_sent() {
    let place = Servers::shared().cluster_store();
    let proxy = FaultProxy::to(&place.postgres_address()).await;
    let heartbeat = proxy.once(Fault::CloseBefore, HEARTBEAT);
    let node = Process::node(&place.through(Some(&proxy), None), &[]);
    let mut client = Client::connect(&node.address).await;
    // Longer than a heartbeat would count.
    let began = Stopwatch::start();
    while began.elapsed() < Duration::from_millis(1_500) {
        let token = client.sign_in("user01").await;
        assert!(client.is_valid(&token).await, "the first use of a token reads the database");
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(heartbeat.count(), 0);
}
