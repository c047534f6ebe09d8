//! Brings the tables up to date, once and in order.

use std::path::Path;

use deskpass_core::Timestamp;

use super::{OpenError, Row, Sql};
use crate::StoreError;

/// The migrations, oldest first. A landed one is never edited.
const MIGRATIONS: &[(i64, &str)] = &[(1, include_str!("../../migrations/0001_records_and_sessions.sql"))];

pub(super) enum MigrateError {
    Newer { found: i64, known: i64 },
    Store(StoreError),
}

impl From<StoreError> for MigrateError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl MigrateError {
    pub(super) fn at(self, path: &Path) -> OpenError {
        match self {
            Self::Newer { found, known } => OpenError::Newer { found, known },
            Self::Store(error) => OpenError::Database { path: path.to_owned(), detail: error.to_string() },
        }
    }
}

pub(super) fn run(sql: &Sql, now: Timestamp) -> Result<(), MigrateError> {
    sql.batch("CREATE TABLE IF NOT EXISTS migration (id BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)")?;
    let found = sql.first("SELECT COALESCE(MAX(id), 0) FROM migration", &[], |row: &Row<'_>| row.int(0))?.unwrap_or(0);
    let known = MIGRATIONS.last().map_or(0, |(id, _)| *id);
    if found > known {
        return Err(MigrateError::Newer { found, known });
    }
    for (id, text) in MIGRATIONS.iter().filter(|(id, _)| *id > found) {
        apply(sql, *id, text, now)?;
    }
    Ok(())
}

/// Marks fresh data as made in `mode`; returns the mode it was made in.
pub(super) fn claim(sql: &Sql, mode: &str) -> Result<String, StoreError> {
    sql.execute("INSERT INTO desk (mode) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM desk)", &args![mode])?;
    let found = sql.first("SELECT mode FROM desk", &[], |row: &Row<'_>| row.text(0))?;
    found.ok_or_else(|| StoreError::damaged("the data does not say what it is for"))
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
