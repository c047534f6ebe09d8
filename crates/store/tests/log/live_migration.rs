//! Migrations of PostgreSQL while others use the tables.

use std::time::Duration;

use deskpass_store::{Location, Mode, OpenError, Store, newest_version};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, NoTls};

use crate::log::fixture::{Fixture, at, key};

/// A migration waits until nobody uses the log.
const MIGRATION_WAITS: &str = "SELECT 1 FROM pg_locks
    WHERE relation = 'login_log'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted";

/// Data of the version before a migration, without nodes.
async fn data_before(migration: &str) -> Fixture {
    let mut fixture = Fixture::scaled_out().await;
    fixture.write(0..3).await;
    fixture.stop();
    fixture.undo_since(migration).await;
    fixture
}

async fn connect(fixture: &Fixture) -> Client {
    let Location::Postgres(server) = &fixture.location else { panic!("it is on a server") };
    let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Starts a node, which migrates the tables.
fn start(fixture: &Fixture) -> JoinHandle<Result<Store, OpenError>> {
    tokio::spawn(Store::open_with(fixture.location.clone(), Mode::Development, 100, at(0), Some(key())))
}

/// Waits until a query has a row.
async fn until(client: &Client, query: &str) {
    let began = Instant::now();
    while client.query(query, &[]).await.unwrap().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(30), "{query}");
        sleep(Duration::from_millis(5)).await;
    }
}

async fn check_migrated(started: JoinHandle<Result<Store, OpenError>>) {
    let store = started.await.unwrap().unwrap();
    assert_eq!(store.schema_version().await.unwrap(), newest_version());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_do_not_fail_while_a_migration_waits_for_a_reader() {
    let fixture = data_before("0012").await;
    let [reader, writer, observer] = [connect(&fixture).await, connect(&fixture).await, connect(&fixture).await];
    // A reader that takes long, as a backup does; and a writer, as nodes are with the default of `store.timeout`.
    reader.batch_execute("BEGIN; SELECT 1 FROM login_log LIMIT 1").await.unwrap();
    writer.batch_execute("SET statement_timeout = 1500").await.unwrap();
    let started = start(&fixture);
    for _ in 0..3 {
        until(&observer, MIGRATION_WAITS).await;
        writer.batch_execute("UPDATE login_log SET detail = '' WHERE id = 'none'").await.unwrap();
    }
    assert!(!started.is_finished());
    reader.batch_execute("COMMIT").await.unwrap();
    check_migrated(started).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_migration_is_committed_before_the_next() {
    let fixture = data_before("0014").await;
    let [reader, observer] = [connect(&fixture).await, connect(&fixture).await];
    // The second migration has to wait. The tables of the first one are not locked meanwhile.
    reader.batch_execute("BEGIN; SELECT 1 FROM desk").await.unwrap();
    let started = start(&fixture);
    until(&observer, "SELECT 1 FROM migration WHERE id = 14").await;
    assert!(!started.is_finished());
    reader.batch_execute("COMMIT").await.unwrap();
    check_migrated(started).await;
}
