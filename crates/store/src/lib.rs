//! Where everything is kept: SQL for what must never be lost, a cache for what was seen lately.
//!
//! The functions here are named after what they mean, not after the SQL they run; only this crate knows a database.

#[macro_use]
mod database;
mod acting;
mod agents;
mod cache;
mod clock;
mod cursor;
mod directory;
mod error;
mod ip_rules;
mod links;
mod login_log;
mod once;
mod plans;
mod rulebook;
mod seal;
mod service_keys;
mod sessions;
mod shared;
mod sign_ins;
mod statistics;
mod sweep;
mod tls;

use std::sync::Arc;

use deskpass_core::Timestamp;
use tokio::task::JoinSet;

use crate::cache::{Cache, Proof};
use crate::database::Database;
use crate::sessions::Seen;
use crate::statistics::Statistics;

pub use acting::{Actor, By, ChangeError, Revoked};
pub use agents::{
    About, Agent, Before, Binding, Device, HalfFound, HalfSession, ListedAgent, NewPassword, Notice, PendingDevice,
    Subject, Trial, UsedStep,
};
pub use cache::{Member, Standing, Touched};
pub use clock::{ClockRepaired, CommonTime, read_newest_moment};
pub use cursor::{BadCursor, Cursor};
pub use database::{
    BesideError, Copied, CopyError, Location, Mode, OpenError, Postgres, PostgresExam, Progress, copy,
    examine_postgres, newest_version, restart_log,
};
pub use directory::{At, Changed, InDepartment, Listed, NewEmployee, Order, PeopleFilter, PeoplePage, ShutOut, Sought};
pub use error::{Cause, Remedy, StoreError};
pub use links::Link;
pub use login_log::{
    BadReceipt, ChainKey, Event, Fault, KEY_CHECK, KEY_CHECKS, LogEntry, LogFilter, LogPage, LogRow, LogVerdict,
    Receipt, VerifyError, What, is_key_of_log, read_log, verify_log,
};
pub use rulebook::Rulebook;
pub use seal::{Seal, SealError};
pub use service_keys::ServiceKey;
pub use sessions::{
    Beginning, Birth, Ended, Ending, Found, Grounds, ListedSession, SessionFilter, SessionPage, SignInNetwork,
};
pub use shared::{
    Admitted, Arrived, Ask, Bus, Changes, Code, Counted, Counting, Flow, Held, Lease, Letter, Limits, Mail, Perishable,
    PlatformToken, Pointer, Posted, Reader, Redis, RedisExam, Round, Shared, Shelf, Start, Unfit, examine_redis,
};
pub use sign_ins::{Consequences, Disowning, Most, SignIn};
pub use statistics::{Hour, Step};
pub use tls::BadAuthority;

/// The store of one desk. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    database: Arc<Database>,
    cache: Arc<Cache>,
    seen: Arc<Seen>,
    statistics: Arc<Statistics>,
}

impl Store {
    /// Opens the store at `location`, creates it when it is not there, and brings its tables up to date. A directory belongs
    /// to this process until the store is dropped.
    ///
    /// # Errors
    /// When it is in use or cannot be used, or the data is damaged, newer than this program, or made in the other mode.
    pub async fn open(location: Location, mode: Mode, cache_entries: usize, now: Timestamp) -> Result<Self, OpenError> {
        Self::open_with(location, mode, cache_entries, now, None).await
    }

    /// The same, with the key that the log is chained with. Only with it is the log's marker made, when its table is: every service
    /// opens its store so.
    ///
    /// # Errors
    /// As above.
    pub async fn open_with(
        location: Location,
        mode: Mode,
        cache_entries: usize,
        now: Timestamp,
        key: Option<ChainKey>,
    ) -> Result<Self, OpenError> {
        let proof = match location {
            Location::Embedded(_) => Proof::always(),
            Location::Postgres(_) => Proof::none_yet(),
        };
        let cache = Arc::new(Cache::new(cache_entries, proof));
        let database = Database::open(location, mode, Arc::clone(&cache), now, key).await?;
        Ok(Self { database: Arc::new(database), cache, seen: Arc::default(), statistics: Arc::default() })
    }

    /// Tells other nodes at once that there is something to hear of, and listens when they do, for as long as what this
    /// returns is kept. Nothing depends on it but how soon: everyone looks a moment later all the same.
    #[must_use]
    pub fn keep_in_step(&self, bus: &Bus) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let Some(changed) = self.database.changed().map(Arc::clone) else { return tasks };
        let (speaking, hearing, database) = (bus.clone(), bus.clone(), Arc::clone(&self.database));
        tasks.spawn(async move {
            loop {
                changed.notified().await;
                speaking.nudge();
            }
        });
        tasks.spawn(async move {
            loop {
                hearing.nudged().notified().await;
                database.catch_up();
            }
        });
        tasks
    }

    /// Whether the store takes writes right now: it writes, so a full disk shows.
    ///
    /// # Errors
    /// When it does not.
    pub async fn probe(&self, now: Timestamp) -> Result<(), StoreError> {
        self.database.write(move |tx| database::try_out(tx, now)).await
    }

    /// Tells `listener` at once of everything that may have changed for somebody who is signed in, on whatever node: before
    /// whoever changed it here hears that it is done. There is one listener.
    pub fn listen(&self, listener: impl Fn(Touched<'_>) + Send + Sync + 'static) {
        self.cache.listen(Box::new(listener));
    }

    /// Waits until this node has heard of everything that was changed on other nodes before this call.
    pub async fn caught_up(&self) {
        self.database.caught_up().await;
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
