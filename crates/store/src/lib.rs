//! Where everything is kept: SQL for what must never be lost, a cache for what was seen lately.
//!
//! The functions here are named after what they mean, not after the SQL they run; only this crate knows a database.

#[macro_use]
mod database;
mod agents;
mod cache;
mod directory;
mod error;
mod links;
mod login_log;
mod sessions;
mod shared;

use std::sync::Arc;

use deskpass_core::Timestamp;
use tokio::sync::Notify;

use crate::cache::Cache;
use crate::database::Database;

pub use cache::{Member, Standing};
pub use database::{
    Copied, CopyError, Location, Mode, OpenError, Postgres, PostgresExam, Progress, copy, examine_postgres,
    newest_version,
};
pub use directory::{Listed, NewEmployee};
pub use error::{Cause, Remedy, StoreError};
pub use links::Link;
pub use login_log::{Event, LogEntry};
pub use sessions::{Beginning, Birth, Ended, Found, Grounds};
pub use shared::{
    Bus, Changes, Code, Counted, Flow, Held, Lease, Limits, Perishable, PlatformToken, Pointer, Redis, RedisExam,
    Shared, Shelf, examine_redis,
};

/// The store of one desk. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    database: Arc<Database>,
    cache: Arc<Cache>,
}

impl Store {
    /// Opens the store at `location`, creates it when it is not there, and brings its tables up to date. A directory belongs
    /// to this process until the store is dropped.
    ///
    /// # Errors
    /// When it is in use or cannot be used, or the data is damaged, newer than this program, or made in the other mode.
    pub async fn open(location: Location, mode: Mode, cache_entries: usize, now: Timestamp) -> Result<Self, OpenError> {
        let (database, cache) = Database::open(location, mode, cache_entries, now).await?;
        Ok(Self { database: Arc::new(database), cache })
    }

    /// Fires after this node has changed something that others should hear of, where there are others.
    #[must_use]
    pub fn changed(&self) -> Option<&Arc<Notify>> {
        self.database.changed()
    }

    /// Takes notice at once of what others have changed. They would be heard of a moment later without it.
    pub fn catch_up(&self) {
        self.database.catch_up();
    }

    /// Whether the store takes writes right now: it writes, so a full disk shows.
    ///
    /// # Errors
    /// When it does not.
    pub async fn probe(&self, now: Timestamp) -> Result<(), StoreError> {
        // The newest time of all nodes stays on record.
        let text = "UPDATE probe SET at = CASE WHEN at > $1 THEN at ELSE $1 END";
        self.database.write(move |tx| tx.execute(text, &args![now]).map(drop)).await
    }

    /// Whether what the cache holds can be believed right now.
    #[must_use]
    pub fn is_in_step(&self) -> bool {
        self.cache.is_right()
    }

    /// How many sessions the cache holds.
    #[must_use]
    pub fn cached_sessions(&self) -> usize {
        self.cache.sessions.len()
    }
}
