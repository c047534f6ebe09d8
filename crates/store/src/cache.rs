//! A cache of recent sessions, people, access tokens and the access rules, so that the hot path runs no SQL.
//!
//! Entries are added in two ways: a sole writer inserts what it has committed, or a reader fills a gap ([`fill`]). A
//! reader that read before a commit must not restore what the commit removed. So it holds a placeholder while it reads;
//! removing a key also removes the placeholder, and the late fill is discarded.
//!
//! A session is cached together with its person, for one lookup instead of two. People rarely change: every change to a
//! person advances the epoch, and a session that was last checked in another epoch looks up its person again.
//!
//! Where other nodes change the same data, the cache is trusted only while this node provably knows every change.

mod fill;
mod freshness;
mod person;
mod table;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use deskpass_core::{Digest, EmployeeKey, Session, Timestamp};
use tokio::sync::Notify;

pub(crate) use fill::{CacheLookup, Gap};
pub(crate) use freshness::{BootInstant, FRESHNESS_DURATION, Freshness};
pub use person::CachedPerson;
pub(crate) use table::{Keyed, Table};

use crate::{AccessRules, AccessTokenRecord};

/// A session and its person.
#[derive(Debug)]
pub struct SessionWithPerson {
    /// The session.
    pub session: Session,
    /// The person of the session.
    pub person: Arc<CachedPerson>,
    /// The epoch in which `person` was last verified.
    checked_epoch: AtomicU64,
    /// When the use of the session was last recorded, in milliseconds.
    last_use: AtomicI64,
}

/// The minimum interval between two records of a session's use.
pub(crate) const LAST_USE_INTERVAL_MILLIS: i64 = 600_000;

/// The most access tokens that are cached.
const MAX_ACCESS_TOKENS: usize = 65_536;

/// The number of changes to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

impl Epoch {
    pub(crate) const fn number(self) -> u64 {
        self.0
    }
}

impl SessionWithPerson {
    /// `epoch` must be read before `person`.
    pub(crate) fn new(mut session: Session, person: Arc<CachedPerson>, epoch: Epoch) -> Self {
        // All sessions of a person share one copy of the key.
        session.employee = person.key.clone();
        // The start of a session is its first recorded use.
        let last_use = AtomicI64::new(session.created_at.millis());
        Self { session, person, checked_epoch: AtomicU64::new(epoch.0), last_use }
    }

    /// Returns whether to record the use of the session at `now`. Of several concurrent callers, only one gets `true`.
    pub(crate) fn should_record_use(&self, now: Timestamp) -> bool {
        let last = self.last_use.load(Ordering::Relaxed);
        now.millis().saturating_sub(last) >= LAST_USE_INTERVAL_MILLIS
            && self.last_use.compare_exchange(last, now.millis(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn is_current_in(&self, epoch: Epoch) -> bool {
        self.checked_epoch.load(Ordering::Relaxed) == epoch.0
    }

    pub(crate) fn mark_current_in(&self, epoch: Epoch) {
        self.checked_epoch.store(epoch.0, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(crate) enum CacheChange {
    /// A session began.
    SessionStarted(Digest, Session),
    /// A session changed or ended, or an access token of an OpenID Connect client is not valid any more.
    Session(Digest),
    /// A session that ended long ago was removed.
    SessionSwept(Digest),
    /// A person's record or roles changed.
    Person(EmployeeKey),
    /// The access rules changed.
    Rules,
    /// Many sessions ended at once.
    AllSessions,
    /// OpenID Connect clients are to be told that sessions ended.
    LogoutsDue,
}

impl CacheChange {
    /// Returns whether other nodes must apply it. They do not have a new session, and a swept session had already ended.
    pub(crate) fn concerns_other_nodes(&self) -> bool {
        matches!(self, Self::Session(_) | Self::Person(_) | Self::Rules | Self::AllSessions)
    }
}

/// What may have changed for a signed-in user.
#[derive(Clone, Copy, Debug)]
pub enum Invalidation<'a> {
    /// The session with this digest.
    Session(&'a Digest),
    /// This person, and all of their sessions.
    Person(&'a EmployeeKey),
    /// Any session or person.
    All,
}

type Listener = Box<dyn Fn(Invalidation<'_>) + Send + Sync>;

pub(crate) struct Cache {
    pub(crate) sessions: Table<Keyed<Digest, SessionWithPerson>>,
    pub(crate) people: Table<Keyed<EmployeeKey, CachedPerson>>,
    pub(crate) access_tokens: Table<Keyed<Digest, AccessTokenRecord>>,
    /// At most one entry.
    pub(crate) rules: Table<Keyed<(), AccessRules>>,
    epoch: AtomicU64,
    pub(crate) freshness: Freshness,
    pub(crate) listener: OnceLock<Listener>,
    /// Fires when this node has committed that clients are to be told of the end of sessions.
    pub(crate) logouts_due: Arc<Notify>,
}

impl Cache {
    /// Creates a cache that is trusted while `freshness` is valid.
    pub(crate) fn new(entries: usize, freshness: Freshness) -> Self {
        // Most sessions have no access token, and an entry is larger than that of a session.
        let access_tokens = (entries / 16).clamp(1, MAX_ACCESS_TOKENS);
        // The shards of the cache fill unevenly; without spare capacity a few entries would never fit.
        let entries = entries.saturating_add(entries / 16);
        Self {
            sessions: Table::new(entries),
            people: Table::new(entries),
            access_tokens: Table::new(access_tokens),
            rules: Table::new(1),
            epoch: AtomicU64::new(0),
            freshness,
            listener: OnceLock::new(),
            logouts_due: Arc::default(),
        }
    }

    /// Removes all entries, and discards the fills in progress.
    pub(crate) fn clear(&self) {
        // Before the removal and after it, as for a change to one person.
        self.epoch.fetch_add(1, Ordering::Release);
        self.sessions.clear();
        self.people.clear();
        self.access_tokens.clear();
        self.rules.clear();
        self.epoch.fetch_add(1, Ordering::Release);
        self.notify(Invalidation::All);
    }

    /// Called after the old entry is removed, so that the listener reads current data.
    fn notify(&self, touched: Invalidation<'_>) {
        if let Some(listener) = self.listener.get() {
            listener(touched);
        }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    /// Applies a committed change. A new session may be cached only where no other node can have ended it since.
    pub(crate) fn apply(&self, change: CacheChange) {
        match change {
            CacheChange::SessionStarted(digest, session) => {
                let epoch = self.epoch();
                // The person was looked up a moment ago during the sign-in; otherwise the first use fills the gap.
                if let Some(person) = self.people.get(&session.employee) {
                    self.sessions.insert(Keyed::new(digest, Arc::new(SessionWithPerson::new(session, person, epoch))));
                }
            }
            CacheChange::Session(digest) | CacheChange::SessionSwept(digest) => {
                self.sessions.remove(&digest);
                self.access_tokens.remove(&digest);
                self.notify(Invalidation::Session(&digest));
            }
            CacheChange::Person(key) => {
                // Before the removal, for `keep_person`, and after it, for sessions that are checked meanwhile.
                self.epoch.fetch_add(1, Ordering::Release);
                self.people.remove(&key);
                self.epoch.fetch_add(1, Ordering::Release);
                self.notify(Invalidation::Person(&key));
            }
            CacheChange::Rules => {
                self.rules.remove(&());
                // A change to a client may have ended all that it got.
                self.access_tokens.clear();
                self.notify(Invalidation::All);
            }
            CacheChange::AllSessions => self.clear(),
            CacheChange::LogoutsDue => self.logouts_due.notify_one(),
        }
    }
}

debug_only!(Cache);
