//! The in-process store and Redis give the same answers.

use deskpass_core::Digest;
use deskpass_store::{Lease, SharedState};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::shared::server::{Desk, Server, at, patient_node};

/// An operation of an ephemeral store: the record and its lifetime.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Put(u8, i64),
    Look(u8),
    Take(u8),
    Prolong(u8, i64),
    Refuse(u8),
    Watch(u8),
    Wind(i64),
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let ask = prop_oneof![
        (0..3u8, 1..50i64).prop_map(|(name, lasts)| Ask::Put(name, lasts)),
        (0..3u8).prop_map(Ask::Look),
        (0..3u8).prop_map(Ask::Take),
        (0..3u8, 0..50i64).prop_map(|(name, lasts)| Ask::Prolong(name, lasts)),
        (0..3u8).prop_map(Ask::Refuse),
        (0..3u8).prop_map(Ask::Watch),
        (1..30i64).prop_map(Ask::Wind),
    ];
    prop::collection::vec(ask, 1..25)
}

/// The answers of a store to all operations. A step of time is a minute, longer than any test.
async fn answers(desk: &Desk, run: u64, asks: &[Ask]) -> Vec<String> {
    let (mut now, mut answers, mut number) = (0, Vec::new(), 0_u64);
    let name = |name: u8| Digest::of(&[&run.to_be_bytes(), &[name]]);
    for ask in asks {
        number += 1;
        let holder = Digest::of(&[&number.to_be_bytes()]);
        let (time, until) = (at(now * 60_000), |lasts: i64| at((now + lasts) * 60_000));
        answers.push(match *ask {
            Ask::Put(record, lasts) => {
                let lease = Lease { holder, until: until(lasts) };
                format!("{:?}", desk.leases.put(name(record), lease, time).await)
            }
            Ask::Look(record) => format!("{:?}", desk.leases.read_with(&name(record), time, |lease| *lease).await),
            Ask::Take(record) => format!("{:?}", desk.leases.take(&name(record), time).await),
            Ask::Prolong(record, lasts) => {
                let prolong = |lease| Ok::<_, ()>(Lease { until: until(lasts), ..lease });
                format!("{:?}", desk.leases.update(&name(record), time, prolong).await)
            }
            Ask::Refuse(record) => {
                format!("{:?}", desk.leases.update(&name(record), time, Err::<Lease, _>).await)
            }
            Ask::Watch(record) => format!("{:?}", desk.leases.watch(&name(record), time).await.map(|it| it.is_some())),
            Ask::Wind(by) => {
                now += by;
                String::new()
            }
        });
    }
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_and_redis_answer_alike() {
    let server = Server::start(&[]);
    let (here, there) = (SharedState::in_process(), patient_node(&server.url()));
    let (runtime, mut run) = (tokio::runtime::Handle::current(), 0);
    tokio::task::block_in_place(|| {
        let runner = &mut TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
        let run = std::cell::RefCell::new(&mut run);
        let same = runner.run(&asks(), |asks| {
            **run.borrow_mut() += 1;
            let number = **run.borrow();
            let (one, other) =
                runtime.block_on(async { (answers(&here, number, &asks).await, answers(&there, number, &asks).await) });
            prop_assert_eq!(one, other);
            Ok(())
        });
        same.unwrap();
    });
}

#[tokio::test]
async fn redis_expires_records() {
    let server = Server::start(&[]);
    let there = patient_node(&server.url());
    let lease = Lease { holder: Digest::of(&[]), until: at(120_000) };
    assert!(there.leases.put(Digest::of(&[b"a"]), lease, at(0)).await.unwrap());
    let key = format!("test:1:lease:{}", Digest::of(&[b"a"]).to_text());
    let left: i64 = server.cli(&["PTTL", &key]).trim().parse().unwrap();
    assert!((110_000..=120_000).contains(&left), "{left}");
    let prolonged = |lease| Ok::<_, ()>(Lease { until: at(600_000), ..lease });
    there.leases.update(&Digest::of(&[b"a"]), at(0), prolonged).await.unwrap();
    let left: i64 = server.cli(&["PTTL", &key]).trim().parse().unwrap();
    assert!((590_000..=600_000).contains(&left), "{left}");
    assert_eq!(there.leases.len(), 1);
}
