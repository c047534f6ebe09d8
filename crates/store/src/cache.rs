//! Sessions and people seen lately, so that the hot path reads no SQL.
//!
//! Entries appear in two ways: the writer thread puts in what it has just committed, or a reader fills a gap. A reader
//! that read before a commit must not put back what the commit took away; it holds a placeholder while it reads, and
//! forgetting a key removes the placeholder, so that the late fill goes nowhere.

use std::fmt;
use std::sync::Arc;

use deskpass_core::{Digest, EmployeeKey, Person, Session};
use quick_cache::sync;

/// What a commit changed, as far as the cache cares.
#[derive(Debug)]
pub(crate) enum Change {
    /// A session began.
    Born(Digest, Session),
    /// A session changed or ended.
    Session(Digest),
    /// A person's record or roles changed.
    Person(EmployeeKey),
}

pub(crate) struct Cache {
    pub(crate) sessions: sync::Cache<Digest, Session>,
    pub(crate) people: sync::Cache<EmployeeKey, Arc<Person>>,
}

impl Cache {
    pub(crate) fn new(entries: usize) -> Self {
        Self { sessions: sync::Cache::new(entries), people: sync::Cache::new(entries) }
    }

    /// Takes over what was committed, in the order it was committed.
    pub(crate) fn apply(&self, change: Change) {
        match change {
            Change::Born(digest, session) => self.sessions.insert(digest, self.shared(session)),
            Change::Session(digest) => drop(self.sessions.remove(&digest)),
            Change::Person(key) => drop(self.people.remove(&key)),
        }
    }

    /// The same session, holding the same copy of its employee's key as everyone else: a million sessions of ten
    /// thousand people need ten thousand keys.
    pub(crate) fn shared(&self, session: Session) -> Session {
        match self.people.get(&session.employee) {
            Some(person) => Session { employee: person.key.clone(), ..session },
            None => session,
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} sessions, {} people)", self.sessions.len(), self.people.len())
    }
}
