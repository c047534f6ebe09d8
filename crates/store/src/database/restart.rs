//! Restarts the chains of the login log with a new key, for when the previous key is lost.

use std::sync::Arc;

use deskpass_core::Timestamp;

use super::migrate;
use super::postgres::{self, PostgresConnection};
use super::sqlite::Sqlite;
use super::{Location, Mode, OpenError, Sql, Tx};
use crate::cache::{Cache, Freshness};
use crate::login_log::{is_own_key, restart_chains};
use crate::{LogEntry, Result, StoreError};

/// Whether a log may be restarted with the key that it was written with. That hides changes which the key can still show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameKey {
    /// The log stays as it is.
    Refuse,
    /// The rows are accepted without verification.
    Accept,
}

/// Adds all rows of the log to a chain with the key of `entry`, and writes `entry` after them; `false`, with no change,
/// when the log has that key and `same_key` refuses it. No service may run on an embedded database meanwhile.
pub async fn restart_log(
    location: &Location,
    mode: Mode,
    now: Timestamp,
    entry: LogEntry,
    same_key: SameKey,
) -> Result<bool, OpenError> {
    match location {
        Location::Embedded(directory) => {
            let cache = Arc::new(Cache::new(1, Freshness::permanent()));
            // Without the key: the data was created with another key, and the marker is created below.
            let store = Sqlite::open(directory, mode, cache, now, None)?;
            let failed = |error| OpenError::Database { path: directory.join("deskpass.db"), error };
            store.writer.write(move |tx| restart(tx, &entry, now, same_key)).await.map_err(failed)
        }
        Location::Postgres(server) => {
            let name = postgres::display_name(server)?;
            let work = move |connection: &PostgresConnection| {
                connection.batch(
                    "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
                     LOCK TABLE log_chain, login_log IN SHARE ROW EXCLUSIVE MODE",
                )?;
                let restarted = restart(&Tx::new(Sql::Postgres(connection)), &entry, now, same_key)?;
                postgres::commit_maintenance(connection).map_err(StoreError::with_unknown_outcome)?;
                Ok(restarted)
            };
            let done = postgres::with_migrated_connection(server, mode, now, work).await?;
            done.map_err(|error| OpenError::Server { server: name, error })
        }
    }
}

fn restart(tx: &Tx<'_>, entry: &LogEntry, now: Timestamp, same_key: SameKey) -> Result<bool> {
    // Rows of a later version may have columns that this program does not know and would leave out of the hashes.
    migrate::require_known_version(tx)?;
    // In the transaction and after the migrations, so that the rows that are checked are those that are restarted.
    if same_key == SameKey::Refuse && is_own_key(tx, &entry.key)? {
        return Ok(false);
    }
    restart_chains(tx, &entry.key, now)?;
    entry.write(tx)?;
    Ok(true)
}
