//! The journal, on a real PostgreSQL: what its readers cost, what they notice, and when rows are removed.

use std::time::Duration;

use deskpass_core::LoginMethod;
use deskpass_store::{Location, Mode, PostgresSettings, SessionLookup, Store};
use tokio_postgres::{Client, NoTls};

use crate::agents::fixture::{DAY, Fixture, at, digest};
use crate::stopwatch::Stopwatch;

/// The limit of a wait: long, so that only a condition that never holds fails a test on a busy machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// A row of the journal that names nothing.
const EMPTY_ROW: &str = "INSERT INTO journal (xact, at) VALUES (pg_current_xact_id()::text::bigint, 0)";

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Stopwatch::start();
    while !is_so().await {
        assert!(began.elapsed() < WAIT_TIMEOUT, "{what}: not within {WAIT_TIMEOUT:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn server(fixture: &Fixture) -> &PostgresSettings {
    match fixture.location() {
        Location::Postgres(server) => server,
        Location::Embedded(_) => panic!("the embedded database has no journal"),
    }
}

/// A connection to the database besides those of the nodes.
async fn connect(fixture: &Fixture) -> Client {
    let (client, connection) = tokio_postgres::connect(&server(fixture).url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn number(client: &Client, text: &str) -> i64 {
    client.query_one(text, &[]).await.unwrap().get(0)
}

async fn snapshot(client: &Client) -> String {
    client.query_one("SELECT pg_current_snapshot()::text", &[]).await.unwrap().get(0)
}

/// A node whose connections have this name in `pg_stat_activity`.
async fn named_node(fixture: &Fixture, name: &str) -> Store {
    let url = format!("{}&application_name={name}", server(fixture).url);
    let location = Location::Postgres(PostgresSettings { url, ..server(fixture).clone() });
    Store::open_with(location, Mode::Development, 100, at(0), None).await.unwrap()
}

/// The server's processes for the connections of a node: those of its journal reader, which holds a lock, and the others.
async fn processes(client: &Client, name: &str) -> [Vec<i32>; 2] {
    let text = format!(
        "SELECT pid, EXISTS (SELECT 1 FROM pg_locks WHERE pg_locks.pid = node.pid AND locktype = 'advisory')
         FROM pg_stat_activity node WHERE application_name = '{name}' ORDER BY pid"
    );
    let rows = client.query(&*text, &[]).await.unwrap();
    [true, false].map(|is_reader| {
        rows.iter().filter(|row| row.get::<_, bool>(1) == is_reader).map(|row| row.get::<_, i32>(0)).collect()
    })
}

async fn lives(node: &Store, name: &str) -> bool {
    matches!(node.session(&digest(name)).await.unwrap(), SessionLookup::Session(_))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_journal_does_not_accumulate_connections() {
    let fixture = Fixture::scaled_out().await;
    fixture.session("one", LoginMethod::Dev, None).await;
    let name = "node_with_a_locked_journal";
    let node = named_node(&fixture, name).await;
    let (lock, observer) = (connect(&fixture).await, connect(&fixture).await);
    lock.batch_execute("BEGIN; LOCK TABLE journal IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let waiting =
        format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}' AND wait_event_type = 'Lock'");
    until("a read that waits", async || number(&observer, &waiting).await == 1).await;
    // Long enough for four reads that would each leave a connection behind.
    let began = Stopwatch::start();
    while began.elapsed() < Duration::from_secs(4) {
        // One read may still be ending when the next one begins.
        assert!(number(&observer, &waiting).await <= 2);
        assert!(lives(&node, "one").await, "sessions are read from the database");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!node.is_cache_trusted());
    lock.batch_execute("ROLLBACK").await.unwrap();
    until("the journal is read again", async || node.is_cache_trusted()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_that_take_too_long_to_read_are_skipped_with_an_empty_cache() {
    let fixture = Fixture::scaled_out().await;
    fixture.session("one", LoginMethod::Dev, None).await;
    let (node, other) = (fixture.node(1), connect(&fixture).await);
    // Each row takes longer to read than a read may.
    other
        .batch_execute(
            "BEGIN; ALTER TABLE journal RENAME TO journal_rows;
             CREATE FUNCTION is_read_slowly(BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql
                 AS 'BEGIN PERFORM pg_sleep(30); RETURN true; END';
             CREATE VIEW journal AS SELECT * FROM journal_rows WHERE is_read_slowly(xact); COMMIT",
        )
        .await
        .unwrap();
    until("the session is cached", async || lives(&node, "one").await && node.cached_sessions() == 1).await;
    other.batch_execute(EMPTY_ROW).await.unwrap();
    until("the cache is empty and trusted", async || node.cached_sessions() == 0 && node.is_cache_trusted()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_connects_to_the_same_server_again_closes_no_other_connection() {
    let fixture = Fixture::scaled_out().await;
    fixture.session("one", LoginMethod::Dev, None).await;
    let name = "node_whose_reader_connects_again";
    let (node, observer) = (named_node(&fixture, name).await, connect(&fixture).await);
    assert!(lives(&node, "one").await);
    // The connection of the migrations ends a moment later.
    until("one connection", async || processes(&observer, name).await.map(|some| some.len()) == [1, 1]).await;
    let [reader, others] = processes(&observer, name).await;
    observer.execute("SELECT pg_terminate_backend($1)", &[&reader[0]]).await.unwrap();
    until("another reader", async || {
        let [now, _] = processes(&observer, name).await;
        now.len() == 1 && now != reader
    })
    .await;
    // After its first read.
    node.wait_until_caught_up().await;
    assert!(lives(&node, "one").await);
    assert_eq!(processes(&observer, name).await[1], others);
}

/// The number of scans of the journal, and of the blocks that they read.
async fn scans(client: &Client) -> (i64, i64) {
    let text = "SELECT (coalesce(seq_scan, 0) + coalesce(idx_scan, 0))::bigint,
        (heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::bigint
        FROM pg_stat_user_tables JOIN pg_statio_user_tables USING (relid, schemaname, relname)
        WHERE schemaname = current_schema() AND relname = 'journal'";
    let row = client.query_one(text, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

/// The same, after more scans have been reported.
async fn later_scans(fixture: &Fixture, observer: &Client, last: (i64, i64)) -> (i64, i64) {
    until("more scans", async || {
        fixture.store().wait_until_caught_up().await;
        scans(observer).await.0 > last.0
    })
    .await;
    scans(observer).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_transaction_does_not_make_every_read_scan_the_journal() {
    let fixture = Fixture::scaled_out().await;
    let (forgotten, writer, observer) = (connect(&fixture).await, connect(&fixture).await, connect(&fixture).await);
    // The vacuum would read the table as well.
    writer.batch_execute("ALTER TABLE journal SET (autovacuum_enabled = false)").await.unwrap();
    forgotten.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
    for _ in 0..20 {
        let rows = EMPTY_ROW.replace("VALUES (", "SELECT ").replace(", 0)", ", 0 FROM generate_series(1, 5000)");
        writer.batch_execute(&rows).await.unwrap();
    }
    // A connection reports its statistics when it ends, and otherwise about once a second.
    let writer_id = number(&writer, "SELECT pg_backend_pid()::bigint").await;
    drop(writer);
    let ended = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {writer_id}");
    until("the writer has ended", async || number(&observer, &ended).await == 0).await;
    // The first reports of the two nodes contain what they read while the rows were written.
    let mut first = scans(&observer).await;
    for _ in 0..3 {
        first = later_scans(&fixture, &observer, first).await;
    }
    let mut last = first;
    for _ in 0..2 {
        last = later_scans(&fixture, &observer, last).await;
    }
    let (count, blocks) = (last.0 - first.0, last.1 - first.1);
    assert!(blocks < 100 * count, "{count} scans read {blocks} blocks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_noticed_however_late_it_is_committed() {
    let fixture = Fixture::scaled_out().await;
    fixture.session("one", LoginMethod::Dev, None).await;
    let (late, other) = (connect(&fixture).await, connect(&fixture).await);
    let text = digest("one").to_text();
    late.batch_execute(&format!(
        "BEGIN; DELETE FROM session WHERE digest = '{text}';
         INSERT INTO journal (xact, at, digest) VALUES (pg_current_xact_id()::text::bigint, 0, '{text}')"
    ))
    .await
    .unwrap();
    let node = fixture.node(1);
    for _ in 0..3 {
        other.batch_execute(EMPTY_ROW).await.unwrap();
        node.wait_until_caught_up().await;
    }
    until("the session is cached", async || lives(&node, "one").await && node.cached_sessions() == 1).await;
    late.batch_execute("COMMIT").await.unwrap();
    until("the end of the session", async || !lives(&node, "one").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_was_committed_late_is_removed_only_after_all_have_read_it() {
    let fixture = Fixture::scaled_out().await;
    let (late, other) = (connect(&fixture).await, connect(&fixture).await);
    let long_ago = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint - 660000";
    late.batch_execute(&format!("BEGIN; {}", EMPTY_ROW.replace(", 0)", &format!(", {long_ago})")))).await.unwrap();
    let before = snapshot(&other).await;
    late.batch_execute("COMMIT").await.unwrap();
    let (store, old_rows) = (fixture.store(), format!("SELECT count(*) FROM journal WHERE at < {long_ago} + 60000"));
    assert_eq!(number(&other, &old_rows).await, 1);
    store.sweep(at(DAY), at(0), 100).await.unwrap();
    assert_eq!(number(&other, &old_rows).await, 1, "no node had time to read it");
    assert_eq!(store.sweep_journal_seen_by(before).await.unwrap(), 0);
    assert_eq!(number(&other, &old_rows).await, 1);
    assert_eq!(store.sweep_journal_seen_by(snapshot(&other).await).await.unwrap(), 1);
    assert_eq!(number(&other, &old_rows).await, 0);
}

/// Rows as a copy of the database from a server with more transactions brings them along: from this id on.
const FOREIGN: i64 = 4_000_000_000;
const COUNT_FOREIGN: &str = "SELECT count(*) FROM journal WHERE xact >= 4000000000";

async fn add_foreign_rows(client: &Client, count: i64) {
    let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let last = FOREIGN + count - 1;
    let text = format!("INSERT INTO journal (xact, at) SELECT n, {now} FROM generate_series({FOREIGN}, {last}) n");
    client.batch_execute(&text).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_another_server_are_removed_before_the_first_read() {
    let fixture = Fixture::scaled_out().await;
    fixture.session("one", LoginMethod::Dev, None).await;
    let (late, other) = (connect(&fixture).await, connect(&fixture).await);
    // This server's own rows stay: of a transaction that is over, and of one that still runs.
    other.batch_execute(EMPTY_ROW).await.unwrap();
    let text = digest("one").to_text();
    late.batch_execute(&format!(
        "BEGIN; DELETE FROM session WHERE digest = '{text}';
         INSERT INTO journal (xact, at, digest) VALUES (pg_current_xact_id()::text::bigint, 0, '{text}')"
    ))
    .await
    .unwrap();
    let own = number(&other, "SELECT count(*) FROM journal").await;
    // More than one statement removes.
    add_foreign_rows(&other, 12_000).await;
    let node = named_node(&fixture, "after_a_restore").await;
    assert_eq!(number(&other, COUNT_FOREIGN).await, 0);
    assert_eq!(number(&other, "SELECT count(*) FROM journal").await, own);
    until("the session is cached", async || lives(&node, "one").await && node.cached_sessions() == 1).await;
    late.batch_execute("COMMIT").await.unwrap();
    until("the end of the session", async || !lives(&node, "one").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sweep_removes_rows_of_another_server() {
    let fixture = Fixture::scaled_out().await;
    let other = connect(&fixture).await;
    add_foreign_rows(&other, 10).await;
    other.batch_execute(EMPTY_ROW).await.unwrap();
    let own = "SELECT count(*) FROM journal WHERE xact < 4000000000";
    let before = number(&other, own).await;
    fixture.store().sweep(at(DAY), at(0), 100).await.unwrap();
    assert_eq!(number(&other, COUNT_FOREIGN).await, 0);
    assert_eq!(number(&other, own).await, before);
}
