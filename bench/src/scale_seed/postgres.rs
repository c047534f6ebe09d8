//! Fills a database of PostgreSQL, by COPY.

use std::pin::pin;

use tokio_postgres::Client;
use tokio_postgres::binary_copy::BinaryCopyInWriter;

use super::table::{Cell, Table};
use crate::backends::connect;
use crate::error::BenchError;
use crate::progress::Progress;

/// Rows are not checked against other tables, and an index is sorted in memory where possible.
const SESSION_SETTINGS: &str =
    "SET session_replication_role = replica; SET synchronous_commit = off; SET maintenance_work_mem = '512MB'";

/// The indexes of a table, except those of constraints such as its primary key.
const INDEXES: &str = "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
    WHERE i.indrelid = $1::text::regclass AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)";

/// A connection to a database that no node uses.
#[derive(Debug)]
pub(crate) struct PostgresLoader {
    client: Client,
    /// The statements that create the indexes which were dropped.
    indexes: Vec<String>,
}

impl PostgresLoader {
    /// Opens a database in which a node has created the tables.
    pub(super) async fn open(url: &str) -> Result<Self, BenchError> {
        let client = connect(url).await?;
        client.batch_execute(SESSION_SETTINGS).await?;
        Ok(Self { client, indexes: Vec::new() })
    }

    /// Drops the indexes of a table, except those of constraints such as its primary key.
    pub(super) async fn drop_indexes(&mut self, table: &Table) -> Result<(), BenchError> {
        for row in self.client.query(INDEXES, &[&table.name]).await? {
            let (name, create): (String, String) = (row.try_get(0)?, row.try_get(1)?);
            self.client.batch_execute(&format!("DROP INDEX {name}")).await?;
            self.indexes.push(create);
        }
        Ok(())
    }

    /// Copies rows in one transaction. If it also empties the table, the server does not write the rows to its log.
    pub(super) async fn load(&self, table: &Table, rows: impl Iterator<Item = Vec<Cell>>) -> Result<(), BenchError> {
        let (name, columns) = (table.name, table.column_names());
        self.client.batch_execute("BEGIN").await?;
        if table.is_replaced {
            self.client.batch_execute(&format!("TRUNCATE {name}")).await?;
        }
        let types: Vec<_> = table.columns.iter().map(|column| column.postgres_type()).collect();
        let copy = self.client.copy_in(&format!("COPY {name} ({columns}) FROM STDIN BINARY")).await?;
        let mut writer = pin!(BinaryCopyInWriter::new(copy, &types));
        for row in rows {
            let values: Vec<_> = row.iter().zip(table.columns).map(|(cell, column)| cell.postgres(*column)).collect();
            writer.as_mut().write(&values).await?;
        }
        writer.finish().await?;
        Ok(self.client.batch_execute("COMMIT").await?)
    }

    pub(super) async fn execute(&self, text: &str) -> Result<(), BenchError> {
        Ok(self.client.batch_execute(text).await?)
    }

    /// Creates the indexes, and does what the server would do later in the background.
    pub(super) async fn finish(self, progress: &Progress) -> Result<(), BenchError> {
        let count = self.indexes.len();
        for (create, number) in self.indexes.iter().zip(1..) {
            self.client.batch_execute(create).await?;
            progress.at("index", number, count);
        }
        for text in ["VACUUM ANALYZE", "CHECKPOINT"] {
            self.client.batch_execute(text).await?;
        }
        Ok(())
    }
}
