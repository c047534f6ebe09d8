//! Fills an embedded store.

use std::path::Path;

use rusqlite::{Connection, params_from_iter};
use tokio::task::yield_now;

use super::table::{Cell, Table};
use crate::error::BenchError;
use crate::progress::Progress;
use crate::seed;

/// After so many rows, other tasks run, so that an interrupt is noticed.
const ROWS_PER_TURN: usize = 100_000;

/// A connection to a store that no service uses.
#[derive(Debug)]
pub(crate) struct SqliteLoader {
    connection: Connection,
    /// The statements that create the indexes which were dropped.
    indexes: Vec<String>,
}

impl SqliteLoader {
    /// Opens a store that the service has created and closed. If filling it fails, the file is unusable.
    pub(super) fn open(directory: &Path) -> Result<Self, BenchError> {
        let connection = seed::open(directory)?;
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA foreign_keys = OFF",
        )?;
        Ok(Self { connection, indexes: Vec::new() })
    }

    /// Drops the indexes of a table, except those of its primary key.
    pub(super) fn drop_indexes(&mut self, table: &Table) -> Result<(), BenchError> {
        let text = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?1";
        let mut statement = self.connection.prepare(text)?;
        let found = statement.query_map([table.name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let found: Vec<(String, String)> = found.collect::<Result<_, _>>()?;
        for (name, create) in found {
            self.connection.execute_batch(&format!("DROP INDEX {name}"))?;
            self.indexes.push(create);
        }
        Ok(())
    }

    /// Inserts rows in one transaction.
    pub(super) async fn load(&self, table: &Table, rows: impl Iterator<Item = Vec<Cell>>) -> Result<(), BenchError> {
        let (name, columns) = (table.name, table.column_names());
        self.connection.execute_batch("BEGIN")?;
        if table.is_replaced {
            self.connection.execute_batch(&format!("DELETE FROM {name}"))?;
        }
        let values = vec!["?"; table.columns.len()].join(", ");
        let mut insert = self.connection.prepare(&format!("INSERT INTO {name} ({columns}) VALUES ({values})"))?;
        for (row, number) in rows.zip(1_usize..) {
            insert.execute(params_from_iter(&row))?;
            if number.is_multiple_of(ROWS_PER_TURN) {
                yield_now().await;
            }
        }
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    pub(super) fn execute(&self, text: &str) -> Result<(), BenchError> {
        Ok(self.connection.execute_batch(text)?)
    }

    /// Creates the indexes, and makes the store durable.
    pub(super) async fn finish(self, progress: &Progress) -> Result<(), BenchError> {
        let count = self.indexes.len();
        for (create, number) in self.indexes.iter().zip(1..) {
            self.connection.execute_batch(create)?;
            progress.at("index", number, count);
            yield_now().await;
        }
        // The service keeps no statistics for SQLite, so none are made here.
        Ok(self.connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?)
    }
}
