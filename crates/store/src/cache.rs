//! Sessions and people seen lately, and the rules that count, so that the hot path reads no SQL.
//!
//! Entries appear in two ways: an only writer puts in what it has just committed, or a reader fills a gap. A reader
//! that read before a commit must not put back what the commit took away; it holds a placeholder while it reads, and
//! forgetting a key removes the placeholder, so that the late fill goes nowhere.
//!
//! A session is kept together with its person, for one look-up instead of two. People change seldom: every change to
//! anyone advances the epoch, and a session that was last compared in another epoch asks for its person anew.
//!
//! Where other nodes change the same data, what is kept here counts only while it is proven that this node has heard of
//! every change.

mod fill;
mod freshness;

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use deskpass_core::{Digest, EmployeeKey, Person, Roles, Session, Timestamp};
use quick_cache::sync;

pub(crate) use fill::CACHE_FILL_TIMEOUT;
pub(crate) use freshness::{BootInstant, Freshness};

use crate::AccessRules;

/// A person as the store knows them, with a place to keep what was made from them.
#[derive(Debug)]
pub struct CachedPerson {
    person: Person,
    cached: OnceLock<(Roles, [Box<str>; 2])>,
}

impl CachedPerson {
    pub(crate) fn new(person: Person) -> Self {
        Self { person, cached: OnceLock::new() }
    }

    /// Two texts made from the person and the roles that count, such as their part of an answer: made at the first call and
    /// kept for as long as the person stays the same. `None` where other roles count than at the first call.
    pub fn cached_texts(&self, roles: Roles, make: impl FnOnce(&Person) -> [Box<str>; 2]) -> Option<[&str; 2]> {
        let (cached_roles, texts) = self.cached.get_or_init(|| (roles, make(&self.person)));
        (*cached_roles == roles).then(|| texts.each_ref().map(|text| &**text))
    }
}

impl Deref for CachedPerson {
    type Target = Person;
    fn deref(&self) -> &Person {
        &self.person
    }
}

/// A session and whose it is.
#[derive(Debug)]
pub struct SessionWithPerson {
    /// The session.
    pub session: Session,
    /// Whose it is.
    pub person: Arc<CachedPerson>,
    /// The epoch in which `person` was last known to be right.
    checked_epoch: AtomicU64,
    /// When it was last noted that the session was used, in milliseconds.
    last_use: AtomicI64,
}

/// How long a session may be used before that is noted once more.
pub(crate) const LAST_USE_INTERVAL_MILLIS: i64 = 600_000;

/// A count of the changes to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

impl SessionWithPerson {
    /// `epoch` must have been read before `person` was.
    pub(crate) fn new(mut session: Session, person: Arc<CachedPerson>, epoch: Epoch) -> Self {
        // One copy of the key for all sessions of a person.
        session.employee = person.key.clone();
        // When it began it was used, and that is on record.
        let last_use = AtomicI64::new(session.created_at.millis());
        Self { session, person, checked_epoch: AtomicU64::new(epoch.0), last_use }
    }

    /// Whether it is to be noted that the session is used at `now`. Of several who ask at once, one is told so.
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

/// What a commit changed, as far as the cache cares.
#[derive(Debug)]
pub(crate) enum CacheChange {
    /// A session began.
    SessionStarted(Digest, Session),
    /// A session changed or ended.
    Session(Digest),
    /// A session that had ended long ago was removed.
    SessionSwept(Digest),
    /// A person's record or roles changed.
    Person(EmployeeKey),
    /// Something of the rulebook changed.
    Rules,
}

impl CacheChange {
    /// Whether other nodes must hear of it. Of a new session they know nothing, and one that was swept was over for all.
    pub(crate) fn concerns_other_nodes(&self) -> bool {
        matches!(self, Self::Session(_) | Self::Person(_) | Self::Rules)
    }
}

/// What may have changed for somebody who is signed in.
#[derive(Clone, Copy, Debug)]
pub enum Invalidation<'a> {
    /// The session that this names.
    Session(&'a Digest),
    /// This person, and every session of theirs.
    Person(&'a EmployeeKey),
    /// Anybody.
    All,
}

type Listener = Box<dyn Fn(Invalidation<'_>) + Send + Sync>;

pub(crate) struct Cache {
    pub(crate) sessions: sync::Cache<Digest, Arc<SessionWithPerson>>,
    pub(crate) people: sync::Cache<EmployeeKey, Arc<CachedPerson>>,
    /// One entry or none.
    pub(crate) rules: sync::Cache<(), Arc<AccessRules>>,
    epoch: AtomicU64,
    freshness: Freshness,
    listener: OnceLock<Listener>,
}

impl Cache {
    /// A cache that is believed while `freshness` is valid.
    pub(crate) fn new(entries: usize, freshness: Freshness) -> Self {
        // The cache is made of shards that fill unevenly; without some room to spare a few entries would never fit.
        let entries = entries.saturating_add(entries / 16);
        let (sessions, people) = (sync::Cache::new(entries), sync::Cache::new(entries));
        Self {
            sessions,
            people,
            rules: sync::Cache::new(1),
            epoch: AtomicU64::new(0),
            freshness,
            listener: OnceLock::new(),
        }
    }

    /// Whether what is in here can be believed.
    pub(crate) fn is_trusted(&self) -> bool {
        self.freshness.is_valid()
    }

    /// What shows that it can.
    pub(crate) fn freshness(&self) -> &Freshness {
        &self.freshness
    }

    /// Forgets everything, and whatever is being read right now.
    pub(crate) fn clear(&self) {
        self.sessions.clear();
        self.people.clear();
        self.rules.clear();
        self.epoch.fetch_add(1, Ordering::Release);
        self.notify(Invalidation::All);
    }

    /// Takes whoever wants to hear of changes. The first one stays.
    pub(crate) fn listen(&self, listener: Listener) {
        let _ = self.listener.set(listener);
    }

    /// Told after the old is forgotten, so that whoever looks finds what is true.
    fn notify(&self, touched: Invalidation<'_>) {
        if let Some(listener) = self.listener.get() {
            listener(touched);
        }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    /// Takes over what was committed. A session that was born counts only where nobody else can have ended it since.
    pub(crate) fn apply(&self, change: CacheChange) {
        match change {
            CacheChange::SessionStarted(digest, session) => {
                let epoch = self.epoch();
                // Whoever signs in was looked up a moment ago; otherwise the first use fills the gap.
                if let Some(person) = self.people.get(&session.employee) {
                    self.sessions.insert(digest, Arc::new(SessionWithPerson::new(session, person, epoch)));
                }
            }
            CacheChange::Session(digest) | CacheChange::SessionSwept(digest) => {
                drop(self.sessions.remove(&digest));
                self.notify(Invalidation::Session(&digest));
            }
            CacheChange::Person(key) => {
                drop(self.people.remove(&key));
                self.epoch.fetch_add(1, Ordering::Release);
                self.notify(Invalidation::Person(&key));
            }
            CacheChange::Rules => {
                drop(self.rules.remove(&()));
                self.notify(Invalidation::All);
            }
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} sessions, {} people)", self.sessions.len(), self.people.len())
    }
}
