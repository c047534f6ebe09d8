//! A cache of recent sessions, people, access tokens and the access rules, so that the hot path runs no SQL.
//!
//! Entries are added in two ways: a sole writer inserts what it has committed, or a reader fills a gap. A reader that
//! read before a commit must not restore what the commit removed. So it holds the placeholder of `quick_cache` while it
//! reads; removing a key also removes the placeholder, and the late fill is refused.
//!
//! A session is cached with a pointer to its person. It counts as long as this record of the person is in the cache: a
//! session whose person has changed is read again.
//!
//! Where other nodes change the same data, the cache is trusted only while this node provably knows every change.

mod freshness;
mod people_changes;
mod person;
mod session;

use std::hash::{Hash, RandomState};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey, Person, Session, Timestamp};
use quick_cache::UnitWeighter;
use quick_cache::sync::{DefaultLifecycle, EntryAction, EntryResult, GuardResult, PlaceholderGuard};
use tokio::sync::Notify;
use tokio::time::timeout;

pub(crate) use freshness::{BootInstant, FRESHNESS_DURATION, Freshness};
pub(crate) use people_changes::{ChangeNumber, PeopleChanges};
pub use person::CachedPerson;
pub(crate) use session::LAST_USE_INTERVAL_MILLIS;
pub use session::SessionWithPerson;

use crate::{AccessRules, AccessTokenRecord};

/// The most access tokens that are cached.
const MAX_ACCESS_TOKENS: usize = 65_536;

/// How long a request waits for another request that reads the same entry. After that it bypasses the cache, so that
/// one hanging read does not delay the others.
const FILL_TIMEOUT: Duration = Duration::from_millis(200);

/// The cached entries of one kind. Nobody can choose keys with the same hash, so it is that of the standard library.
pub(crate) type Entries<K, V> = quick_cache::sync::Cache<K, V, UnitWeighter, RandomState>;

fn entries<K: Eq + Hash, V: Clone>(capacity: usize) -> Entries<K, V> {
    let weight = u64::try_from(capacity).unwrap_or(u64::MAX);
    Entries::with(capacity, weight, UnitWeighter, RandomState::new(), DefaultLifecycle::default())
}

pub(crate) enum CacheLookup<'a, K, V> {
    /// The cached value, which another request may just have read.
    Hit(V),
    /// The caller must read the value from the database, and fill the gap with it.
    Miss(Gap<'a, K, V>),
}

/// A gap that one request is to fill. Its placeholder is removed with the key; without one, the cache is bypassed.
pub(crate) struct Gap<'a, K, V>(Option<Placeholder<'a, K, V>>);

type Placeholder<'a, K, V> = PlaceholderGuard<'a, K, V, UnitWeighter, RandomState, DefaultLifecycle<K, V>>;

impl<K: Eq + Hash, V: Clone> Gap<'_, K, V> {
    /// Whether the value is for this request alone.
    pub(crate) fn bypasses_cache(&self) -> bool {
        self.0.is_none()
    }

    /// Caches the value, unless the cache is bypassed. `false` when the key was removed since the lookup: the value may
    /// have been read before that change, and is not cached.
    pub(crate) fn fill(self, value: V) -> bool {
        self.0.is_none_or(|placeholder| placeholder.insert(value).is_ok())
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
    /// Returns whether other nodes must apply it. They do not have a new session, and a swept session had already
    /// ended.
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
    pub(crate) sessions: Entries<Digest, SessionWithPerson>,
    pub(crate) people: Entries<EmployeeKey, Arc<CachedPerson>>,
    pub(crate) people_changes: PeopleChanges,
    pub(crate) access_tokens: Entries<Digest, Arc<AccessTokenRecord>>,
    /// At most one entry.
    pub(crate) rules: Entries<(), Arc<AccessRules>>,
    pub(crate) freshness: Freshness,
    pub(crate) listener: OnceLock<Listener>,
    /// Fires when this node has committed that clients are to be told of the end of sessions.
    pub(crate) logouts_due: Arc<Notify>,
}

impl Cache {
    /// Creates a cache that is trusted while `freshness` is valid.
    pub(crate) fn new(capacity: usize, freshness: Freshness) -> Self {
        // Most sessions have no access token, and an entry is larger than that of a session.
        let access_tokens = (capacity / 16).clamp(1, MAX_ACCESS_TOKENS);
        // The shards of the cache fill unevenly; without spare capacity a few entries would never fit.
        let with_spare = |capacity: usize| capacity.saturating_add(capacity / 16);
        let sessions = with_spare(capacity);
        Self {
            sessions: entries(sessions),
            // The people of all sessions fit, even if no two share one: without its person, a session is read again.
            people: entries(with_spare(sessions)),
            people_changes: PeopleChanges::new(),
            access_tokens: entries(access_tokens),
            rules: entries(1),
            freshness,
            listener: OnceLock::new(),
            logouts_due: Arc::default(),
        }
    }

