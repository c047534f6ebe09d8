//! Rows that are old enough go, from the beginning of each chain, and what remains can still be verified.

use deskpass_core::Timestamp;

use super::chain::{CHAINS, ChainKey};
use super::links::{self, Fit, Pruned, Walk};
use super::page::edge;
use crate::database::{Sql, Tx, at_one_moment};
use crate::{Store, StoreError};

/// How far one looks for rows that are in no chain.
const LOOK: usize = 20_000;

/// What is to go from a chain.
#[derive(Clone, Debug)]
struct Cut {
    chain: i64,
    /// Up to where it is pruned already.
    from: i64,
    /// Up to where it will be.
    to: Pruned,
}

impl Store {
    /// Removes rows from before `older_than`, up to `batch` of each chain and as many that are in none; returns how many went. Only
    /// rows that fit go: one that was changed stays where it is, with everything after it, for whoever verifies the log.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn prune_log(&self, older_than: Timestamp, key: ChainKey, batch: i64) -> Result<usize, StoreError> {
        let cuts = self.database.read(move |sql| cuts(sql, older_than, &key, batch)).await?;
        let mut gone = 0;
        for cut in cuts {
            gone += self.database.write(move |tx| cut.make(tx)).await?;
        }
        Ok(gone + self.database.write(move |tx| loose(tx, older_than, batch)).await?)
    }
}

fn cuts(sql: &Sql<'_>, older_than: Timestamp, key: &ChainKey, rows: i64) -> Result<Vec<Cut>, StoreError> {
    let mut cuts = Vec::new();
    for chain in 0..CHAINS {
        cuts.extend(at_one_moment(sql, |sql| cut(sql, older_than, key, chain, rows))?);
    }
    Ok(cuts)
}

/// What of a chain is old enough, up to the first row that is not.
fn cut(sql: &Sql<'_>, older_than: Timestamp, key: &ChainKey, chain: i64, rows: i64) -> Result<Option<Cut>, StoreError> {
    let Some(end) = links::end(sql, chain)? else { return Ok(None) };
    let (mut good, mut last, mut stopped) = (end.pruned.is_genuine(key, chain), None, false);
    if good {
        Walk::after(key, chain, &end.pruned).next(sql, rows, |found| {
            stopped |= found.at.is_some_and(|at| at >= older_than);
            good &= stopped || found.fit == Fit::Well;
            if good && !stopped {
                last = Some((found.seq, found.hash));
            }
        })?;
    }
    if !good {
        tracing::warn!(chain, "the log was changed and is kept from there on; look at it with `deskpass audit verify`");
    }
    let to = last.map(|(seq, hash)| Pruned::marked(key, chain, seq, &hash));
    Ok(to.map(|to| Cut { chain, from: end.pruned.seq, to }))
}

impl Cut {
    /// Removes the rows and moves on the mark in one, unless another node was quicker.
    fn make(&self, tx: &Tx<'_>) -> Result<usize, StoreError> {
        let Self { chain, from, to } = self;
        let text = "UPDATE log_chain SET pruned_seq = $3, pruned_hash = $4, pruned_mac = $5
            WHERE chain = $1 AND pruned_seq = $2";
        if tx.execute(text, &args![*chain, *from, to.seq, &*to.hash, &*to.mac])? == 0 {
            return Ok(0);
        }
        tx.execute("DELETE FROM login_log WHERE chain = $1 AND seq > $2 AND seq <= $3", &args![*chain, *from, to.seq])
    }
}

/// Removes old rows that are in no chain.
fn loose(tx: &Tx<'_>, older_than: Timestamp, batch: i64) -> Result<usize, StoreError> {
    let text = format!(
        "DELETE FROM login_log WHERE id IN (SELECT id FROM (SELECT id, chain FROM login_log WHERE id < $1 ORDER BY id LIMIT {LOOK})
         AS oldest WHERE chain IS NULL LIMIT $2)"
    );
    tx.execute(&text, &args![&*edge(older_than), batch])
}
