//! The version of the tables, and whether this program can use it.

use std::cmp::Ordering;

use deskpass_core::Timestamp;

use super::files::newest_version;
use crate::database::{OpenError, Sql};
use crate::{Result, StoreError};

/// The table with a row for each migration that was run. A later migration adds `oldest` to it.
pub(super) const CREATE_MIGRATION_TABLE: &str =
    "CREATE TABLE IF NOT EXISTS migration (id BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)";

/// The migration that adds `oldest`.
const OLDEST_SINCE: i64 = 20;

/// The version that a program must know at least, to use the tables after the migrations of this version. Only a release whose
/// migrations earlier programs cannot work with raises it, to the last of these migrations.
const OLDEST_COMPATIBLE: i64 = 20;

/// How the version of the tables fits this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaFit {
    /// It is that of this program.
    Same,
    /// It is this earlier version, which is to be migrated; 0 when there are no tables.
    Older(i64),
    /// It is this later version, which this program can use.
    Compatible(i64),
    /// It is a later version that this program cannot use.
    Newer {
        /// The version found.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
}

/// Compares the version of the tables with that of this program.
pub(crate) fn schema_fit(sql: &Sql<'_>) -> Result<SchemaFit> {
    let (found, known) = (schema_version(sql)?, newest_version());
    Ok(match found.cmp(&known) {
        Ordering::Less => SchemaFit::Older(found),
        Ordering::Equal => SchemaFit::Same,
        Ordering::Greater if is_compatible(sql, found, known)? => SchemaFit::Compatible(found),
        Ordering::Greater => SchemaFit::Newer { found, known },
    })
}

/// Whether the program that migrated the tables to a later version recorded that one which knows `known` can use them.
fn is_compatible(sql: &Sql<'_>, found: i64, known: i64) -> Result<bool> {
    let text = "SELECT oldest FROM migration WHERE id = $1";
    let oldest = sql.first(text, &args![found], |row| row.maybe_int(0))?.flatten();
    Ok(oldest.is_some_and(|oldest| oldest <= known))
}

/// Records that a migration was run. Each row has the oldest version that can use the tables: a node of an earlier version may start
/// between two migrations.
pub(super) fn record(sql: &Sql<'_>, id: i64, now: Timestamp) -> Result<()> {
    if id < OLDEST_SINCE {
        let text = "INSERT INTO migration (id, applied_at) VALUES ($1, $2)";
        return sql.execute(text, &args![id, now]).map(drop);
    }
    let text = "INSERT INTO migration (id, applied_at, oldest) VALUES ($1, $2, $3)";
    sql.execute(text, &args![id, now, OLDEST_COMPATIBLE]).map(drop)
}

/// Requires that the tables have no later version: for changes that would be incomplete if they left out what this program does not
/// know.
pub(crate) fn require_known_version(sql: &Sql<'_>) -> Result<()> {
    let (found, known) = (schema_version(sql)?, newest_version());
    if found > known {
        return Err(StoreError::unavailable(&OpenError::Newer { found, known }));
    }
    Ok(())
}

/// Returns the schema version, or 0 when there are no tables.
pub(crate) fn schema_version(sql: &Sql<'_>) -> Result<i64> {
    let has_migrations = match sql {
        Sql::Sqlite(_) => "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migration'",
        Sql::Postgres(_) => "SELECT 1 WHERE to_regclass('migration') IS NOT NULL",
    };
    if !sql.exists(has_migrations, &[])? {
        return Ok(0);
    }
    Ok(sql.first("SELECT COALESCE(MAX(id), 0) FROM migration", &[], |row| row.int(0))?.unwrap_or(0))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::database::sqlite::SqliteConnection;

    /// How tables of this version fit, with `oldest` recorded for it.
    fn fit(version: i64, oldest: Option<i64>) -> SchemaFit {
        let connection = SqliteConnection::open_in_memory().unwrap();
        let sql = Sql::Sqlite(&connection);
        sql.batch(CREATE_MIGRATION_TABLE).unwrap();
        sql.batch("ALTER TABLE migration ADD COLUMN oldest BIGINT").unwrap();
        let text = "INSERT INTO migration (id, applied_at, oldest) VALUES ($1, 0, $2)";
        sql.execute(text, &args![version, oldest]).unwrap();
        schema_fit(&sql).unwrap()
    }

    #[test]
    fn a_later_version_says_which_programs_can_use_it() {
        let known = newest_version();
        let (found, newer) = (known + 3, SchemaFit::Newer { found: known + 3, known });
        assert_eq!(fit(found, Some(known)), SchemaFit::Compatible(found));
        assert_eq!(fit(found, Some(OLDEST_COMPATIBLE)), SchemaFit::Compatible(found));
        assert_eq!(fit(found, Some(known + 1)), newer);
        assert_eq!(fit(found, None), newer);
        assert_eq!(fit(known, Some(known)), SchemaFit::Same);
        assert_eq!(fit(known - 1, None), SchemaFit::Older(known - 1));
    }

    #[test]
    fn this_program_can_use_what_it_records() {
        assert!((OLDEST_SINCE..=newest_version()).contains(&OLDEST_COMPATIBLE));
    }
}
