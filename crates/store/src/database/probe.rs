//! Small writes for the upkeep of a database: a probe, the time on record, the journal.

use deskpass_core::Timestamp;

use super::{Sql, postgres};
use crate::StoreError;

/// Writes something, to see that it can be done. Nodes that share a database must not wait for each other over it.
pub(crate) fn probe_write(sql: &Sql<'_>, now: Timestamp) -> Result<(), StoreError> {
    match sql {
        Sql::Sqlite(connection) => connection.execute(RECORD_TIME, &args![now]).map(drop),
        Sql::Postgres(connection) => postgres::probe_write(connection),
    }
}

/// The newest time of all nodes stays on record.
pub(crate) const RECORD_TIME: &str = "UPDATE probe SET at = CASE WHEN at > $1 THEN at ELSE $1 END";

/// Removes from the journal what everyone has read; returns how much went.
pub(crate) fn sweep_journal(sql: &Sql<'_>) -> Result<usize, StoreError> {
    match sql {
        Sql::Sqlite(_) => Ok(0),
        Sql::Postgres(connection) => postgres::sweep(connection),
    }
}
