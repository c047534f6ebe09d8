//! The pool, on a server that answers what a test has it answer.

use super::super::PostgresSettings;
use super::super::fake_server::FakeServer;
use super::super::primary_proof::unproven;
use super::*;
use crate::database::{Sql, in_snapshot};

/// Long, so that only an answer that never comes fails a test on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A part of the statement by which a server proves that it is the primary.
const HEARTBEAT: &str = "pg_logical_emit_message";

fn address_of(server: &FakeServer) -> PostgresAddress {
    PostgresAddress::new(&PostgresSettings { timeout: TIMEOUT, ..PostgresSettings::new(server.url.clone()) }).unwrap()
}

#[test]
fn writes_leave_a_connection_to_readers() {
    for (connections, shared) in [(0, (2, 1)), (2, (2, 1)), (3, (3, 2)), (4, (4, 3)), (10, (10, 8))] {
        assert_eq!(connection_limits(connections), shared);
    }
}

#[tokio::test]
async fn a_commit_that_times_out_is_not_cancelled() {
    let mut server = FakeServer::start(&["COMMIT", "LOCK"]).await;
    let address = address_of(&server);
    let pool = Pool::new(address.clone(), 2, TIMEOUT);
    let use_connections = move || {
        for is_commit in [true, false] {
            let connection = PostgresConnection::open(&address, Instant::now() + TIMEOUT).unwrap();
            // It times out at once.
            connection.reset_for(Instant::now());
            let done = if is_commit { connection.commit(false) } else { connection.batch("LOCK") };
            assert!(done.is_err() && connection.health() == ConnectionHealth::TimedOut, "{done:?}");
            pool.keep_or_close(connection);
        }
        assert!(pool.idle().is_empty(), "neither is used again");
    };
    tokio::task::spawn_blocking(use_connections).await.unwrap();
    assert_eq!(server.next_cancelled().await, 2, "the first request to cancel is for the other connection");
}

#[tokio::test]
async fn while_the_journal_reader_waits_a_use_begins_with_a_heartbeat_of_its_own() {
    let mut server = FakeServer::start(&[]).await;
    let address = address_of(&server);
    address.proof.set_reader_unproven(true);
    let pool = Arc::new(Pool::new(address, 2, TIMEOUT));
    let work = |connection: &PostgresConnection| connection.batch("SELECT 1").map_err(WorkError::RolledBack);
    pool.run(AccessMode::Read, work).await.unwrap();
    assert!(server.next_statement().await.contains(HEARTBEAT));
    assert_eq!(server.next_statement().await, "SELECT 1");
}

#[tokio::test]
async fn no_work_begins_on_a_server_that_confirms_no_heartbeat() {
    let mut server = FakeServer::start(&[HEARTBEAT]).await;
    let address = address_of(&server);
    address.proof.set_reader_unproven(true);
    let pool = Arc::new(Pool::new(address, 2, TIMEOUT));
    let work = |connection: &PostgresConnection| connection.batch("SELECT 1").map_err(WorkError::RolledBack);
    let error = pool.run(AccessMode::Read, work).await.unwrap_err();
    assert_eq!(error.to_string(), unproven().to_string());
    assert_eq!(server.next_cancelled().await, 1, "nothing is left waiting");
    assert!(server.next_statement().await.contains(HEARTBEAT));
    assert_eq!(server.try_next_statement(), None);
}

#[tokio::test]
async fn a_snapshot_of_which_only_the_beginning_succeeded_is_rolled_back() {
    let mut server = FakeServer::start_with(&[], &["SET LOCAL"]).await;
    let pool = Arc::new(Pool::new(address_of(&server), 2, TIMEOUT));
    pool.run(AccessMode::Read, empty_snapshot).await.unwrap_err();
    assert!(server.next_statement().await.starts_with("BEGIN ISOLATION LEVEL"));
    assert_eq!(server.try_next_statement().as_deref(), Some("ROLLBACK"));
    assert_eq!(pool.idle().len(), 1, "it can be used again");
}

#[tokio::test]
async fn a_connection_whose_transaction_has_not_ended_is_closed() {
    let server = FakeServer::start_with(&[], &["ROLLBACK"]).await;
    let pool = Arc::new(Pool::new(address_of(&server), 2, TIMEOUT));
    pool.run(AccessMode::Read, empty_snapshot).await.unwrap_err();
    assert!(pool.idle().is_empty(), "the next use would be in that transaction");
}

fn empty_snapshot(connection: &PostgresConnection) -> Result<(), WorkError> {
    in_snapshot(&Sql::Postgres(connection), |_| Ok(())).map_err(WorkError::RolledBack)
}
