//! Upgrades of data on PostgreSQL that is in use: by nodes of the earlier release, and by vacuum.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio::task::{JoinSet, spawn_blocking};

use super::{FIRST, OldData};
use crate::harness::{ClusterStore, Servers, until};

/// The rows of the log that `make torture` upgrades, and the employees, all of whom are signed in.
const LOG_ROWS: usize = 5_000_000;
const EMPLOYEES: usize = 500_000;

/// Adds rows to the log, in chains of their own.
fn add_log_rows(place: &ClusterStore, rows: usize) {
    place.query(&format!(
        "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
         peer_address, user_agent, detail, chain, seq, hash, decided_address)
         SELECT lpad(to_hex(n), 32, '0'), n, 'sign_in', 'wwdeskpass', 'person' || (n % 100000), 3, 'qrcode', 'h5', '192.0.2.1',
         '192.0.2.1', 'Mozilla/5.0', '', 100 + n % 8, n, md5(n::text), '192.0.2.1' FROM generate_series(1, {rows}) AS n"
    ));
}

fn add_signed_in_employees(place: &ClusterStore) {
    place.query(&format!(
        "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at, terms_of)
         SELECT 'wwdeskpass', 'person' || n, 'person' || n, 'Name', '', '', 0, 'Name' FROM generate_series(1, {EMPLOYEES}) AS n;
         INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
         SELECT 'session' || n, 'wwdeskpass', 'person' || n, 3, 'qrcode', 'h5', n, 9000000000000
         FROM generate_series(1, {EMPLOYEES}) AS n"
    ));
}

/// Writes what a sign-in at a node of 0.1.0 writes, with its timeout, until told to stop; returns how often.
async fn sign_in(place: ClusterStore, number: usize, enough: Arc<AtomicBool>) -> usize {
    let client = place.hold("SET statement_timeout = 1500").await;
    let mut times = 0;
    while !enough.load(Ordering::Relaxed) {
        let person = format!("'wwdeskpass', 'person{}'", (times * 4 + number) % EMPLOYEES + 1);
        for statement in [
            "BEGIN".to_owned(),
            format!("UPDATE employee SET last_login_at = {times} WHERE (corp_id, employee_key) = ({person})"),
            format!(
                "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
                 VALUES ('session{number} {times}', {person}, 3, 'qrcode', 'h5', 0, 9000000000000)"
            ),
            format!("SELECT seq FROM log_chain WHERE chain = {} FOR UPDATE", times % 8),
            format!(
                "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
                 peer_address, user_agent) VALUES ('ffff{number} {times}', 0, 'sign_in', {person}, 3, 'qrcode', 'h5',
                 '192.0.2.1', '192.0.2.1', 'Mozilla/5.0')"
            ),
            "COMMIT".to_owned(),
        ] {
            let done = client.batch_execute(&statement).await;
            done.unwrap_or_else(|error| panic!("after {times} sign-ins: {statement}: {error:?}"));
        }
        times += 1;
    }
    times
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "millions of rows take minutes: make torture runs it"]
async fn no_sign_in_fails_during_the_upgrade_of_a_large_log() {
    let servers = Servers::private();
    let data = OldData::at(FIRST, Some(servers.cluster_store())).await;
    let place = data.place.clone().unwrap();
    add_signed_in_employees(&place);
    add_log_rows(&place, LOG_ROWS);
    let (enough, mut load) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for number in 0..4 {
        load.spawn(sign_in(place.clone(), number, Arc::clone(&enough)));
    }
    let began = Instant::now();
    spawn_blocking(move || data.succeed(&["migrate"])).await.unwrap();
    let took = began.elapsed();
    enough.store(true, Ordering::Relaxed);
    // Panics where a sign-in failed.
    let times = load.join_all().await.into_iter().sum::<usize>();
    assert!(times > 100, "only {times} sign-ins: this test looks at nothing");
    println!("{times} sign-ins while {LOG_ROWS} rows were upgraded in {took:?}");
}

/// On a large table automatic vacuum takes hours. It gives way to those who wait for `deadlock_timeout`, and for that long nobody may have to wait
/// behind a migration.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_does_not_wait_for_the_end_of_a_vacuum() {
    let servers = Servers::private();
    servers.postgres_command("ALTER SYSTEM SET autovacuum_naptime = '1s'");
    servers.postgres_command("ALTER SYSTEM SET deadlock_timeout = '6s'");
    servers.postgres_command("SELECT pg_reload_conf()");
    let data = OldData::at(FIRST, Some(servers.cluster_store())).await;
    let place = data.place.clone().unwrap();
    add_log_rows(&place, 20_000);
    // It pauses after every page, and so takes longer than a migration is tried.
    place.query(
        "ALTER TABLE login_log SET (autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0,
         autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1);
         UPDATE login_log SET detail = 'changed' WHERE chain >= 100",
    );
    let vacuum =
        "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND query LIKE '%VACUUM%login_log%'";
    until("vacuum works on the log", async || !place.query(vacuum).is_empty()).await;
    data.succeed(&["migrate"]);
}
