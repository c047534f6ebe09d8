//! A session: what a token stands for.

use std::time::Duration;

use crate::{EmployeeKey, LoginMethod, LoginSource, Role, Roles, Timestamp};

/// Somebody is signed in. The roles they hold are not kept here but asked for anew, so that taking one away works at
/// once; only which of them is active belongs to the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Who is signed in.
    pub employee: EmployeeKey,
    /// The role chosen last.
    pub current_role: Role,
    /// How they signed in.
    pub method: LoginMethod,
    /// Which client they signed in to.
    pub source: LoginSource,
    /// When they signed in.
    pub created_at: Timestamp,
    /// When it ends, whatever happens in between.
    pub expires_at: Timestamp,
}

/// The role asked for is not among those held.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the role is not held")]
pub struct NotHeld;

impl Session {
    /// How long it has still to live; `None` once it has ended.
    #[must_use]
    pub fn remaining(&self, now: Timestamp) -> Option<Duration> {
        (now < self.expires_at).then(|| self.expires_at.since(now))
    }

    /// This session with another active role: same beginning, same end.
    ///
    /// # Errors
    /// When the role is not held.
    pub fn switch_to(&self, role: Role, held: Roles) -> Result<Self, NotHeld> {
        if held.holds(role) { Ok(Self { current_role: role, ..self.clone() }) } else { Err(NotHeld) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        Session {
            employee: EmployeeKey::from_parts("ww", "user01"),
            current_role: Role::User,
            method: LoginMethod::Dev,
            source: LoginSource::H5,
            created_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(1_000),
        }
    }

    #[test]
    fn it_ends_at_its_end() {
        assert_eq!(session().remaining(Timestamp::from_millis(999)), Some(Duration::from_millis(1)));
        assert_eq!(session().remaining(Timestamp::from_millis(1_000)), None);
    }

    #[test]
    fn switching_changes_the_role_and_nothing_else() {
        let held = Roles::NONE.with(Role::User).with(Role::Agent);
        let switched = session().switch_to(Role::Agent, held);
        assert_eq!(switched, Ok(Session { current_role: Role::Agent, ..session() }));
        assert_eq!(session().switch_to(Role::Admin, held), Err(NotHeld));
    }
}
