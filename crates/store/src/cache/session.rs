//! A cached session.

use std::sync::Arc;

use deskpass_core::{Session, Timestamp};

use super::CachedPerson;

/// The minimum interval between two records of a session's use.
pub(crate) const LAST_USE_INTERVAL_MILLIS: i64 = 600_000;

/// A session and its person.
#[derive(Clone, Debug)]
pub struct SessionWithPerson {
    /// The session.
    pub session: Session,
    /// The person of the session.
    pub person: Arc<CachedPerson>,
    /// When the use of the session was last recorded.
    last_use: Timestamp,
}

impl SessionWithPerson {
    pub(crate) fn new(mut session: Session, person: Arc<CachedPerson>) -> Self {
        // All sessions of a person share one copy of the key.
        session.employee = person.key.clone();
        // The start of a session is its first recorded use.
        let last_use = session.created_at;
        Self { session, person, last_use }
    }

    /// Whether a use of the session at `now` is to be recorded, as far as this copy knows.
    pub(crate) fn is_use_due(&self, now: Timestamp) -> bool {
        now.millis().saturating_sub(self.last_use.millis()) >= LAST_USE_INTERVAL_MILLIS
    }

    /// Records a use, unless it is too early for that; returns whether it did.
    pub(crate) fn record_use(&mut self, now: Timestamp) -> bool {
        let is_due = self.is_use_due(now);
        if is_due {
            self.last_use = now;
        }
        is_due
    }
}
