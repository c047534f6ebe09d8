//! For any order of writes, pruning and tampering: exactly the tampered rows are found.

use std::collections::BTreeSet;

use deskpass_store::LogFaultKind;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::log::fixture::Fixture;

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u8),
    Prune(u8),
    Tamper(Tampering, u8),
}

#[derive(Clone, Copy, Debug)]
enum Tampering {
    Column(&'static str),
    Remove,
}

const COLUMNS: [&str; 8] =
    ["event", "corp_id", "employee_key", "ip_address", "user_agent", "login_method", "detail", "hash"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let tampering = prop_oneof![
        3 => (0..COLUMNS.len()).prop_map(|column| Tampering::Column(COLUMNS[column])),
        1 => Just(Tampering::Remove),
    ];
    let step = prop_oneof![
        4 => (1..30_u8).prop_map(Step::Write),
        1 => any::<u8>().prop_map(Step::Prune),
        1 => (tampering, any::<u8>()).prop_map(|(tampering, which)| Step::Tamper(tampering, which)),
    ];
    prop::collection::vec(step, 1..12)
}

/// Applies the steps to a service; returns the places that were tampered with.
async fn play(fixture: &Fixture, steps: &[Step]) -> BTreeSet<(i64, i64)> {
    let (mut now, mut tampered) = (0, BTreeSet::new());
    for step in steps {
        match step {
            Step::Write(rows) => {
                fixture.write(now..now + i64::from(*rows)).await;
                now += i64::from(*rows);
            }
            Step::Prune(part) => drop(fixture.prune(now * i64::from(*part) / 512).await),
            Step::Tamper(tampering, which) => tampered.extend(tamper(fixture, *tampering, usize::from(*which)).await),
        }
    }
    tampered
}

/// Tampers with a row that is untouched, like its neighbours.
async fn tamper(fixture: &Fixture, tampering: Tampering, which: usize) -> Option<(i64, i64)> {
    let free = "SELECT chain, seq FROM login_log l WHERE NOT EXISTS (SELECT 1 FROM touched t WHERE t.chain = l.chain
        AND t.seq BETWEEN l.seq - 2 AND l.seq + 2) ORDER BY id";
    fixture.sql("CREATE TABLE IF NOT EXISTS touched (chain BIGINT, seq BIGINT)").await;
    let rows = fixture.sql(free).await;
    let row = rows.get(which % rows.len().max(1))?;
    let place: Vec<i64> = row.iter().map(|number| number.as_ref().unwrap().parse().unwrap()).collect();
    let (chain, seq) = (place[0], place[1]);
    fixture.sql(&format!("INSERT INTO touched VALUES ({chain}, {seq})")).await;
    fixture
        .sql(&match tampering {
            Tampering::Column(column) => {
                format!("UPDATE login_log SET {column} = {column} || 'x' WHERE chain = {chain} AND seq = {seq}")
            }
            Tampering::Remove => format!("DELETE FROM login_log WHERE chain = {chain} AND seq = {seq}"),
        })
        .await;
    Some((chain, seq))
}

fn check(runtime: &tokio::runtime::Runtime, fixture: &Fixture, steps: &[Step]) -> Result<(), TestCaseError> {
    runtime.block_on(async {
        let tampered = play(fixture, steps).await;
        let verdict = fixture.verify().await;
        let stores = |what: fn(LogFaultKind) -> bool| {
            let faults = verdict.faults.iter().filter(move |fault| what(fault.what));
            faults.flat_map(|fault| (fault.first..=fault.last).map(|seq| (fault.chain, seq))).collect::<BTreeSet<_>>()
        };
        prop_assert_eq!(stores(|_| true), tampered, "{:?}", verdict.faults);
        prop_assert_eq!(verdict.more, 0);
        Ok(())
    })
}

fn run(cases: u32, fixture: impl Fn(&tokio::runtime::Runtime) -> Fixture) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    runner.run(&steps(), |steps| check(&runtime, &fixture(&runtime), &steps)).unwrap();
}

#[test]
fn exactly_the_tampered_rows_are_found_embedded() {
    run(40, |runtime| runtime.block_on(Fixture::embedded()));
}

#[test]
fn exactly_the_tampered_rows_are_found_scaled_out() {
    run(12, |runtime| runtime.block_on(Fixture::scaled_out()));
}
