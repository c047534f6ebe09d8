//! Checks whether single rows are unchanged, for pages of the log. Only reading the whole log finds missing rows.

use std::collections::HashSet;

use super::chain_walk::{self, CHAIN_COLUMN, HASH_COLUMN, OTHER_HASH_COLUMN, SEQ_COLUMN, StoredRow};
use super::keys::{ChainKeys, LogKeys};
use super::row::LogRow;
use crate::Result;
use crate::database::{Row, Sql, SqlValue};

const BATCH_ROWS: usize = 500;

/// Records for each row whether it is in a chain and has the hash that it was written with.
pub(super) fn verify_rows(sql: &Sql<'_>, keys: &ChainKeys, rows: &mut [LogRow]) -> Result<()> {
    let keys = LogKeys::read(sql, keys)?;
    for rows in rows.chunks_mut(BATCH_ROWS) {
        let good = intact_ids(sql, &keys, rows)?;
        for row in rows {
            row.verified = Some(good.contains(&row.id));
        }
    }
    Ok(())
}

/// Reads so many rows, each with the hash of the previous row, or of the last pruned row.
pub(super) fn with_predecessors(count: usize) -> String {
    let places: Vec<_> = (1..=count).map(|place| format!("${place}")).collect();
    // The smallest number has no predecessor.
    let before = "(CASE WHEN l.seq > 0 THEN l.seq - 1 END)";
    format!(
        "SELECT {}, COALESCE((SELECT b.hash FROM login_log b WHERE b.chain = l.chain AND b.seq = {before} LIMIT 1),
         (SELECT c.pruned_hash FROM log_chain c WHERE c.chain = l.chain AND c.pruned_seq = {before}))
         FROM login_log l WHERE l.id IN ({})",
        chain_walk::columns("l.detail"),
        places.join(", ")
    )
}

fn intact_ids(sql: &Sql<'_>, keys: &LogKeys<'_>, rows: &[LogRow]) -> Result<HashSet<String>> {
    let values: Vec<_> = rows.iter().map(|row| SqlValue::from(&*row.id)).collect();
    let found = sql.rows(&with_predecessors(values.len()), &values, |row| Ok(intact_id(row, keys).ok().flatten()))?;
    Ok(found.into_iter().flatten().collect())
}

/// The identifier of a row, if its hash is right.
fn intact_id(row: &Row<'_>, keys: &LogKeys<'_>) -> Result<Option<String>> {
    let (written, chain, seq) = (StoredRow::read(row)?, row.int(CHAIN_COLUMN)?, row.int(SEQ_COLUMN)?);
    let good = written.belongs_to(chain)
        && written.content().hash(keys.of(chain, seq), chain, seq, &row.text(OTHER_HASH_COLUMN)?)
            == row.text(HASH_COLUMN)?;
    Ok(good.then_some(written.id))
}