    /// Looks up `key`. Of several requests that miss the same entry, one fills the gap and the others wait for it.
    pub(crate) async fn look_up<'a, K, V>(&self, entries: &'a Entries<K, V>, key: &K) -> CacheLookup<'a, K, V>
    where
        K: Clone + Eq + Hash,
        V: Clone,
    {
        loop {
            if !self.freshness.is_valid() {
                return CacheLookup::Miss(Gap(None));
            }
            if let Some(value) = entries.get(key) {
                return CacheLookup::Hit(value);
            }
            // Boxed, since a hit has no use for a timer.
            match Box::pin(timeout(FILL_TIMEOUT, entries.get_value_or_guard_async(key))).await {
                Ok(Err(placeholder)) => return CacheLookup::Miss(Gap(Some(placeholder))),
                // Another request has read it, perhaps before a change: only what is in the cache now counts.
                Ok(Ok(_)) => {}
                Err(_) => return CacheLookup::Miss(Gap(None)),
            }
        }
    }

    /// The cached record of a person, or that of `person`, who was read together with a session and is now cached. The
    /// key was not known before the read, so no placeholder was held: the person is cached only if they have not
    /// changed since `since`, which was taken before the read. A change is noted before the key is removed. If it is
    /// noted before the look at the changes, it is seen here; if later, it removes the placeholder or the person. A
    /// record that was not cached does not count, and neither does a session with it.
    pub(crate) fn keep_person(&self, person: &Person, since: ChangeNumber) -> Arc<CachedPerson> {
        let record = || Arc::new(CachedPerson::new(person));
        match self.people.get_value_or_guard(&person.key, Some(Duration::ZERO)) {
            GuardResult::Value(found) => found,
            GuardResult::Guard(placeholder) if self.people_changes.is_unchanged(&person.key, since) => {
                let record = record();
                // If it is refused, the person has just changed.
                let _ = placeholder.insert(Arc::clone(&record));
                record
            }
            // The person has changed, or another request reads them.
            GuardResult::Guard(_) | GuardResult::Timeout => record(),
        }
    }

    /// Whether this record of a person is in the cache, and so says what the database does.
    pub(crate) fn is_current(&self, person: &Arc<CachedPerson>) -> bool {
        self.people.get(&person.key).is_some_and(|current| Arc::ptr_eq(&current, person))
    }

    /// Records a use of a cached session, unless it is too early for that or another request was faster; `true` if it is to be written.
    pub(crate) fn record_use(&self, digest: &Digest, now: Timestamp) -> bool {
        let record = |_: &Digest, cached: &mut SessionWithPerson| EntryAction::Retain(cached.record_use(now));
        !matches!(self.sessions.entry(digest, Some(Duration::ZERO), record), EntryResult::Retained(false))
    }

    /// Removes all entries, and discards the fills in progress.
    pub(crate) fn clear(&self) {
        self.people_changes.apply(None, || {
            self.sessions.clear();
            self.people.clear();
            self.access_tokens.clear();
            self.rules.clear();
        });
        self.notify(Invalidation::All);
    }

    /// Called after the old entry is removed, so that the listener reads current data.
    fn notify(&self, touched: Invalidation<'_>) {
        if let Some(listener) = self.listener.get() {
            listener(touched);
        }
    }

    /// Applies a committed change. A new session may be cached only where no other node can have ended it since.
    pub(crate) fn apply(&self, change: CacheChange) {
        match change {
            CacheChange::SessionStarted(digest, session) => {
                // The person was looked up a moment ago during the sign-in; otherwise the first use fills the gap.
                if let Some(person) = self.people.get(&session.employee) {
                    self.sessions.insert(digest, SessionWithPerson::new(session, person));
                }
            }
            CacheChange::Session(digest) | CacheChange::SessionSwept(digest) => {
                self.sessions.remove(&digest);
                self.access_tokens.remove(&digest);
                self.notify(Invalidation::Session(&digest));
            }
            CacheChange::Person(key) => {
                self.people_changes.apply(Some(&key), || drop(self.people.remove(&key)));
                self.notify(Invalidation::Person(&key));
            }
            CacheChange::Rules => {
                self.rules.clear();
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
