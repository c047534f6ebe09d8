//! Sockets of a cluster: messages accepted by one node reach all clients, the end of a session closes its sockets on every node,
//! and a killed node or an outage of Redis or PostgreSQL loses no message.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::harness::{Client, ClusterStore, Operator, Process, Servers, Stopwatch, TestSocket, until};

/// Two nodes on servers that a test may break, and a service key.
struct Cluster {
    servers: Arc<Servers>,
    place: ClusterStore,
    nodes: Vec<Process>,
    key: String,
}

impl Cluster {
    fn start() -> Self {
        let servers = Arc::new(Servers::private());
        let place = servers.cluster_store();
        // Before the nodes start: afterwards they learn of it within a second.
        let shown = Operator::At(&place).succeed(&["service-key", "create", "bot", "--scope", "messages"]);
        let nodes = vec![Process::node(&place, &[]), Process::node(&place, &[])];
        let key = shown.lines().find_map(|line| line.trim().strip_prefix("service key: ")).unwrap().to_owned();
        Self { servers, place, nodes, key }
    }

    fn address(&self, node: usize) -> &str {
        &self.nodes[node].address
    }

    async fn clients(&self) -> [Client; 2] {
        [Client::connect(self.address(0)).await, Client::connect(self.address(1)).await]
    }

    async fn socket(&self, node: usize, token: &str) -> TestSocket {
        let mut socket = TestSocket::open(self.address(node), "employee", token).await;
        socket.event("ready").await;
        socket
    }

