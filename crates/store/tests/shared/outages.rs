//! Outages of Redis and the recovery from them.

use std::time::Duration;

use deskpass_core::Digest;
use deskpass_store::{Lease, StoreErrorKind};

use crate::shared::server::{Desk, Server, at, eventually, free_port, in_time, node, works};
use crate::stopwatch::Stopwatch;

const LONG: Duration = Duration::from_secs(5);

fn lease() -> Lease {
    Lease { holder: Digest::of(&[]), until: at(600_000) }
}

/// Asserts that every operation fails soon, and later ones immediately.
async fn all_fail(node: &Desk) {
    let name = Digest::of(&[b"a"]);
    eventually("it is noticed", LONG, || async { in_time(node.probe()).await.is_err() }).await;
    // The first operations after the outage wait for their timeout.
    tokio::time::timeout(LONG, async {
        loop {
            let begun = Stopwatch::start();
            let error = in_time(node.probe()).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::SharedUnavailable);
            if begun.elapsed() < Duration::from_millis(50) {
                break;
            }
        }
    })
    .await
    .expect("after the timeout no request waits");
    let begun = Stopwatch::start();
    for _ in 0..100 {
        in_time(node.leases.put(name, lease(), at(0))).await.unwrap_err();
        in_time(node.leases.read_with(&name, at(0), |_| ())).await.unwrap_err();
        in_time(node.leases.take(&name, at(0))).await.unwrap_err();
        in_time(node.leases.update(&name, at(0), Ok::<_, ()>)).await.unwrap_err();
        in_time(node.leases.watch(&name, at(0))).await.map(drop).unwrap_err();
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "five hundred calls: {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_killed_server_that_comes_back_empty_is_found_again() {
    let mut server = Server::start(&[]);
    let node = node(&server.url());
    for round in 0..3_u8 {
        works(&node, LONG).await;
        assert!(node.leases.put(Digest::of(&[&[round]]), lease(), at(0)).await.unwrap());
        server.kill();
        all_fail(&node).await;
        server.begin();
    }
    works(&node, LONG).await;
    assert_eq!(node.leases.read_with(&Digest::of(&[&[0]]), at(0), |_| ()).await.unwrap(), None);
}

#[tokio::test]
async fn a_paused_server_makes_no_caller_wait() {
    let server = Server::start(&[]);
    let node = node(&server.url());
    for round in 0..3_u8 {
        works(&node, LONG).await;
        assert!(node.leases.put(Digest::of(&[&[round]]), lease(), at(0)).await.unwrap());
        server.signal("STOP");
        all_fail(&node).await;
        server.signal("CONT");
    }
    works(&node, LONG).await;
    assert_eq!(node.leases.read_with(&Digest::of(&[&[0]]), at(0), |lease| *lease).await.unwrap(), Some(lease()));
}

#[tokio::test]
async fn a_node_starts_without_its_server() {
    let port = free_port();
    let node = node(&format!("redis://127.0.0.1:{port}"));
    all_fail(&node).await;
}

#[tokio::test]
async fn a_server_that_became_read_only_is_abandoned() {
    let server = Server::start(&[]);
    let node = node(&server.url());
    works(&node, LONG).await;
    server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    eventually("it is noticed", LONG, || async { in_time(node.probe()).await.is_err() }).await;
    server.cli(&["REPLICAOF", "NO", "ONE"]);
    works(&node, LONG).await;
}

/// With `min-replicas-to-write`, a master that was cut off takes no writes, while the others have a new one.
#[tokio::test]
async fn a_master_without_its_replicas_is_abandoned() {
    let server = Server::start(&[]);
    let node = node(&server.url());
    works(&node, LONG).await;
    server.cli(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    in_time(node.probe()).await.unwrap_err();
    // The connection itself is fine.
    eventually("another master is looked for", LONG, || async { !node.is_up() }).await;
    server.cli(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    works(&node, LONG).await;
}

#[tokio::test]
async fn flushing_loses_records_and_nothing_else() {
    let server = Server::start(&[]);
    let node = node(&server.url());
    let name = Digest::of(&[b"a"]);
    assert!(node.leases.put(name, lease(), at(0)).await.unwrap());
    server.cli(&["FLUSHALL"]);
    server.cli(&["SCRIPT", "FLUSH"]);
    assert_eq!(node.leases.read_with(&name, at(0), |_| ()).await.unwrap(), None);
    assert!(node.leases.put(name, lease(), at(0)).await.unwrap());
    assert!(node.leases.update(&name, at(0), Ok::<_, ()>).await.unwrap().is_some());
}
