//! Outages in a cluster: Redis or PostgreSQL killed, paused, emptied, stopped and started under real nodes. No ended session is
//! valid, every call ends soon, and the cluster recovers without intervention.

mod half_begun;
mod logouts;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::harness::{Client, ClusterStore, Process, Response, Servers, Stopwatch, request, rounds};

/// How long another node may accept a token after its logout was acknowledged on one node.
const LAG: Duration = Duration::from_secs(1);
/// The limit for any call, whatever is broken: 2.5 s, plus what a busy machine needs to run this test.
const CALL: Duration = Duration::from_millis(3_500);
/// The slowest call of all, in milliseconds, for readers of the output.
static SLOWEST: AtomicUsize = AtomicUsize::new(0);
/// The limit for a full recovery.
const HEALED: Duration = Duration::from_secs(5);

/// Two nodes on servers that a test may break.
struct Cluster {
    servers: Arc<Servers>,
    nodes: [Process; 2],
}

impl Cluster {
    fn start() -> Self {
        Self::with_timeout(None)
    }

    /// For tests that break Redis only: PostgreSQL may take long on a busy machine.
    fn with_patience() -> Self {
        Self::with_timeout(Some("10s"))
    }

    /// Nodes with this timeout for PostgreSQL, or with the default one.
    fn with_timeout(timeout: Option<&'static str>) -> Self {
        let servers = Arc::new(Servers::private());
        let mut place = servers.cluster_store();
        if let Some(timeout) = timeout {
            place.timeouts[0] = timeout;
        }
        Self { nodes: [Process::node(&place, &[]), Process::node(&place, &[])], servers }
    }

    async fn clients(&self) -> [Client; 2] {
        [Client::connect(&self.nodes[0].address).await, Client::connect(&self.nodes[1].address).await]
    }
}