    /// Sends cards to user01 until this many sockets are counted, for longer than a node may be silent: a node that is not known
    /// yet is counted only by chance.
    async fn is_counted(&self, sender: &mut Client, sockets: u64) {
        let (began, mut since) = (Instant::now(), Instant::now());
        while since.elapsed() < Duration::from_millis(400) {
            if sender.send_card(&self.key, &to("user01"), &json!("first")).await != sockets {
                since = Instant::now();
            }
            assert!(began.elapsed() < Duration::from_secs(10), "nodes do not count each other");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Runs a slow change of the servers in the background.
    async fn meanwhile(&self, what: fn(&Servers)) {
        let servers = Arc::clone(&self.servers);
        tokio::task::spawn_blocking(move || what(&servers)).await.unwrap();
    }
}

fn to(employee: &str) -> Value {
    json!({ "employee_id": employee })
}

/// Nodes introduce themselves when they start; they do not wait for the next heartbeat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_has_just_started_is_counted_and_counts_the_others() {
    let mut cluster = Cluster::start();
    let [mut one, _] = cluster.clients().await;
    let token = one.sign_in("user01").await;
    let _first = cluster.socket(0, &token).await;
    for round in 0..4 {
        cluster.nodes.push(Process::node(&cluster.place, &[]));
        let mut new = Client::connect(cluster.address(cluster.nodes.len() - 1)).await;
        let _socket = cluster.socket(cluster.nodes.len() - 1, &token).await;
        assert_eq!(one.send_card(&cluster.key, &to("user01"), &json!("to the new")).await, 2, "round {round}");
        assert_eq!(new.send_card(&cluster.key, &to("user01"), &json!("from the new")).await, 2, "round {round}");
        cluster.nodes.pop();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_accepted_by_one_node_reach_all_clients_and_all_are_counted() {
    let cluster = Cluster::start();
    let [mut one, mut other] = cluster.clients().await;
    let token = one.sign_in("user01").await;
    let mut sockets = vec![cluster.socket(0, &token).await, cluster.socket(1, &token).await];
    sockets.push(cluster.socket(1, &token).await);
    // A node is counted once it has been heard of.
    for sender in [&mut one, &mut other] {
        cluster.is_counted(sender, 3).await;
    }
    for round in 0..20 {
        let sender = if round % 2 == 0 { &mut one } else { &mut other };
        assert_eq!(sender.send_card(&cluster.key, &to("user01"), &json!(round)).await, 3);
        assert_eq!(sender.send_card(&cluster.key, &to("agent01"), &json!("not theirs")).await, 0);
    }
    for socket in &mut sockets {
        let mut expected = 0;
        while expected < 20 {
            let content = socket.message().await["content"].clone();
            if content != "first" {
                assert_eq!(content, expected);
                expected += 1;
            }
        }
        socket.is_quiet().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ending_a_session_on_one_node_ends_its_sockets_on_the_other_within_a_second() {
    let cluster = Cluster::start();
    let [mut one, mut other] = cluster.clients().await;
    for round in 0..10 {
        let token = one.sign_in("user01").await;
        until("the other node knows of the role", async || other.is_valid(&token).await).await;
        let mut socket = cluster.socket(1, &token).await;
        let ended = match round % 3 {
            0 => {
                one.logout(&token).await.data();
                (4401, "signed_out")
            }
            1 => {
                Operator::At(&cluster.place).succeed(&["role", "revoke", "user01", "user"]);
                (4403, "role_taken_away")
            }
            _ => {
                Operator::At(&cluster.place).succeed(&["employee", "disable", "user01"]);
                (4401, "disabled")
            }
        };
        let began = Stopwatch::start();
        let closing = tokio::spawn(async move { (socket.closed().await, began.elapsed()) });
        // Sent after the end, on the node where the session ended: the other node may or may not know of the end yet.
        let shown = one.send_card(&cluster.key, &to("user01"), &json!("too late")).await;
        let ((code, reason, said), elapsed) = closing.await.unwrap();
        assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
        assert_eq!((code, &*reason, shown), (ended.0, ended.1, 0));
        assert!(said.iter().all(|frame| frame["msg_type"] == "session"), "{said:?}");
        Operator::At(&cluster.place).succeed(&["employee", "enable", "user01"]);
        Operator::At(&cluster.place).succeed(&["role", "grant", "user01", "user"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_a_killed_node_goes_on_at_the_other_and_misses_nothing() {
    let mut cluster = Cluster::start();
    let [_, mut other] = cluster.clients().await;
    let token = other.sign_in("user01").await;
    let mut socket = cluster.socket(0, &token).await;
    cluster.is_counted(&mut other, 1).await;
    let last = socket.drain().await.last().unwrap()["id"].as_str().unwrap().to_owned();
    cluster.nodes.remove(0).kill();
    for number in 1..=50 {
        other.send_card(&cluster.key, &to("user01"), &json!(number)).await;
    }
    let mut again = TestSocket::resume(cluster.address(0), "employee", &token, Some(&last)).await;
    assert_eq!(again.event("ready").await["content"]["resumed"], true);
    for number in 1..=50 {
        assert_eq!(again.message().await["content"], number);
    }
    // A node that has just started has the earlier messages, too.
    let fresh = Process::node(&cluster.place, &[]);
    let mut third = TestSocket::resume(&fresh.address, "employee", &token, Some(&last)).await;
    assert_eq!(third.event("ready").await["content"]["resumed"], true);
    for number in 1..=50 {
        assert_eq!(third.message().await["content"], number);
    }
    again.is_quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_to_a_role_reaches_users_who_switched_to_it_on_another_node() {
    let cluster = Cluster::start();
    let [_, mut other] = cluster.clients().await;
    let token = other.sign_in("agent01").await;
    let mut socket = cluster.socket(0, &token).await;
    for round in 0..60 {
        let role = if round % 2 == 0 { "user" } else { "agent" };
        // Makes the node read the journal now, so that it reads the switch and the message together.
        other.send_card(&cluster.key, &to("security01"), &json!("not theirs")).await;
        other.switch(&token, role).await.data();
        other.send_card(&cluster.key, &json!({ "role": role }), &json!(round)).await;
        assert_eq!(socket.event("role_changed").await["content"]["current_role"], role);
        assert_eq!(socket.message().await["content"], round);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_traffic_a_client_that_changes_nodes_has_missed_nothing() {
    let cluster = Cluster::start();
    let [mut one, _] = cluster.clients().await;
    let token = one.sign_in("user01").await;
    let mut socket = TestSocket::open(cluster.address(0), "employee", &token).await;
    let ready = socket.event("ready").await;
    let fresh = Process::node(&cluster.place, &[]);
    for address in [cluster.address(1), &fresh.address] {
        let mut again = TestSocket::resume(address, "employee", &token, ready["id"].as_str()).await;
        assert_eq!(again.event("ready").await["content"]["resumed"], true);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_redis_has_lost_is_not_passed_over_in_silence() {
    let cluster = Cluster::start();
    let [mut one, _] = cluster.clients().await;
    let token = one.sign_in("user01").await;
    let mut socket = cluster.socket(1, &token).await;
    cluster.is_counted(&mut one, 1).await;
    let last = socket.drain().await.last().unwrap()["id"].as_str().unwrap().to_owned();
    cluster.meanwhile(Servers::flush_redis).await;
    // The numbers start again: this may be the first message since, or the hundredth.
    until("messages are taken", async || {
        one.send_messages(&cluster.key, &json!({ "to": to("user01"), "msg_type": "ai_thinking" })).await.status == 200
    })
    .await;
    socket.ends_with(1013, "too_slow").await;
    let mut again = TestSocket::resume(cluster.address(1), "employee", &token, Some(&last)).await;
    assert_eq!(again.event("ready").await["content"]["resumed"], false);
}

/// The message that was lost may have been the first, and may not be followed by another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loss_is_noticed_without_another_message() {
    let cluster = Cluster::start();
    let [mut one, _] = cluster.clients().await;
    let token = one.sign_in("user01").await;
    let mut socket = TestSocket::open(cluster.address(1), "employee", &token).await;
    let last = socket.event("ready").await["id"].as_str().unwrap().to_owned();
    cluster.meanwhile(Servers::flush_redis).await;
    socket.ends_with(1013, "too_slow").await;
    // A node that has just started does not know what was lost, either.
    let fresh = Process::node(&cluster.place, &[]);
    for address in [cluster.address(1), &fresh.address] {
        let mut again = TestSocket::resume(address, "employee", &token, Some(&last)).await;
        assert_eq!(again.event("ready").await["content"]["resumed"], false);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_of_many_messages_does_not_wait_for_a_dead_node_once_for_each() {
    let mut cluster = Cluster::start();
    let [_, mut other] = cluster.clients().await;
    let token = other.sign_in("user01").await;
    let mut sockets = vec![cluster.socket(0, &token).await, cluster.socket(1, &token).await];
    cluster.is_counted(&mut other, 2).await;
    cluster.nodes.remove(0).kill();
    let message = json!({ "to": to("user01"), "msg_type": "byod_card", "content": 1 });
    let began = Stopwatch::start();
    let shown = other.send_messages(&cluster.key, &json!({ "messages": vec![message; 100] })).await.data();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(shown["delivered"], 100, "on the node that lives");
    let mut staying = sockets.remove(1);
    let cards = staying.drain().await.into_iter().filter(|frame| frame["content"] == 1);
    assert_eq!(cards.count(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_services_must_retry_and_sockets_stay() {
    let cluster = Cluster::start();
    let [mut one, mut other] = cluster.clients().await;
    let token = one.sign_in("user01").await;
    let mut socket = cluster.socket(1, &token).await;
    cluster.meanwhile(Servers::kill_redis).await;
    let body = json!({ "to": to("user01"), "msg_type": "ai_thinking" });
    one.send_messages(&cluster.key, &body).await.refused(503, 1005);
    socket.is_quiet().await;
    // A session that ends meanwhile closes its socket all the same.
    let ending = other.sign_in("user01").await;
    let mut ended = cluster.socket(1, &ending).await;
    one.logout(&ending).await.data();
    ended.ends_with(4401, "signed_out").await;
    cluster.meanwhile(Servers::start_redis).await;
    // It comes back empty, and its last messages may be lost.
    socket.ends_with(1013, "too_slow").await;
    let mut again = cluster.socket(1, &token).await;
    until("messages are accepted", async || one.send_messages(&cluster.key, &body).await.status == 200).await;
    assert_eq!(again.message().await["msg_type"], "ai_thinking");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_postgres_nothing_is_said_on_doubt_and_all_of_it_later() {
    let cluster = Cluster::start();
    let [mut one, _] = cluster.clients().await;
    let token = one.sign_in("user01").await;
    let mut socket = cluster.socket(1, &token).await;
    cluster.is_counted(&mut one, 1).await;
    socket.drain().await;
    cluster.meanwhile(Servers::stop_postgres).await;
    // For a moment the node still has the key in its cache, and accepts messages that cannot be delivered yet.
    let card = |number: u64| json!({ "to": to("user01"), "msg_type": "byod_card", "content": number });
    let mut accepted = 1;
    while one.send_messages(&cluster.key, &card(accepted)).await.status == 200 {
        accepted += 1;
    }
    socket.is_quiet().await;
    cluster.meanwhile(Servers::start_postgres).await;
    until("messages are accepted", async || one.send_messages(&cluster.key, &card(accepted)).await.status == 200).await;
    for number in 1..=accepted {
        assert_eq!(socket.message().await["content"], number);
    }
}
