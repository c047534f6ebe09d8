//! A session: what a token stands for.

use std::time::Duration;

use crate::{EmployeeKey, LoginMethod, LoginSource, Role, Timestamp};

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
    /// Whether the platform vouched for who they are.
    pub proven: bool,
    /// The role that was lent to them for this session, since nobody had given them one when it began.
    pub lent: Option<Role>,
    /// Which client they signed in to.
    pub source: LoginSource,
    /// When they signed in.
    pub created_at: Timestamp,
    /// When it ends, whatever happens in between.
    pub expires_at: Timestamp,
}

impl Session {
    /// How long it has still to live; `None` once it has ended.
    #[must_use]
    pub fn remaining(&self, now: Timestamp) -> Option<Duration> {
        (now < self.expires_at).then(|| self.expires_at.since(now))
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
            proven: false,
            lent: None,
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
}