/// Waits for a condition that must hold soon.
async fn soon(within: Duration, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Stopwatch::start();
    while !is_so().await {
        assert!(began.elapsed() < within, "{what}: not within {within:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Sends a request and requires a response in time.
async fn timed(client: &mut Client, bytes: &[u8]) -> Response {
    let began = Stopwatch::start();
    let answer = client.send(bytes).await;
    SLOWEST.fetch_max(usize::try_from(began.elapsed().as_millis()).unwrap(), Ordering::Relaxed);
    assert!(began.elapsed() < CALL, "took {:?}: {answer:?}", began.elapsed());
    answer
}

fn bearer(method: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    let bearer = format!("Bearer {token}");
    request(method, path, &[("authorization", &bearer), ("content-type", "application/json")], body.as_bytes())
}

fn login(employee: &str) -> Vec<u8> {
    let body = json!({ "employee_id": employee }).to_string();
    request("POST", "/api/dev/login", &[("content-type", "application/json")], body.as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_sessions_go_on_and_new_codes_wait() {
    let cluster = Cluster::with_patience();
    let [mut here, mut there] = cluster.clients().await;
    let token = here.sign_in("admin01").await;
    here.get("/api/auth/qrcode", &[]).await.data();
    for (how, breaks, mends) in [
        ("killed", Servers::kill_redis as fn(&Servers), Servers::start_redis as fn(&Servers)),
        ("paused", Servers::pause_redis, Servers::resume_redis),
    ] {
        breaks(&cluster.servers);
        for client in [&mut here, &mut there] {
            let answer = timed(client, &request("GET", "/api/auth/qrcode", &[], b"")).await;
            let message = answer.refused(503, 1005).json()["message"].as_str().unwrap().to_owned();
            assert!(message.contains("shared store unavailable"), "{how}: {message}");
            for role in ["agent", "admin"] {
                timed(client, &bearer("POST", "/api/auth/switch-role", &token, &json!({ "role": role }).to_string()))
                    .await
                    .data();
            }
            assert_eq!(
                timed(client, &bearer("GET", "/api/auth/me", &token, "")).await.data()["employee_id"],
                "admin01"
            );
            assert!(client.is_valid(&token).await);
            let other = client.sign_in("user01").await;
            timed(client, &bearer("POST", "/api/auth/logout", &other, "")).await.data();
            assert!(!client.is_valid(&other).await);
            soon(HEALED, "readiness says so", async || {
                client.get("/api/ready", &[]).await.data()["dependencies"]["shared"] == "unavailable"
            })
            .await;
        }
        mends(&cluster.servers);
        for client in [&mut here, &mut there] {
            soon(HEALED, "a new code after Redis came back", async || {
                client.get("/api/auth/qrcode", &[]).await.status == 200
            })
            .await;
            soon(HEALED, "readiness says so", async || {
                client.get("/api/ready", &[]).await.data()["dependencies"]["shared"] == "ok"
            })
            .await;
        }
    }
}

/// Connections that died while idle affect no request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_of_postgres_the_first_call_succeeds_too() {
    let servers = Servers::private();
    let place = servers.cluster_store();
    let node = Process::node(&place, &[]);
    let mut client = Client::connect(&node.address).await;
    let token = client.sign_in("admin01").await;
    let mut all = JoinSet::new();
    for _ in 0..8 {
        let address = node.address.clone();
        all.spawn(async move { Client::connect(&address).await.sign_in("user01").await });
    }
    all.join_all().await;
    servers.stop_postgres();
    servers.start_postgres();
    // A background task may have failed to connect a moment ago, and for 100 ms no task tries again.
    sleep(Duration::from_millis(150)).await;
    for _ in 0..20 {
        client.switch(&token, "agent").await.data();
        client.me(&token).await.data();
    }
}

/// Calls of every kind while PostgreSQL is away: each ends in time, with an error or with an answer that was true a moment ago.
async fn while_it_is_away(client: &mut Client, live: &str, ended: &[String]) {
    let calls = [
        bearer("GET", "/api/auth/me", live, ""),
        bearer("POST", "/api/auth/switch-role", live, r#"{"role":"agent"}"#),
        bearer("POST", "/api/auth/logout", live, ""),
        login("user01"),
    ];
    for call in calls {
        timed(client, &call).await.refused(503, 1005);
    }
    for token in ended {
        let body = json!({ "token": token }).to_string();
        let verified = timed(client, &bearer("POST", "/api/auth/verify", token, &body)).await;
        verified.refused(503, 1005);
        timed(client, &bearer("GET", "/api/auth/me", token, "")).await.refused(503, 1005);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_postgres_nothing_is_valid_and_all_heals_alone() {
    let cluster = Cluster::start();
    let mut clients = cluster.clients().await;
    let live = clients[0].sign_in("admin01").await;
    let mut ended = Vec::new();
    for cycle in 0..rounds(10) {
        let token = clients[cycle % 2].sign_in("user01").await;
        assert!(clients[(cycle + 1) % 2].is_valid(&token).await);
        clients[cycle % 2].logout(&token).await.data();
        ended.push(token);
        // In every other cycle PostgreSQL is paused instead of stopped, which is harder to detect.
        if cycle % 2 == 0 {
            cluster.servers.stop_postgres();
        } else {
            cluster.servers.pause_postgres();
        }
        // A cached read stays valid for a moment.
        sleep(LAG).await;
        for client in &mut clients {
            while_it_is_away(client, &live, ended.get(cycle..).unwrap()).await;
            soon(HEALED, "not ready", async || client.get("/api/ready", &[]).await.status == 503).await;
        }
        if cycle % 2 == 0 {
            cluster.servers.start_postgres();
        } else {
            cluster.servers.resume_postgres();
        }
        for client in &mut clients {
            soon(HEALED, "ready again", async || client.get("/api/ready", &[]).await.status == 200).await;
            soon(HEALED, "the session again", async || client.me(&live).await.status == 200).await;
            for token in &ended {
                assert!(!client.is_valid(token).await, "came back to life");
            }
        }
    }
    println!("slowest call: {} ms", SLOWEST.load(Ordering::Relaxed));
}

/// While PostgreSQL is paused, no request waits in a queue behind another request that waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identical_requests_share_one_wait() {
    let servers = Servers::private();
    let place = servers.cluster_store();
    let node = Process::node(&place, &[]);
    let mut client = Client::connect(&node.address).await;
    let token = client.sign_in("admin01").await;
    servers.pause_postgres();
    let mut all = JoinSet::new();
    for at in 0..8 {
        let call = if at % 2 == 0 {
            bearer("GET", "/api/auth/me", &token, "")
        } else {
            request("GET", "/api/ready", &[], b"")
        };
        let mut client = Client::connect(&node.address).await;
        all.spawn(async move { timed(&mut client, &call).await.refused(503, 1005).status });
    }
    all.join_all().await;
    servers.resume_postgres();
    soon(HEALED, "well again", async || client.me(&token).await.status == 200).await;
}

/// The first of two servers accepts connections and sends nothing, like a server whose disk hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_server_keeps_no_request_from_the_other() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Servers::shared().cluster_store();
    let (user, rest) = place.store.split_once('@').unwrap();
    let both = ClusterStore { store: format!("{user}@{},{rest}", silent.local_addr().unwrap()), ..place.clone() };
    let node = Process::node(&both, &[]);
    let mut client = Client::connect(&node.address).await;
    let token = timed(&mut client, &login("admin01")).await.data()["token"].as_str().unwrap().to_owned();
    timed(&mut client, &bearer("GET", "/api/auth/me", &token, "")).await.data();
    soon(HEALED, "in step", async || client.metric("deskpass_cache_in_step").await == Some(1)).await;
}

/// Many more requests than connections, while another transaction holds the rows they need.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_waits_for_rows_times_out_and_no_other_is_affected() {
    let servers = Servers::private();
    let place = servers.cluster_store();
    let node = Process::node(&place, &[]);
    let mut client = Client::connect(&node.address).await;
    let token = client.sign_in("admin01").await;
    assert!(client.is_valid(&token).await);
    let mut strangers = Vec::new();
    for _ in 0..20 {
        strangers.push(client.sign_in("admin01").await);
    }
    let lock = place.hold("BEGIN; LOCK TABLE login_log IN EXCLUSIVE MODE").await;
    let mut waiting = JoinSet::new();
    for _ in 0..60 {
        let address = node.address.clone();
        waiting.spawn(async move {
            timed(&mut Client::connect(&address).await, &login("user01")).await.refused(503, 1005);
        });
    }
    let stuck =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'deskpass'";
    soon(HEALED, "writes that wait", async || place.query(stuck) == ["8"]).await;
    for token in &strangers {
        // Each token is used for the first time, so the session has to be read.
        assert_eq!(client.me(token).await.status, 200, "writes leave connections for readers");
    }
    assert!(client.is_valid(&token).await, "a hit needs no connection");
    waiting.join_all().await;
    drop(lock);
    soon(HEALED, "signing in again", async || client.send(&login("user01")).await.status == 200).await;
    assert_eq!(place.query("SELECT count(*) FROM login_log"), place.query("SELECT count(*) FROM session"));
}
