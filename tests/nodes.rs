//! Several nodes with one PostgreSQL and one Redis.

use std::time::{Duration, Instant};

use crate::harness::{Client, Platform, Process, Proxy, Servers, Stage, TestDesk, free_address, settings};

const DEV: (&str, &str) = ("development.enabled", "true");

/// Waits until a token is dead on a node; a second is what they promise.
async fn dies_within_a_second(client: &mut Client, token: &str) {
    let deadline = Instant::now() + Duration::from_secs(1);
    while client.is_valid(token).await {
        assert!(Instant::now() < deadline, "still valid");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_begins_another_knows_and_ends() {
    Stage::ScaledOut.run(Box::pin(begins_and_ends())).await;
}

async fn begins_and_ends() {
    let one = TestDesk::start().await;
    let other = one.second().await;
    let (mut here, mut there) = (one.client().await, other.client().await);
    let token = here.sign_in("admin01").await;
    assert!(here.is_valid(&token).await && there.is_valid(&token).await);
    there.logout(&token).await.data();
    assert!(!there.is_valid(&token).await);
    dies_within_a_second(&mut here, &token).await;
    assert_eq!(one.query("SELECT event FROM login_log ORDER BY rowid"), ["sign_in", "logout"]);
    let one = one.restart().await;
    assert!(!one.client().await.is_valid(&token).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_a_session_is_still_checked_and_ended() {
    let servers = Servers::private();
    let desk = TestDesk::at(&servers.place(), settings(&[DEV])).await;
    let mut client = desk.client().await;
    let token = client.sign_in("admin01").await;
    servers.kill_redis();
    assert!(client.is_valid(&token).await);
    client.logout(&token).await.data();
    assert!(!client.is_valid(&token).await);
}

#[tokio::test]
async fn processes_behind_a_proxy_are_one_desk() {
    let place = Servers::shared().place();
    let [one, other] = [(), ()].map(|()| Process::node(&place, &[("listen", &free_address())]));
    let proxy = Proxy::haproxy([&one.address, &other.address]);
    let token = Client::connect(&proxy.address).await.sign_in("admin01").await;
    for _ in 0..50 {
        assert!(Client::connect(&proxy.address).await.is_valid(&token).await);
    }
    // A node that hangs is noticed by its checks; until then a request may have to wait for it.
    one.pause();
    assert!(Client::connect(&other.address).await.is_valid(&token).await);
    one.resume();
    one.kill();
    for _ in 0..50 {
        assert!(Client::connect(&proxy.address).await.is_valid(&token).await);
    }
    assert_eq!(other.terminate().0, Some(0));
}

#[tokio::test]
async fn production_runs_on_the_pair() {
    let platform = Platform::start("desk.example.com").await;
    let pairs = platform.pairs();
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (*key, &**value)).collect();
    let place = Servers::shared().place();
    let node = Process::production_node(&place, &pairs);
    assert_eq!(Client::connect(&node.address).await.get("/api/ready", &[]).await.data()["mode"], "production");
    assert_eq!(place.query("SELECT count(*) FROM employee"), ["0"]);
}
