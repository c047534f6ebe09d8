//! Reads several tables as they were at one moment.

use super::Sql;
use crate::Result;

/// Runs `work` on a snapshot of the data and makes PostgreSQL use the indexes. With stale statistics, PostgreSQL would
/// choose a sort because it underestimates the size of the tables.
pub(crate) fn in_snapshot<T>(sql: &Sql<'_>, work: impl FnOnce(&Sql<'_>) -> Result<T>) -> Result<T> {
    let begun = sql.batch(match sql {
        Sql::Sqlite(_) => "BEGIN",
        Sql::Postgres(_) => {
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_sort = off;
             SET LOCAL enable_incremental_sort = off; SET LOCAL enable_bitmapscan = off"
        }
    });
    let outcome = begun.and_then(|()| work(sql));
    // Also if only the first statement succeeded: otherwise the next use of the connection would be in this transaction.
    let ended = sql.batch("ROLLBACK");
    outcome.and_then(|done| ended.map(|()| done))
}
