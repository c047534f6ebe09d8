//! Single-use records. They are in the database because a record in Redis can revert to an earlier state.
//!
//! Each attempt has its own value, so it can undo only its own use. An attempt whose response was lost can be undone
//! before it arrives: it then has no effect when it does.

use deskpass_core::{Digest, Timestamp};

use crate::database::{Sql, Tx};
use crate::{Result, Store};

const USE: &str = "INSERT INTO used_once (digest, used_by, undone, until) VALUES ($1, $2, 0, $3)
    ON CONFLICT (digest) DO UPDATE SET used_by = excluded.used_by, undone = 0, until = excluded.until
    WHERE (used_once.used_by = excluded.used_by AND used_once.undone = 0)
    OR (used_once.used_by <> excluded.used_by AND used_once.undone = 1)";
const WITHDRAW: &str = "INSERT INTO used_once (digest, used_by, undone, until) VALUES ($1, $1, 0, $2)
    ON CONFLICT (digest) DO UPDATE SET until = excluded.until WHERE used_once.until < excluded.until";
const ADVANCE: &str = "INSERT INTO used_once (digest, used_by, undone, until) VALUES ($1, $2, 0, $3)
    ON CONFLICT (digest) DO UPDATE SET used_by = excluded.used_by, until = excluded.until
    WHERE used_once.used_by <> excluded.used_by";
const UNDO: &str = "INSERT INTO used_once (digest, used_by, undone, until) VALUES ($1, $2, 1, $3)
    ON CONFLICT (digest) DO UPDATE SET undone = 1 WHERE used_once.used_by = excluded.used_by";

impl Store {
    /// Consumes something in this attempt; `false` when another attempt consumed it, or this one was undone. The record
    /// is kept until `until`. If the store fails, it may be consumed nevertheless.
    pub async fn use_once(&self, what: Digest, attempt: Digest, until: Timestamp) -> Result<bool> {
        self.database.write(move |tx| consume(tx, what, attempt, until)).await
    }

    /// Whether an attempt consumed something.
    pub async fn is_used(&self, what: Digest) -> Result<bool> {
        let text = "SELECT 1 FROM used_once WHERE digest = $1 AND undone = 0";
        self.database.read(move |sql| sql.exists(text, &args![what])).await
    }

    /// Withdraws everything of a kind that ends by `until`. What ends later stays.
    pub async fn withdraw(&self, what: Digest, until: Timestamp) -> Result<()> {
        self.database.write(move |tx| tx.execute(WITHDRAW, &args![what, until]).map(drop)).await
    }

    /// Until when everything of a kind is withdrawn, if it was.
    pub async fn withdrawn_until(&self, what: Digest) -> Result<Option<Timestamp>> {
        let text = "SELECT until FROM used_once WHERE digest = $1";
        self.database.read(move |sql| sql.first(text, &args![what], |row| row.timestamp(0))).await
    }

    /// Whether what ends at `until` was withdrawn.
    pub async fn is_withdrawn(&self, what: Digest, until: Timestamp) -> Result<bool> {
        let text = "SELECT 1 FROM used_once WHERE digest = $1 AND until >= $2";
        self.database.read(move |sql| sql.exists(text, &args![what, until])).await
    }

    /// Undoes a use by this attempt that had no result.
    pub async fn undo_use(&self, what: Digest, attempt: Digest, until: Timestamp) -> Result<()> {
        self.database.write(move |tx| tx.execute(UNDO, &args![what, attempt, until]).map(drop)).await
    }
}

/// Consumes something as [`Store::use_once`] does, as part of a transaction.
pub(crate) fn consume(tx: &Tx<'_>, what: Digest, attempt: Digest, until: Timestamp) -> Result<bool> {
    Ok(tx.execute(USE, &args![what, attempt, until])? == 1)
}

/// Records the latest step of a series whose steps are taken one after the other, each until it succeeds; `false` if this step was
/// recorded before, by an attempt whose result was lost.
pub(crate) fn advance(tx: &Tx<'_>, series: Digest, step: Digest, until: Timestamp) -> Result<bool> {
    Ok(tx.execute(ADVANCE, &args![series, step, until])? == 1)
}

/// Whether this is the latest recorded step of a series.
pub(crate) fn is_latest(sql: &Sql<'_>, series: Digest, step: Digest) -> Result<bool> {
    sql.exists("SELECT 1 FROM used_once WHERE digest = $1 AND used_by = $2", &args![series, step])
}
