//! A cached session, in 64 bytes, one cache line.
//!
//! The digest takes 32 of them, the pointer to the person 8, the start and the end 16, the last use 3, and five small
//! fields one each. Before, it was more than twice as much, in two places: an entry of 56 bytes that pointed to an
//! allocation of 80.

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Digest, LoginMethod, LoginSource, PlatformVouching, Role, Session, Timestamp};

use super::CachedPerson;
use super::table::Entry;

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
        is_use_due(self.last_use, now)
    }
}

fn is_use_due(last: Timestamp, now: Timestamp) -> bool {
    now.millis().saturating_sub(last.millis()) >= LAST_USE_INTERVAL_MILLIS
}

/// A session as the cache keeps it: without pointers to anything but its person, who knows the employee. It is aligned,
/// so that no entry lies across two cache lines.
#[repr(align(64))]
pub(crate) struct PackedSession {
    digest: Digest,
    person: Arc<CachedPerson>,
    created_at: Timestamp,
    expires_at: Timestamp,
    /// The seconds from the start of the session to its last recorded use, rounded up, the least byte first: sessions
    /// last for 30 days, and this for 194.
    last_use: [u8; 3],
    current_role: Role,
    default_role: Option<Role>,
    method: LoginMethod,
    source: LoginSource,
    vouched: PlatformVouching,
}

impl PackedSession {
    pub(crate) fn new(digest: Digest, record: &SessionWithPerson) -> Self {
        let SessionWithPerson { session, person, last_use } = record;
        let Session { current_role, method, vouched, default_role, source, created_at, expires_at, .. } = *session;
        Self {
            digest,
            person: Arc::clone(person),
            created_at,
            expires_at,
            last_use: seconds_between(created_at, *last_use),
            current_role,
            default_role,
            method,
            source,
            vouched,
        }
    }

    /// Records a use, unless it is too early for that; returns whether it did.
    pub(crate) fn record_use(&mut self, now: Timestamp) -> bool {
        let is_due = is_use_due(self.last_use(), now);
        if is_due {
            self.last_use = seconds_between(self.created_at, now);
        }
        is_due
    }

    fn last_use(&self) -> Timestamp {
        let [low, middle, high] = self.last_use;
        self.created_at + Duration::from_secs(u32::from_le_bytes([low, middle, high, 0]).into())
    }
}

/// Rounded up, so that no use is recorded too early: the database would reject it.
fn seconds_between(start: Timestamp, end: Timestamp) -> [u8; 3] {
    let seconds = end.since(start).as_millis().div_ceil(1_000);
    let [low, middle, high, rest] = u32::try_from(seconds).unwrap_or(u32::MAX).to_le_bytes();
    if rest == 0 { [low, middle, high] } else { [u8::MAX; 3] }
}

impl Entry for PackedSession {
    type Key = Digest;
    type Value = SessionWithPerson;

    fn key(&self) -> &Digest {
        &self.digest
    }

    fn value(&self) -> SessionWithPerson {
        let Self { current_role, default_role, method, source, vouched, created_at, expires_at, .. } = *self;
        let employee = self.person.key.clone();
        let session = Session { employee, current_role, method, vouched, default_role, source, created_at, expires_at };
        SessionWithPerson { session, person: Arc::clone(&self.person), last_use: self.last_use() }
    }
}

#[cfg(test)]
mod tests {
    use deskpass_core::{EmployeeKey, Person};
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    prop_compose! {
        fn session()(
            roles in (select(Role::ALL.to_vec()), prop::option::of(select(Role::ALL.to_vec()))),
            method in select(LoginMethod::ALL.to_vec()),
            source in select(LoginSource::ALL.to_vec()),
            vouched in (0_i64..3).prop_map(PlatformVouching::from_number),
            times in any::<[i64; 2]>(),
        ) -> Session {
            let (current_role, default_role) = roles;
            let [created_at, expires_at] = times.map(Timestamp::from_millis);
            let employee = EmployeeKey::from_parts("ww", "a");
            Session { employee, current_role, method, vouched, default_role, source, created_at, expires_at }
        }
    }

    fn record(session: Session) -> SessionWithPerson {
        SessionWithPerson::new(
            session,
            Arc::new(CachedPerson::new(&Person::new(EmployeeKey::from_parts("ww", "a"), "a"))),
        )
    }

    proptest! {
        #[test]
        fn a_packed_session_is_the_session(session in session()) {
            let packed = PackedSession::new(Digest::of(&[b"one"]), &record(session.clone()));
            let SessionWithPerson { session: unpacked, last_use, .. } = packed.value();
            prop_assert_eq!(&unpacked, &session);
            prop_assert_eq!(last_use, session.created_at);
        }

        /// Beside a plain time: a use is recorded at most a second later than exactly, and never earlier.
        #[test]
        fn uses_are_recorded_at_intervals(
            start in -1_000_000_i64..1_000_000,
            steps in prop::collection::vec(1_i64..400_000, 1..50),
        ) {
            let mut record = record(Session { created_at: Timestamp::from_millis(start), ..any_session() });
            let mut packed = PackedSession::new(Digest::of(&[b"one"]), &record);
            let (mut now, mut exact) = (start, start);
            for step in steps {
                now += step;
                record = packed.value();
                let (is_due, passed) = (record.is_use_due(Timestamp::from_millis(now)), now - exact);
                prop_assert_eq!(packed.record_use(Timestamp::from_millis(now)), is_due);
                let (exactly, latest) = (LAST_USE_INTERVAL_MILLIS, LAST_USE_INTERVAL_MILLIS + 1_000);
                let is_right = if is_due { passed >= exactly } else { passed < latest };
                prop_assert!(is_right);
                prop_assert!(!packed.record_use(Timestamp::from_millis(now)), "once");
                if is_due {
                    exact = now;
                }
            }
        }
    }

    fn any_session() -> Session {
        Session {
            employee: EmployeeKey::from_parts("ww", "a"),
            current_role: Role::User,
            method: LoginMethod::Dev,
            vouched: PlatformVouching::None,
            default_role: None,
            source: LoginSource::H5,
            created_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(1),
        }
    }

    #[test]
    fn a_session_is_small_however_long_it_lasts() {
        assert_eq!((size_of::<PackedSession>(), size_of::<SessionWithPerson>()), (64, 64));
        let mut packed = PackedSession::new(Digest::of(&[b"one"]), &record(any_session()));
        // After 200 days, and after the longest time.
        for now in [17_280_000_000, i64::MAX] {
            assert!(packed.record_use(Timestamp::from_millis(now)));
        }
    }
}
