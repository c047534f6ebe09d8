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

use std::path::Path;
use std::sync::Arc;

use deskpass_core::Timestamp;

use crate::cache::Cache;
use crate::database::Database;

pub use cache::{Member, Standing};
pub use database::{Mode, OpenError};
pub use directory::{Listed, NewEmployee};
pub use error::{Cause, Remedy, StoreError};
pub use links::Link;
pub use login_log::{Event, LogEntry};
pub use sessions::{Beginning, Birth, Ended, Found, Grounds};
pub use shared::{Bus, Changes, Code, Flow, Held, Lease, Perishable, PlatformToken, Pointer, Redis, Shared, Shelf};

/// The store of one desk. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    database: Arc<Database>,
    cache: Arc<Cache>,
}

impl Store {
    /// Opens the store in `directory`, creates it when it is not there, and brings its tables up to date. The directory
    /// belongs to this process until the store is dropped.
    ///
    /// # Errors
    /// When the directory is in use or cannot be used, or the data is damaged, newer than this program, or made in the other mode.
    pub fn open(directory: &Path, mode: Mode, cache_entries: usize, now: Timestamp) -> Result<Self, OpenError> {
        let cache = Arc::new(Cache::new(cache_entries));
        let database = Database::open(directory, mode, Arc::clone(&cache), now)?;
        Ok(Self { database: Arc::new(database), cache })
    }

    /// Whether the store takes writes right now: it writes, so a full disk shows.
    ///
    /// # Errors
    /// When it does not.
    pub async fn probe(&self, now: Timestamp) -> Result<(), StoreError> {
        self.database.write(move |tx| tx.execute("UPDATE probe SET at = $1", &args![now]).map(drop)).await
    }

    /// How many sessions the cache holds.
    #[must_use]
    pub fn cached_sessions(&self) -> usize {
        self.cache.sessions.len()
    }
}
