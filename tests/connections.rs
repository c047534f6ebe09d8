//! Connection limits: when all connections are taken, the one that has waited longest is closed, and health checks still respond.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use crate::harness::{Client, TestApp, TestSocket, handshake, request, settings};

/// No timeouts, and eight connections.
const CROWDED: [(&str, &str); 7] = [
    ("development.enabled", "true"),
    ("server.max_connections", "8"),
    ("server.header_timeout", "1h"),
    ("server.idle_timeout", "1h"),
    ("server.body_timeout", "1h"),
    ("trusted_proxies", "127.0.0.9"),
    ("server.operator_networks", "127.0.0.0/8"),
];

async fn crowded() -> TestApp {
    TestApp::with(settings(&CROWDED)).await
}

/// Sends a request on a new connection. There are no timeouts here, so a response that needs a connection comes soon or never.
async fn quickly(app: &TestApp, path: &str) -> (u16, Option<String>) {
    quickly_from("127.0.0.1", app, path).await
}

async fn quickly_from(from: &str, app: &TestApp, path: &str) -> (u16, Option<String>) {
    let asked = async {
        let answer = Client::connect_from(&app.address, from).await.get(path, &[]).await;
        (answer.status, answer.header("connection").map(str::to_owned))
    };
    timeout(Duration::from_secs(30), asked).await.unwrap_or_else(|_| panic!("{path} is not answered"))
}

async fn figure(app: &TestApp, name: &str) -> u64 {
    let figures = app.client().await.get("/metrics", &[]).await.body;
    let line = figures.lines().find(|line| line.split(' ').next() == Some(name));
    line.and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or_else(|| panic!("no {name}: {figures}"))
}

/// Takes all connections, several times over, in one way of keeping the service waiting.
async fn held(app: &TestApp, how: &str) -> Vec<Client> {
    let mut held = Vec::new();
    let expecting = [("expect", "100-continue"), ("content-type", "application/json")];
    let whole = request("POST", "/api/auth/verify", &expecting, b"{}");
    let unfinished = &whole[..whole.len() - 2];
    for _ in 0..40 {
        let mut client = app.client().await;
        match how {
            "idle" => drop(client.get("/healthz", &[]).await),
            "silent" => {}
            "slow head" => client.start(b"GET /api/ready HTTP/1.1\r\nhost: desk\r\nx-slow: ").await,
            // The interim response shows that the service waits for the body.
            "slow body" => drop((client.start(unfinished).await, client.read_until("100 Continue").await)),
            _ => panic!("{how}"),
        }
        held.push(client);
    }
    held
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_answered_when_every_place_waits_for_its_client() {
    for how in ["idle", "silent", "slow head", "slow body"] {
        let app = crowded().await;
        let _held = held(&app, how).await;
        for path in ["/healthz", "/api/ready", "/metrics", "/api/version", "/", "/api/dev/users"] {
            assert_eq!(quickly(&app, path).await.0, 200, "{how}: {path}");
        }
        assert!(figure(&app, "deskpass_connections_evicted_total").await >= 32, "{how}");
        assert_eq!(figure(&app, "deskpass_connections_turned_away_total").await, 0, "{how}");
    }
}

/// A client that sends requests and reads no responses, until the buffers are full.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_takes_no_answers_gives_its_place_up() {
    let app = TestApp::with(settings(&[&CROWDED[..], &[("server.max_connections", "1")]].concat())).await;
    let mut greedy = app.client().await;
    let ask = request("GET", "/api/dev/users", &[], b"").repeat(64);
    while timeout(Duration::from_millis(200), greedy.push(&ask)).await.is_ok() {}
    // Until its buffers are full it gets responses, and others are served by the reserve at most.
    let served = async { while quickly(&app, "/api/dev/users").await.0 != 200 {} };
    timeout(Duration::from_secs(20), served).await.unwrap();
}

#[tokio::test]
async fn the_connection_that_waited_longest_is_closed() {
    let app = crowded().await;
    let mut idle = held(&app, "silent").await.split_off(32);
    // Each connection sends one request, so that all are known to be open; the first two send another at the end.
    for at in [0, 1, 2, 3, 4, 5, 6, 0, 1] {
        assert_eq!(idle[at].get("/healthz", &[]).await.status, 200);
    }
    let mut fresh = vec![app.client().await];
    assert_eq!(fresh[0].get("/healthz", &[]).await.status, 200);
    // The eighth has sent nothing since it connected; then the third to the seventh, in turn.
    assert!(idle[7].read().await.is_none());
    for last in 2..7 {
        let mut another = app.client().await;
        assert_eq!(another.get("/healthz", &[]).await.status, 200);
        assert!(idle[last].read().await.is_none(), "{last}");
        for kept in [0, 1] {
            assert_eq!(idle[kept].get("/healthz", &[]).await.status, 200);
        }
        fresh.push(another);
    }
    for kept in &mut fresh {
        assert_eq!(kept.get("/healthz", &[]).await.status, 200);
    }
}

