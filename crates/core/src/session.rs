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
    /// Whose word stood behind who they are.
    pub vouched: PlatformVouching,
    /// The role that was lent to them for this session, since nobody had given them one when it began.
    pub default_role: Option<Role>,
    /// Which client they signed in to.
    pub source: LoginSource,
    /// When they signed in.
    pub created_at: Timestamp,
    /// When it ends, whatever happens in between.
    pub expires_at: Timestamp,
}

/// Whose word stands behind who somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlatformVouching {
    /// Nobody's.
    None,
    /// The platform's, about themself.
    Directly,
    /// The platform's, about somebody who may act as them.
    Through,
}

impl PlatformVouching {
    /// The number in the records.
    #[must_use]
    pub const fn number(self) -> i64 {
        match self {
            Self::None => 0,
            Self::Directly => 1,
            Self::Through => 2,
        }
    }

    /// What a number in the records says; one that says nothing is nobody's word.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        match number {
            1 => Self::Directly,
            2 => Self::Through,
            _ => Self::None,
        }
    }

    /// Whether it is anybody's at all.
    #[must_use]
    pub fn is_vouched(self) -> bool {
        self != Self::None
    }
}

impl Session {
    /// Whether the platform itself named this very person when it began: not somebody who may act as them for a while, nor
    /// a device that they once bound.
    #[must_use]
    pub fn is_vouched_for(&self) -> bool {
        self.vouched == PlatformVouching::Directly && self.method != LoginMethod::Password
    }

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
            vouched: PlatformVouching::None,
            default_role: None,
            source: LoginSource::H5,
            created_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(1_000),
        }
    }

    #[test]
    fn only_the_platforms_own_word_about_this_very_person_counts() {
        for vouched in [PlatformVouching::None, PlatformVouching::Directly, PlatformVouching::Through] {
            assert_eq!(PlatformVouching::from_number(vouched.number()), vouched);
            for method in [LoginMethod::Qrcode, LoginMethod::Oauth2, LoginMethod::Bind, LoginMethod::Password] {
                let counts = vouched == PlatformVouching::Directly && method != LoginMethod::Password;
                assert_eq!(Session { method, vouched, ..session() }.is_vouched_for(), counts, "{vouched:?} {method:?}");
            }
        }
        assert_eq!([-1, 3, i64::MAX].map(PlatformVouching::from_number), [PlatformVouching::None; 3]);
    }

    #[test]
    fn it_ends_at_its_end() {
        assert_eq!(session().remaining(Timestamp::from_millis(999)), Some(Duration::from_millis(1)));
        assert_eq!(session().remaining(Timestamp::from_millis(1_000)), None);
    }
}
