//! Whether a key is the key that the audit log was written with, and that the secrets in the database were sealed with.

use super::key_evidence::{is_key_of, is_own_key, proven_by_rows};
use super::keys::ChainKeys;
use super::marker::key_check;
use crate::database::{Sql, in_snapshot, read_directly};
use crate::{DirectReadError, Location, Mode, Result, Store};

/// Whether the log is written with one of these keys, read next to the running service.
pub async fn is_key_of_log(location: &Location, mode: Mode, keys: ChainKeys) -> Result<Option<bool>, DirectReadError> {
    let is_key = move |sql: &Sql<'_>| match is_key_of(sql, &keys)? {
        // Nothing in a log that was changed throughout shows the key; the key check still does.
        Some(false) if is_own_key(sql, &keys)? => Ok(Some(true)),
        known => Ok(known),
    };
    read_directly(location, mode, move |sql| in_snapshot(sql, &is_key)).await
}

/// The text in the database by which the service checks its key before it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCheckState {
    /// It was made with one of the keys.
    Matches,
    /// It was changed, or made with another key.
    Differs,
    /// There is none.
    Missing,
}

/// Compares the keys with the stored key check, read next to the running service.
///
/// # Errors
/// When the data cannot be read.
pub async fn key_check_state(
    location: &Location,
    mode: Mode,
    keys: ChainKeys,
) -> Result<KeyCheckState, DirectReadError> {
    let compare = move |sql: &Sql<'_>| {
        Ok(match key_check(sql)? {
            Some(check) if keys.matches_check(&check) => KeyCheckState::Matches,
            Some(_) => KeyCheckState::Differs,
            None => KeyCheckState::Missing,
        })
    };
    read_directly(location, mode, compare).await
}

impl Store {
    /// Whether the log is written with one of these keys. `None` when nothing in the log was made with a key.
    pub async fn is_key_of_log(&self, keys: ChainKeys) -> Result<Option<bool>> {
        self.database.read(move |sql| in_snapshot(sql, |sql| is_key_of(sql, &keys))).await
    }

    /// The stored text by which the key is checked.
    pub async fn key_check(&self) -> Result<Option<String>> {
        let text = "SELECT key_check FROM desk";
        Ok(self.database.read(move |sql| sql.first(text, &[], |row| row.maybe_text(0))).await?.flatten())
    }

    /// A new text by which the key of the data can be recognised.
    pub async fn new_key_check(&self, keys: ChainKeys) -> Result<String> {
        let check = move |sql: &Sql<'_>| {
            if let Some(key) = keys.identified(sql)? {
                return key.new_check();
            }
            if let Some(key) = proven_by_rows(sql, &keys)? {
                return key.new_check();
            }
            keys.current(sql)?.new_check()
        };
        self.database.read(move |sql| in_snapshot(sql, &check)).await
    }

    /// Stores the text by which the key is checked in place of `before`, unless another node replaced it first.
    pub async fn store_key_check(&self, check: String, before: Option<String>) -> Result<()> {
        let text = "UPDATE desk SET key_check = $1 WHERE COALESCE(key_check, '') = $2";
        let before = before.unwrap_or_default();
        self.database.write(move |tx| tx.execute(text, &args![&*check, &*before]).map(drop)).await
    }

    /// Whether the database contains anything that only the encryption key opens.
    pub async fn has_sealed_secrets(&self) -> Result<bool> {
        let text = "SELECT 1 FROM agent WHERE password_hash IS NOT NULL OR otp_secret IS NOT NULL
            OR otp_pending IS NOT NULL OR setup_code IS NOT NULL OR otp_setup_code IS NOT NULL LIMIT 1";
        self.database.read(move |sql| sql.exists(text, &[])).await
    }
}
