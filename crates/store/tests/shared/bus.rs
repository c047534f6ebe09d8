//! Changes on one node reach the other.

use std::time::Duration;

use deskpass_core::Digest;
use deskpass_store::Lease;
use tokio::time::timeout;

use crate::shared::server::{Desk, Server, at, eventually, node, works};

/// Longer than any operation here takes.
const LONG: Duration = Duration::from_secs(5);

fn lease() -> Lease {
    Lease { holder: Digest::of(&[]), until: at(600_000) }
}

/// Waits until a node listens: its own nudges do not return to it, so another node sends one.
async fn listens(from: &Desk, to: &Desk) {
    let nudged = to.bus().unwrap().nudged();
    eventually("a node listens", LONG, || async {
        from.bus().unwrap().nudge();
        timeout(Duration::from_millis(200), nudged.notified()).await.is_ok()
    })
    .await;
}

/// Asserts that a watcher on `to` is notified of changes on `from`.
async fn tells(from: &Desk, to: &Desk, name: Digest) {
    for step in ["change", "take"] {
        let changes = to.leases.watch(&name, at(0)).await.unwrap().unwrap();
        let next = changes.next();
        match step {
            "change" => drop(from.leases.update(&name, at(0), Ok::<_, ()>).await.unwrap()),
            _ => drop(from.leases.take(&name, at(0)).await.unwrap()),
        }
        timeout(LONG, next).await.expect(step);
    }
}

#[tokio::test]
async fn a_change_on_one_node_wakes_watchers_on_the_other() {
    let server = Server::start(&[]);
    let (a, b) = (node(&server.url()), node(&server.url()));
    listens(&a, &b).await;
    for round in 0..20_u8 {
        let name = Digest::of(&[&[round]]);
        assert!(a.leases.put(name, lease(), at(0)).await.unwrap());
        tells(&a, &b, name).await;
    }
}

#[tokio::test]
async fn a_nudge_reaches_the_other_node_only() {
    let server = Server::start(&[]);
    let (a, b) = (node(&server.url()), node(&server.url()));
    listens(&a, &b).await;
    listens(&b, &a).await;
    // Drains the nudges of the previous two calls.
    for node in [&a, &b] {
        while timeout(Duration::from_millis(300), node.bus().unwrap().nudged().notified()).await.is_ok() {}
    }
    a.bus().unwrap().nudge();
    timeout(LONG, b.bus().unwrap().nudged().notified()).await.expect("the other node is nudged");
    // Its own nudge would have arrived by then: a server sends to all subscribers at once.
    let own = timeout(Duration::from_millis(50), a.bus().unwrap().nudged().notified()).await;
    assert!(own.is_err(), "a node does not notify itself");
}

#[tokio::test]
async fn watchers_wake_after_a_restart() {
    let mut server = Server::start(&[]);
    let (a, b) = (node(&server.url()), node(&server.url()));
    listens(&a, &b).await;
    let name = Digest::of(&[b"a"]);
    assert!(a.leases.put(name, lease(), at(0)).await.unwrap());
    let changes = b.leases.watch(&name, at(0)).await.unwrap().unwrap();
    let next = changes.next();
    server.kill();
    timeout(LONG, next).await.expect("waiting readers learn that the connection is lost");
    server.begin();
    works(&a, LONG).await;
    works(&b, LONG).await;
    assert!(a.leases.put(name, lease(), at(0)).await.unwrap(), "it came back empty");
    listens(&a, &b).await;
    tells(&a, &b, name).await;
}

#[tokio::test]
async fn watchers_wake_after_a_pause() {
    let server = Server::start(&[]);
    let (a, b) = (node(&server.url()), node(&server.url()));
    listens(&a, &b).await;
    let name = Digest::of(&[b"a"]);
    assert!(a.leases.put(name, lease(), at(0)).await.unwrap());
    let next = b.leases.watch(&name, at(0)).await.unwrap().unwrap().next();
    server.signal("STOP");
    timeout(LONG, next).await.expect("a connection that says nothing is given up");
    server.signal("CONT");
    works(&a, LONG).await;
    works(&b, LONG).await;
    listens(&a, &b).await;
    tells(&a, &b, name).await;
}
