//! Brings the tables up to date, once and in order.

use std::path::Path;

use deskpass_core::Timestamp;

use super::{OpenError, Row, Sql};
use crate::StoreError;

/// The migrations, oldest first. A landed one is never edited.
const MIGRATIONS: &[(i64, &str)] = &[
    (1, include_str!("../../migrations/0001_records_and_sessions.sql")),
    (2, include_str!("../../migrations/0002_platform_sign_in.sql")),
];

/// The version that the tables have once they are up to date.
#[must_use]
pub fn newest_version() -> i64 {
    MIGRATIONS.last().map_or(0, |(id, _)| *id)
}

pub(super) enum MigrateError {
    Newer { found: i64, known: i64 },
    Mode { found: String, wanted: &'static str },
    Store(StoreError),
}

impl From<StoreError> for MigrateError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl MigrateError {
    pub(super) fn at(self, directory: &Path, file: &Path) -> OpenError {
        match self {
            Self::Newer { found, known } => OpenError::Newer { found, known },
            Self::Mode { found, wanted } => OpenError::Mode { path: directory.to_owned(), found, wanted },
            Self::Store(error) => OpenError::Database { path: file.to_owned(), error },
        }
    }
}

/// Brings the tables up to date, unless the data is of another mode: then it stays as it is.
pub(super) fn run(sql: &Sql, mode: &'static str, now: Timestamp) -> Result<(), MigrateError> {
    sql.batch("CREATE TABLE IF NOT EXISTS migration (id BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)")?;
    let found = sql.first("SELECT COALESCE(MAX(id), 0) FROM migration", &[], |row: &Row<'_>| row.int(0))?.unwrap_or(0);
    let known = newest_version();
    if found > known {
        return Err(MigrateError::Newer { found, known });
    }
    if found > 0 {
        claim(sql, mode)?;
    }
    for (id, text) in MIGRATIONS.iter().filter(|(id, _)| *id > found) {
        apply(sql, *id, text, now)?;
    }
    claim(sql, mode)
}

/// Marks fresh data as made in `mode`, and refuses any that was made in the other one.
fn claim(sql: &Sql, mode: &'static str) -> Result<(), MigrateError> {
    sql.execute("INSERT INTO desk (mode) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM desk)", &args![mode])?;
    let found = sql.first("SELECT mode FROM desk", &[], |row: &Row<'_>| row.text(0))?;
    let found = found.ok_or_else(|| StoreError::damaged("the data does not say what it is for"))?;
    if found == mode { Ok(()) } else { Err(MigrateError::Mode { found, wanted: mode }) }
}

fn apply(sql: &Sql, id: i64, text: &str, now: Timestamp) -> Result<(), StoreError> {
    sql.batch("BEGIN IMMEDIATE")?;
    let applied = sql
        .batch(text)
        .and_then(|()| sql.execute("INSERT INTO migration (id, applied_at) VALUES ($1, $2)", &args![id, now]))
        .and_then(|_| sql.batch("COMMIT"));
    if applied.is_err() {
        // A transaction that failed to commit is rolled back by closing the connection at the latest.
        let _ = sql.batch("ROLLBACK");
    }
    applied
}
