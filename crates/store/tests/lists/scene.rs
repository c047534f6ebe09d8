//! Helpers of these tests besides the service.

use std::time::Duration;

use deskpass_core::{ClientAddress, EmployeeKey, LoginMethod, Session};
use deskpass_store::{AuditEvent, BeginOutcome, Location, LogEntry, Precondition, Store};
use tokio::time::Instant;
use tokio_postgres::NoTls;

use crate::agents::fixture::{self, Fixture, HOUR, at, new_session};

/// A row for the log, about an employee.
pub(crate) fn entry(event: AuditEvent, about: &EmployeeKey) -> LogEntry {
    LogEntry { event, about: about.clone(), ..fixture::entry() }
}

/// Whether a condition holds within a second.
pub(crate) async fn soon(is_true: impl AsyncFn() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        if is_true().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// Signs an employee in at this time, from this address.
pub(crate) async fn sign_in(store: &Store, name: &str, key: &EmployeeKey, created_at: i64, address: &str) {
    let mut new_session = new_session(name, LoginMethod::Dev, None, Precondition::None);
    new_session.session = Session {
        employee: key.clone(),
        created_at: at(created_at),
        expires_at: at(created_at + 8 * HOUR),
        ..new_session.session
    };
    new_session.entry = entry(AuditEvent::SignIn, key);
    let here = address.parse().unwrap();
    new_session.entry.visitor.address = ClientAddress { logged: here, decided: here, peer: here };
    assert_eq!(store.begin_session(new_session).await.unwrap(), BeginOutcome::Begun);
}

/// The expression of the search term that begins with this text, in the SQL of the database.
pub(crate) fn term_of(fixture: &Fixture, text: &str) -> String {
    match fixture.location() {
        Location::Embedded(_) => format!("lower(hex({text}))"),
        Location::Postgres(_) => format!("encode(({text})::bytea, 'hex')"),
    }
}

/// Runs a statement over this many `numbers` directly on the database, bypassing the store.
pub(crate) async fn bulk(fixture: &Fixture, text: &str, numbers: usize) {
    let text = text.replace("FROM numbers", &format!("FROM (WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {numbers}) SELECT n FROM counted) AS numbers"));
    match fixture.location() {
        Location::Embedded(directory) => {
            let connection = rusqlite::Connection::open(directory.join("deskpass.db")).unwrap();
            connection.busy_timeout(Duration::from_secs(5)).unwrap();
            connection.execute_batch(&text).unwrap();
        }
        Location::Postgres(server) => {
            let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(&text).await.unwrap();
        }
    }
}
