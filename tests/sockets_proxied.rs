//! Sockets through the real proxies, with the files of `deploy/`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::harness::{Client, Frame, Operator, Process, Proxy, Servers, TestSocket, handshake};

type Start = fn([&str; 2]) -> Proxy;

const PROXIES: [Start; 2] = [Proxy::haproxy, Proxy::nginx];
/// Longer than the balancer needs to notice, shorter than the default to keep the test fast.
const SETTLE: (&str, &str) = ("server.settle", "3s");
/// Enough clients that each of two nodes has some.
const CLIENTS: usize = 4;

/// A key that may send messages.
fn messenger(operator: Operator<'_>) -> String {
    let shown = operator.succeed(&["service-key", "create", "assistant", "--scope", "messages"]);
    shown.lines().find_map(|line| line.trim().strip_prefix("service key: ")).expect("a key").to_owned()
}

/// A handshake as a browser makes it: it cannot set the header.
fn browsers(path: &str, token: &str) -> Vec<u8> {
    handshake(path, &[("sec-websocket-protocol", &format!("bearer.{token}, deskpass.v1"))])
}

async fn a_socket(proxy: &Proxy, directory: &Path) {
    let key = messenger(Operator::In(directory));
    let mut client = Client::connect(&proxy.address).await;
    let token = client.sign_in("user01").await;

    let mut socket = TestSocket::try_open(&proxy.address, &browsers("/api/ws/employee", &token)).await.unwrap();
    assert_eq!(socket.answer.header("sec-websocket-protocol"), Some("deskpass.v1"));
    socket.event("ready").await;
    let large = json!("x".repeat(60_000));
    for content in [&json!("hello"), &large] {
        assert_eq!(client.send_card(&key, &json!({ "employee_id": "user01" }), content).await, 1);
        assert_eq!(&socket.message().await["content"], content);
    }
    socket.is_quiet().await;

    client.logout(&token).await.data();
    let (code, reason, frames) = socket.closed().await;
    assert_eq!((code, &*reason, &frames[0]["content"]["event"]), (4401, "signed_out", &json!("ending")));
    assert_eq!(socket.any().await, Frame::End);

    // A refused handshake has a reason, and so has a request without an upgrade.
    let refused = TestSocket::try_open(&proxy.address, &browsers("/api/ws/employee", &token)).await.unwrap_err();
    assert_eq!(refused.refused(401, 1001).reason(), "signed_out");
    let token = client.sign_in("user01").await;
    let answer = client.get("/api/ws/employee", &[("authorization", &format!("Bearer {token}"))]).await;
    assert_eq!(answer.refused(426, 1002).header("upgrade"), Some("websocket"));

    let in_address = handshake(&format!("/api/ws/agent?token={token}"), &[]);
    TestSocket::try_open(&proxy.address, &in_address).await.unwrap_err().refused(403, 1003);
    let log = proxy.log_with("/api/ws/agent");
    assert!(!log.contains(&token) && !log.contains("token="), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxies_carry_sockets_and_how_they_end() {
    let directory = tempfile::tempdir().unwrap();
    let node = Process::serve(&directory.path().join("data"), &[]);
    for start in PROXIES {
        a_socket(&start([&node.address, &node.address]), directory.path()).await;
    }
}

/// What a client received.
#[derive(Debug, Default)]
struct ReceivedFrames {
    contents: Vec<Value>,
    /// The code and reason of each close.
    closed: Vec<(u16, String)>,
}

/// Opens a socket again. A node that is killed may break a handshake; the client retries it.
async fn come_back(proxy: &str, token: &str, last: &str) -> TestSocket {
    let bearer = format!("Bearer {token}");
    let head = handshake(&format!("/api/ws/employee?last_id={last}"), &[("authorization", &bearer)]);
    let began = Instant::now();
    loop {
        match TestSocket::try_open(proxy, &head).await {
            Ok(socket) => return socket,
            Err(answer) => assert!([502, 503].contains(&answer.status) && answer.code() == 1005, "{answer:?}"),
        }
        assert!(began.elapsed() < Duration::from_secs(10), "no node accepts it");
    }
}

/// Listens through a proxy until it receives `false`, and reconnects whenever it is closed.
async fn listen(proxy: String, token: String, everybody: Arc<Barrier>) -> ReceivedFrames {
    let mut received = ReceivedFrames::default();
    let mut socket = TestSocket::open(&proxy, "employee", &token).await;
    let mut last = socket.event("ready").await["id"].as_str().unwrap().to_owned();
    everybody.wait().await;
    loop {
        let away = match socket.next().await {
            Frame::Text(text) => {
                last = text["id"].as_str().unwrap().to_owned();
                if text["msg_type"] == "session" {
                    continue;
                }
                received.contents.push(text["content"].clone());
                if text["content"] == 0 {
                    everybody.wait().await;
                }
                if text["content"] == false {
                    return received;
                }
                continue;
            }
            Frame::Close(code, reason) => (code, reason),
            Frame::End => (1006, String::new()),
            other => panic!("{other:?}"),
        };
        received.closed.push(away);
        socket = come_back(&proxy, &token, &last).await;
        let ready = socket.event("ready").await;
        assert_eq!(ready["content"]["resumed"], true, "{ready}");
    }
}

/// Clients listen through a balancer while one of two nodes stops, and messages are sent through the other meanwhile.
async fn one_of_two_goes(go: fn(Process)) -> Vec<ReceivedFrames> {
    let place = Servers::shared().cluster_store();
    // Before the nodes start: afterwards they learn of it within a second.
    let key = messenger(Operator::At(&place));
    let [one, other] = [Process::node(&place, &[SETTLE]), Process::node(&place, &[SETTLE])];
    let proxy = Proxy::haproxy([&one.address, &other.address]);
    let mut service = Client::connect(&other.address).await;
    let token = service.sign_in("user01").await;
    let everybody = Arc::new(Barrier::new(CLIENTS + 1));
    let listening = (0..CLIENTS).map(|_| listen(proxy.address.clone(), token.clone(), Arc::clone(&everybody)));
    let mut listening: JoinSet<_> = listening.collect();
    let (to, mut sent) = (json!({ "employee_id": "user01" }), vec![json!(0)]);
    wait_for(&everybody, &mut listening).await;
    service.send_card(&key, &to, &sent[0]).await;
    wait_for(&everybody, &mut listening).await;

    let (gone, began) = (tokio::task::spawn_blocking(move || go(one)), Instant::now());
    while !gone.is_finished() || sent.len() < 100 {
        assert!(began.elapsed() < Duration::from_secs(30), "the node does not go");
        sent.push(json!(sent.len()));
        service.send_card(&key, &to, sent.last().unwrap()).await;
    }
    gone.await.unwrap();
    sent.push(json!(false));
    service.send_card(&key, &to, &json!(false)).await;
    let received = listening.join_all().await;
    for received in &received {
        assert_eq!(received.contents, sent, "each once, and in order");
    }
    received
}

async fn wait_for(everybody: &Barrier, listening: &mut JoinSet<ReceivedFrames>) {
    tokio::select! {
        _ = everybody.wait() => {}
        early = listening.join_next() => panic!("{early:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_a_draining_node_goes_on_at_the_other_and_misses_nothing() {
    let received = one_of_two_goes(|node| assert_eq!(node.terminate().0, Some(0))).await;
    let closed: Vec<_> = received.into_iter().flat_map(|received| received.closed).collect();
    assert!((1..CLIENTS).contains(&closed.len()), "{closed:?}");
    assert!(closed.iter().all(|(code, reason)| (*code, &**reason) == (1012, "restarting")), "{closed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_behind_a_proxy_of_a_killed_node_goes_on_at_the_other_and_misses_nothing() {
    let received = one_of_two_goes(Process::kill).await;
    let closed: Vec<_> = received.into_iter().flat_map(|received| received.closed).collect();
    assert!((1..CLIENTS).contains(&closed.len()), "{closed:?}");
    assert!(closed.iter().all(|(code, _)| *code == 1006), "{closed:?}");
}
