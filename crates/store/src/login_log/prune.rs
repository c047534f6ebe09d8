//! Pruning: removes old rows from the start of each chain, such that the remaining rows can still be verified.

use deskpass_core::Timestamp;

use super::chain::ADOPTED_CHAIN;
use super::chain_walk::{self, ChainWalk, PruneMark, RowFit};
use super::keys::{ChainKeys, LogKeys};
use crate::database::{Sql, Tx, in_snapshot};
use crate::{Result, Store};

/// The oldest row of a chain.
pub(super) const OLDEST: &str = "SELECT at FROM login_log WHERE chain = $1 AND seq > $2 ORDER BY chain, seq LIMIT 1";

/// The rows between two positions.
const BETWEEN: &str = "FROM login_log WHERE chain = $1 AND seq > $2 AND seq <= $3";

pub(super) fn delete_rows() -> String {
    format!("DELETE {BETWEEN}")
}

/// Deletes the records about rows.
pub(super) fn delete_records() -> String {
    format!("DELETE FROM disowned WHERE sign_in IN (SELECT id {BETWEEN})")
}

#[derive(Clone, Debug)]
struct PruneStep {
    chain: i64,
    /// The current end of the pruned part.
    from: i64,
    /// The new end of the pruned part.
    to: PruneMark,
    /// The name of the key at the chain when `to` was made.
    key_id: String,
}

impl Store {
    /// Removes rows from before `older_than`, up to `batch` of each chain; returns the number of removed rows. Only intact rows
    /// are removed: a changed row stays with all rows after it, as evidence for verifying the log, and so does an unchained row.
    pub async fn prune_log(&self, older_than: Timestamp, keys: ChainKeys, batch: i64) -> Result<usize> {
        let (prune_steps, changed) = self.database.read(move |sql| prune_steps(sql, older_than, &keys, batch)).await?;
        // Logged once nothing else is left to do, not with every batch.
        if prune_steps.is_empty() && changed > 0 {
            tracing::warn!(
                chains = changed,
                "audit log rows failed verification and are kept; see `deskpass audit verify`"
            );
        }
        let mut gone = 0;
        for cut in prune_steps {
            gone += self.database.write(move |tx| cut.make(tx)).await?;
        }
        Ok(gone)
    }
}

/// The rows to be pruned, and the number of chains in which changed rows block pruning.
fn prune_steps(sql: &Sql<'_>, older_than: Timestamp, keys: &ChainKeys, rows: i64) -> Result<(Vec<PruneStep>, usize)> {
    let (mut prune_steps, mut changed) = (Vec::new(), 0);
    for chain in 0..=ADOPTED_CHAIN {
        let (cut, good) = in_snapshot(sql, |sql| prune_step(sql, older_than, keys, chain, rows))?;
        prune_steps.extend(cut);
        changed += usize::from(!good);
    }
    Ok((prune_steps, changed))
}

/// The old rows of a chain, up to the first that is not old, and whether all of them are intact.
fn prune_step(
    sql: &Sql<'_>,
    older_than: Timestamp,
    keys: &ChainKeys,
    chain: i64,
    rows: i64,
) -> Result<(Option<PruneStep>, bool)> {
    let Some(end) = chain_walk::end(sql, chain)? else { return Ok((None, true)) };
    // Fast path: usually there is nothing to do.
    let oldest = sql.first(OLDEST, &args![chain, end.pruned.seq], |row| Ok(row.timestamp(0).ok()))?;
    if oldest.is_none_or(|oldest| oldest.is_some_and(|oldest| oldest >= older_than)) {
        return Ok((None, true));
    }
    let keys = LogKeys::read(sql, keys)?;
    let key = keys.current;
    // Without the key that the chain is written with, the new mark could not be made.
    let has_key = end.key_id.is_empty() || end.key_id == key.id;
    if !has_key || !end.pruned.is_genuine(key, chain) {
        return Ok((None, false));
    }
    let (mut good, mut last, mut stopped) = (true, None, false);
    ChainWalk::after(chain, &end.pruned).next(sql, &keys, (i64::MAX, rows), |found| {
        stopped |= found.at.is_some_and(|at| at >= older_than);
        good &= stopped || found.fit == RowFit::Intact;
        if good && !stopped {
            last = Some((found.seq, found.hash));
        }
    })?;
    let to = last.map(|(seq, hash)| PruneMark::marked(key, chain, seq, &hash));
    let (from, key_id) = (end.pruned.seq, end.key_id);
    Ok((to.map(|to| PruneStep { chain, from, to, key_id }), good))
}

impl PruneStep {
    /// Removes the rows and the records about them and moves the mark in one transaction, unless another node did it first, or the
    /// key was replaced meanwhile.
    fn make(&self, tx: &Tx<'_>) -> Result<usize> {
        let Self { chain, from, to, key_id } = self;
        let text = "UPDATE log_chain SET pruned_seq = $3, pruned_hash = $4, pruned_mac = $5
            WHERE chain = $1 AND pruned_seq = $2 AND key_id = $6";
        if tx.execute(text, &args![*chain, *from, to.seq, &*to.hash, &*to.mac, &**key_id])? == 0 {
            return Ok(0);
        }
        let values = args![*chain, *from, to.seq];
        tx.execute(&delete_records(), &values)?;
        tx.execute(&delete_rows(), &values)
    }
}
