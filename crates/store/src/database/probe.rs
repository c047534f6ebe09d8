//! Small maintenance writes: the write probe, the recorded time, and the journal sweep.

use deskpass_core::Timestamp;

use super::{Sql, postgres};
use crate::StoreError;

/// Writes to the database, to check that it accepts writes. Nodes that share a database must not block each other here.
pub(crate) fn probe_write(sql: &Sql<'_>, now: Timestamp) -> Result<(), StoreError> {
    match sql {
        Sql::Sqlite(connection) => connection.execute(RECORD_TIME, &args![now]).map(drop),
        Sql::Postgres(connection) => postgres::probe_write(connection),
    }
}

/// Records the newest time of all nodes.
pub(crate) const RECORD_TIME: &str = "UPDATE probe SET at = CASE WHEN at > $1 THEN at ELSE $1 END";

/// Removes the journal rows that every node has read, and returns their number.
pub(crate) fn sweep_journal(sql: &Sql<'_>) -> Result<usize, StoreError> {
    match sql {
        Sql::Sqlite(_) => Ok(0),
        Sql::Postgres(connection) => postgres::sweep(connection),
    }
}
