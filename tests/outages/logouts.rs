//! A logout takes effect on every node, whatever fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Cluster, HEALED, LAG, bearer, soon};
use crate::harness::{Client, Process, Servers, Stopwatch, request, rounds};

/// Signs out on one node a session that the other has cached, and watches the other.
async fn one_logout([here, there]: &mut [Client; 2], slowest: &AtomicUsize) {
    let token = here.sign_in("user01").await;
    assert!(there.is_valid(&token).await);
    here.logout(&token).await.data();
    let acknowledged = Stopwatch::start();
    assert!(!here.is_valid(&token).await, "still good where it was signed out");
    loop {
        // The other node decides after this moment, so its answer counts from here.
        let asked = acknowledged.elapsed();
        if !there.is_valid(&token).await {
            slowest.fetch_max(usize::try_from(asked.as_millis()).unwrap(), Ordering::Relaxed);
            break;
        }
        assert!(asked < LAG, "still good elsewhere {asked:?} after the logout");
    }
    assert!(!there.is_valid(&token).await && !here.is_valid(&token).await, "came back to life");
}

/// Breaks Redis in every possible way, again and again.
async fn torment(servers: Arc<Servers>, enough: Arc<AtomicBool>) -> usize {
    let mut rounds = 0;
    while !enough.load(Ordering::Relaxed) || rounds == 0 {
        let servers = Arc::clone(&servers);
        tokio::task::spawn_blocking(move || {
            let pause = |millis| std::thread::sleep(Duration::from_millis(millis));
            servers.kill_redis();
            pause(700);
            servers.start_redis();
            pause(500);
            servers.pause_redis();
            pause(1_500);
            servers.resume_redis();
            pause(300);
            servers.flush_redis();
            pause(300);
        })
        .await
        .unwrap();
        rounds += 1;
    }
    rounds
}

async fn many_logouts(cluster: &Cluster, rounds: usize) -> usize {
    const WORKERS: usize = 8;
    let slowest = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for at in 0..WORKERS {
        let (mut clients, slowest) = (cluster.clients().await, Arc::clone(&slowest));
        workers.spawn(async move {
            for round in 0..rounds / WORKERS {
                if (at + round) % 2 == 1 {
                    clients.swap(0, 1);
                }
                one_logout(&mut clients, &slowest).await;
            }
        });
    }
    workers.join_all().await;
    slowest.load(Ordering::Relaxed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_logout_counts_everywhere_within_a_second_whatever_becomes_of_redis() {
    let cluster = Cluster::with_patience();
    let logouts = std::env::var("TORTURE_LOGOUTS").ok().and_then(|logouts| logouts.parse().ok()).unwrap_or(400);
    let calm = many_logouts(&cluster, logouts / 5).await;
    let enough = Arc::new(AtomicBool::new(false));
    let torment = tokio::spawn(torment(Arc::clone(&cluster.servers), Arc::clone(&enough)));
    let broken = many_logouts(&cluster, logouts - logouts / 5).await;
    enough.store(true, Ordering::Relaxed);
    let rounds = torment.await.unwrap();
    println!("slowest: {calm} ms; {broken} ms while Redis was broken {rounds} times over");
}

/// Changes that no node could announce: Redis is gone, and so is the node, right after the commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_logout_that_was_not_announced_counts_too() {
    let servers = Servers::private();
    let place = servers.cluster_store();
    let (here, there) = (Process::node(&place, &[]), Process::node(&place, &[]));
    let mut clients = [Client::connect(&here.address).await, Client::connect(&there.address).await];
    let mut tokens = Vec::new();
    for _ in 0..50 {
        let token = clients[0].sign_in("user01").await;
        assert!(clients[1].is_valid(&token).await);
        tokens.push(token);
    }
    servers.kill_redis();
    let mut all = Vec::new();
    for token in &tokens {
        let mut client = Client::connect(&here.address).await;
        client.start(&bearer("POST", "/api/auth/logout", token, "")).await;
        all.push(client);
    }
    let ended = "SELECT count(*) FROM denied_token";
    soon(HEALED, "a logout", async || place.query(ended) != ["0"]).await;
    here.kill();
    sleep(LAG).await;
    // Logouts that were committed before the node died count, and the others do not: the database decides.
    let ended: usize = place.query(ended)[0].parse().unwrap();
    let mut valid = 0;
    for token in &tokens {
        valid += usize::from(clients[1].is_valid(token).await);
    }
    assert_eq!(valid + ended, tokens.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stood_still_does_not_believe_what_it_remembers() {
    let cluster = Cluster::start();
    let [mut here, mut there] = cluster.clients().await;
    for _ in 0..rounds(10) {
        let token = here.sign_in("user01").await;
        assert!(there.is_valid(&token).await);
        cluster.nodes[1].pause();
        here.logout(&token).await.data();
        sleep(LAG).await;
        let bytes = request(
            "POST",
            "/api/auth/verify",
            &[("content-type", "application/json")],
            json!({ "token": token }).to_string().as_bytes(),
        );
        there.start(&bytes).await;
        cluster.nodes[1].resume();
        let answer = there.read().await.unwrap();
        assert_eq!(answer.data()["valid"], false, "{answer:?}");
    }
}
