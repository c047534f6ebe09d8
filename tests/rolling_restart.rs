//! Nodes that restart one after the other behind a balancer, without a failed request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use crate::harness::{Client, Process, Proxy, Servers, free_address};

/// Each node restarts three times.
const ROUNDS: usize = 6;
/// Longer than the balancer needs to notice, shorter than the default to keep the test fast.
const SETTLE: (&str, &str) = ("server.settle", "3s");

/// Sends requests of many kinds until told to stop; every response must be a success.
async fn ask(proxy: String, enough: Arc<AtomicBool>, asked: Arc<AtomicUsize>) {
    let mut client = Client::connect(&proxy).await;
    let kept = client.sign_in("admin01").await;
    while !enough.load(Ordering::Relaxed) {
        assert!(client.is_valid(&kept).await);
        client.me(&kept).await.data();
        let other = client.sign_in("user01").await;
        client.switch(&kept, "agent").await.data();
        client.switch(&kept, "admin").await.data();
        client.logout(&other).await.data();
        if asked.fetch_add(6, Ordering::Relaxed).is_multiple_of(5) {
            // New connections must succeed too.
            client = Client::connect(&proxy).await;
        }
    }
}

/// The node to which the balancer passes a request.
async fn who(proxy: &str) -> String {
    let answer = Client::connect(proxy).await.post("/api/auth/verify", &[], &json!({ "token": "nobody" })).await;
    answer.header("x-served-by").unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_is_not_noticed() {
    let place = Servers::shared().cluster_store();
    let addresses = [free_address(), free_address()];
    let start = |at: usize| Process::node(&place, &[("listen", &*addresses[at]), SETTLE]);
    let mut nodes = [Some(start(0)), Some(start(1))];
    let proxy = Proxy::haproxy([&addresses[0], &addresses[1]]);
    let (enough, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut load = JoinSet::new();
    for _ in 0..4 {
        load.spawn(ask(proxy.address.clone(), Arc::clone(&enough), Arc::clone(&asked)));
    }
    for round in 0..ROUNDS {
        let at = round % 2;
        let node = nodes[at].take().unwrap();
        let (code, _) = tokio::task::spawn_blocking(move || node.terminate()).await.unwrap();
        assert_eq!(code, Some(0));
        nodes[at] = Some(start(at));
        let (restarted, began) = (["node1", "node2"][at], Instant::now());
        // The other node must not stop before the balancer sends requests to this one.
        while who(&proxy.address).await != restarted {
            assert!(began.elapsed() < Duration::from_secs(10), "the balancer does not take the node back");
        }
        assert_eq!(load.len(), 4);
    }
    enough.store(true, Ordering::Relaxed);
    // Panics where any response was not a success.
    load.join_all().await;
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked > ROUNDS * 50, "only {asked} requests: this test looks at nothing");
    println!("{asked} requests during {ROUNDS} restarts");
}
