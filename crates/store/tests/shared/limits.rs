//! Rate limits that nodes share.

use std::time::Duration;

use deskpass_core::{Digest, Rate};
use deskpass_store::{LimitSubject, SharedState};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::shared::server::{Desk, Server, at, eventually, node, patient_node, works};
use crate::stopwatch::Stopwatch;

const LONG: Duration = Duration::from_secs(5);
/// Too large for a number that Lua formats by itself.
const START: i64 = 1_800_000_000_123;

fn a_minute(count: u32) -> Rate {
    Rate::new(count, Duration::from_mins(1)).unwrap()
}

fn key(name: &str) -> Digest {
    Digest::of(&[name.as_bytes()])
}

async fn admit(node: &Desk, name: &str, rate: Rate, millis: i64) -> Result<(), Duration> {
    node.limits.admit(LimitSubject::Client, &key(name), rate, at(START + millis)).await
}

async fn is_exhausted(node: &Desk, name: &str, rate: Rate, millis: i64) -> bool {
    node.limits.is_exhausted(LimitSubject::Client, &key(name), rate, at(START + millis)).await
}

/// How many requests a node admits at once.
async fn burst(node: &Desk, name: &str, rate: Rate) -> usize {
    let mut count = 0;
    while admit(node, name, rate, 0).await.is_ok() {
        count += 1;
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_and_redis_count_alike() {
    let server = Server::start(&[]);
    // The nodes take turns, so that neither has counted everything itself.
    let (here, there) = (SharedState::in_process(), [patient_node(&server.url()), patient_node(&server.url())]);
    let runtime = tokio::runtime::Handle::current();
    let asks = (1..40_u32, prop::collection::vec(prop_oneof![Just(0_i64), 0..9_000_i64], 1..60));
    let runs = std::cell::Cell::new(0);
    tokio::task::block_in_place(|| {
        let runner = &mut TestRunner::new(Config { cases: 100, failure_persistence: None, ..Config::default() });
        let same = runner.run(&asks, |(count, gaps)| {
            runs.set(runs.get() + 1);
            let (name, rate, mut now) = (runs.get().to_string(), a_minute(count), 0);
            for (turn, gap) in gaps.iter().enumerate() {
                now += gap;
                let there = there.get(turn % 2).unwrap();
                // Asking counts nothing.
                let told = [&here, there].map(|node| runtime.block_on(is_exhausted(node, &name, rate, now)));
                let one = runtime.block_on(admit(&here, &name, rate, now));
                let other = runtime.block_on(admit(there, &name, rate, now));
                prop_assert_eq!(one, other);
                prop_assert_eq!(told, [one.is_err(); 2]);
            }
            Ok(())
        });
        same.unwrap();
    });
}

#[tokio::test]
async fn nodes_share_the_count_of_concurrent_requests() {
    let server = Server::start(&[]);
    let nodes = [patient_node(&server.url()), patient_node(&server.url())];
    let asks = (0..100).map(|turn| admit(nodes.get(turn % 2).unwrap(), "a", a_minute(30), 0));
    let admitted = futures_util::future::join_all(asks).await;
    assert_eq!(admitted.iter().filter(|admitted| admitted.is_ok()).count(), 30);
    assert!(admitted.iter().filter_map(|admitted| admitted.err()).all(|wait| wait == Duration::from_secs(2)));
}

#[tokio::test]
async fn without_redis_every_node_counts_for_itself_and_nothing_is_forgotten() {
    let mut server = Server::start(&[]);
    let (one, other) = (node(&server.url()), node(&server.url()));
    let rate = a_minute(10);
    assert_eq!(burst(&one, "before", rate).await, 10);
    assert_eq!(burst(&other, "before", rate).await, 0);
    for _ in 0..5 {
        admit(&one, "half", rate, 0).await.unwrap();
    }
    server.kill();
    for node in [&one, &other] {
        eventually("it is noticed", LONG, || async { node.probe().await.is_err() }).await;
    }
    assert_eq!((burst(&one, "before", rate).await, burst(&other, "before", rate).await), (0, 0));
    assert_eq!((burst(&one, "half", rate).await, burst(&other, "half", rate).await), (5, 10));
    let begun = Stopwatch::start();
    for name in 0..500 {
        admit(&one, &name.to_string(), rate, 0).await.unwrap();
    }
    assert!(begun.elapsed() < Duration::from_millis(500), "five hundred: {:?}", begun.elapsed());
    server.begin();
    works(&one, LONG).await;
    works(&other, LONG).await;
    assert_eq!((burst(&one, "before", rate).await, burst(&one, "half", rate).await), (0, 0), "it came back empty");
    assert_eq!(burst(&one, "after", rate).await, 10);
    assert_eq!(burst(&other, "after", rate).await, 0, "together again");
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_once() {
    let server = Server::start(&[]);
    let node = node(&server.url());
    works(&node, LONG).await;
    server.signal("STOP");
    let begun = Stopwatch::start();
    assert_eq!(burst(&node, "a", a_minute(300)).await, 300);
    server.signal("CONT");
    assert!(begun.elapsed() < Duration::from_millis(1_500), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn redis_shows_no_names_and_forgets_paid_debts() {
    let server = Server::start(&[]);
    let node = node(&server.url());
    admit(&node, "192.0.2.1", a_minute(30), 0).await.unwrap();
    admit(&node, "192.0.2.1", a_minute(30), 0).await.unwrap();
    let listed = server.cli(&["KEYS", "*:limit:*"]);
    let names: Vec<_> = listed.lines().collect();
    let [name] = names.as_slice() else { panic!("{names:?}") };
    for known in ["192.0.2.1", &key("192.0.2.1").to_text()] {
        assert!(!name.contains(known), "{name}");
    }
    let left: i64 = server.cli(&["PTTL", name]).trim().parse().unwrap();
    assert!((3_000..=4_000).contains(&left), "{left}");
    assert_eq!(server.cli(&["GET", name]).trim(), ((START + 4_000) * 1_000).to_string());
}

#[tokio::test]
async fn an_invalid_count_in_redis_is_harmless() {
    let server = Server::start(&[]);
    let (one, other) = (patient_node(&server.url()), patient_node(&server.url()));
    admit(&one, "a", a_minute(2), 0).await.unwrap();
    let name = server.cli(&["KEYS", "*:limit:*"]).trim().to_owned();
    for garbage in ["", "x", "nan", "inf", "-inf", "1e400", "0x7fffffffffffffffff", "99999999999999999999999"] {
        server.cli(&["SET", &name, garbage]);
        let admitted = admit(&other, "a", a_minute(2), 0).await;
        assert!(admitted.err().unwrap_or_default() <= Duration::from_secs(30), "{garbage:?}: {admitted:?}");
    }
    server.cli(&["DEL", &name]);
    server.cli(&["LPUSH", &name, "x"]);
    let _ = admit(&other, "a", a_minute(2), 0).await;
    server.cli(&["DEL", &name]);
    assert_eq!(admit(&other, "a", a_minute(2), 60_000).await, Ok(()));
}
