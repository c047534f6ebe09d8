//! A cache of recent sessions, people, access tokens and the access rules, so that the hot path runs no SQL.
//!
//! Entries are added in two ways: a sole writer inserts what it has committed, or a reader fills a gap ([`fill`]). A
//! reader that read before a commit must not restore what the commit removed. So it holds a placeholder while it reads;
//! removing a key also removes the placeholder, and the late fill is discarded.
//!
//! A session is cached with a pointer to its person, for one lookup instead of two. A person's record is current as
//! long as it is in the cache: a session whose person is not current any more is read again.
//!
//! Where other nodes change the same data, the cache is trusted only while this node provably knows every change.

mod fill;
mod freshness;
mod people_changes;
mod person;
mod session;
mod table;
mod thread_copies;

use std::sync::{Arc, OnceLock};

use deskpass_core::{Digest, EmployeeKey, Session};
use tokio::sync::Notify;

pub(crate) use fill::{CacheLookup, Gap};
pub(crate) use freshness::{BootInstant, FRESHNESS_DURATION, Freshness};
pub(crate) use people_changes::{ChangeNumber, PeopleChanges};
pub use person::CachedPerson;
pub use session::SessionWithPerson;
pub(crate) use session::{LAST_USE_INTERVAL_MILLIS, PackedSession};
pub(crate) use table::{Keyed, Table};
use thread_copies::ThreadCopies;

use crate::{AccessRules, AccessTokenRecord};

/// The most access tokens that are cached.
const MAX_ACCESS_TOKENS: usize = 65_536;

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
    pub(crate) sessions: Table<PackedSession>,
    pub(crate) people: Table<Arc<CachedPerson>>,
    pub(crate) people_changes: PeopleChanges,
    pub(crate) access_tokens: Table<Keyed<Digest, AccessTokenRecord>>,
    /// At most one entry.
    pub(crate) rules: Table<Keyed<(), AccessRules>>,
    pub(crate) rule_copies: ThreadCopies<AccessRules>,
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
        let with_spare = |entries: usize| entries.saturating_add(entries / 16);
        let sessions = with_spare(entries);
        Self {
            sessions: Table::new(sessions),
            // The people of all sessions fit, even if no two share one: without its person, a session is read again.
            people: Table::new(with_spare(sessions)),
            people_changes: PeopleChanges::new(),
            access_tokens: Table::new(access_tokens),
            rules: Table::new(1),
            rule_copies: ThreadCopies::new(),
            freshness,
            listener: OnceLock::new(),
            logouts_due: Arc::default(),
        }
    }

    /// Removes all entries, and discards the fills in progress.
    pub(crate) fn clear(&self) {
        self.people_changes.apply(None, || {
            self.sessions.clear();
            self.people.clear();
            self.access_tokens.clear();
            self.forget_rules();
        });
        self.notify(Invalidation::All);
    }

    /// Called after the old entry is removed, so that the listener reads current data.
    fn notify(&self, touched: Invalidation<'_>) {
        if let Some(listener) = self.listener.get() {
            listener(touched);
        }
    }

    fn forget_rules(&self) {
        self.rule_copies.change(|| self.rules.remove(&()));
    }

    /// Applies a committed change. A new session may be cached only where no other node can have ended it since.
    pub(crate) fn apply(&self, change: CacheChange) {
        match change {
            CacheChange::SessionStarted(digest, session) => {
                // The person was looked up a moment ago during the sign-in; otherwise the first use fills the gap.
                if let Some(person) = self.people.get(&session.employee) {
                    self.sessions.insert(PackedSession::new(digest, &SessionWithPerson::new(session, person)));
                }
            }
            CacheChange::Session(digest) | CacheChange::SessionSwept(digest) => {
                self.sessions.remove(&digest);
                self.access_tokens.remove(&digest);
                self.notify(Invalidation::Session(&digest));
            }
            CacheChange::Person(key) => {
                self.people_changes.apply(Some(&key), || self.people.remove(&key));
                self.notify(Invalidation::Person(&key));
            }
            CacheChange::Rules => {
                self.forget_rules();
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