/// Signs in, which waits until the database accepts writes again.
async fn busy(app: &TestApp, from: &str, count: usize) -> Vec<Client> {
    let body = json!({ "employee_id": "user01" }).to_string();
    let ask = request("POST", "/api/dev/login", &[("content-type", "application/json")], body.as_bytes());
    let mut busy = Vec::new();
    for _ in 0..count {
        let mut client = Client::connect_from(&app.address, from).await;
        // The response shows that the connection has been accepted.
        assert_eq!(client.get("/healthz", &[]).await.status, 200);
        client.start(&ask).await;
        busy.push(client);
    }
    let last = busy.last_mut().unwrap();
    assert!(timeout(Duration::from_millis(100), last.read()).await.is_err(), "it waits for the database");
    busy
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reserve_serves_health_and_operators_and_nothing_is_cut_off() {
    let app = crowded().await;
    let token = app.client().await.sign_in("user01").await;
    let writes = app.block_writes().await;
    let mut working = busy(&app, "127.0.0.2", 8).await;
    let _silent = held(&app, "silent").await;
    for path in ["/healthz", "/metrics", "/api/version"] {
        assert_eq!(quickly(&app, path).await, (200, Some("close".to_owned())), "{path}");
    }
    let refused = app.client().await.me(&token).await;
    assert_eq!(
        (refused.refused(503, 1005).header("retry-after"), refused.header("connection")),
        (Some("1"), Some("close"))
    );
    assert!(refused.json()["message"].as_str().unwrap().contains("too many connections"), "{refused:?}");
    let head = handshake("/api/ws/employee", &[("authorization", &format!("Bearer {token}"))]);
    TestSocket::try_open(&app.address, &head).await.unwrap_err().refused(503, 1005);
    writes.release().await;
    for client in &mut working {
        assert_eq!(client.read().await.map(|answer| answer.status), Some(200));
    }
    while app.client().await.me(&token).await.status != 200 {}
}

/// Readiness waits for the database, and any client may request it without a limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readiness_does_not_use_the_reserve_up() {
    let app = crowded().await;
    let writes = app.block_writes().await;
    let _working = busy(&app, "127.0.0.2", 8).await;
    let mut asking = Vec::new();
    for _ in 0..20 {
        let mut client = app.client().await;
        // Some connections are refused before.
        client.push(&request("GET", "/api/ready", &[], b"")).await;
        asking.push(client);
    }
    for from in ["127.0.0.3", "127.0.0.4", "127.0.0.9"] {
        assert_eq!(quickly_from(from, &app, "/healthz").await, (200, Some("close".to_owned())), "{from}");
    }
    let mut answers = Vec::new();
    for client in &mut asking {
        answers.extend(client.read().await);
    }
    assert!(!answers.is_empty());
    for answer in answers {
        assert_eq!(answer.refused(503, 1005).json()["data"]["dependencies"]["store"], "unavailable");
    }
    writes.release().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trusted_proxy_leaves_places_to_others() {
    let app = crowded().await;
    let token = app.client().await.sign_in("user01").await;
    let writes = app.block_writes().await;
    let proxy = "127.0.0.9";
    let _proxied = busy(&app, proxy, 7).await;
    Client::connect_from(&app.address, proxy).await.me(&token).await.refused(503, 1005);
    assert_eq!(quickly_from(proxy, &app, "/healthz").await, (200, Some("close".to_owned())));
    let mut other = app.client().await;
    assert_eq!(other.me(&token).await.data()["employee_id"], "user01");
    // The last connection belongs to another client, and the proxy may not take it.
    Client::connect_from(&app.address, proxy).await.me(&token).await.refused(503, 1005);
    assert_eq!(other.me(&token).await.data()["employee_id"], "user01");
    writes.release().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_keeps_its_place() {
    let app = crowded().await;
    let token = app.client().await.sign_in("user01").await;
    let mut sockets = Vec::new();
    for _ in 0..4 {
        sockets.push(app.socket("employee", &token).await);
    }
    let _held = held(&app, "idle").await;
    for socket in &mut sockets {
        socket.is_quiet().await;
    }
    assert_eq!(app.auth().sockets.len(), 4);
    assert_eq!(quickly(&app, "/healthz").await.0, 200);
}
