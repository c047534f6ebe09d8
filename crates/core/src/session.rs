//! The session that a token identifies.

use std::time::Duration;

use crate::{EmployeeKey, LoginMethod, LoginSource, Role, Timestamp};

/// The session of a signed-in employee. The roles of the employee are not stored here but read on each request, so that
/// revoking a role takes effect immediately; only the active role belongs to the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The signed-in employee.
    pub employee: EmployeeKey,
    /// The active role.
    pub current_role: Role,
    /// The method of the sign-in.
    pub method: LoginMethod,
    /// Whether the platform vouched for the employee.
    pub vouched: PlatformVouching,
    /// The default role of this session, if the employee held no role when it began.
    pub default_role: Option<Role>,
    /// The client of the sign-in.
    pub source: LoginSource,
    /// The time of the sign-in.
    pub created_at: Timestamp,
    /// The expiry, regardless of activity.
    pub expires_at: Timestamp,
}

/// Whether the platform vouched for the identity of an employee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlatformVouching {
    /// The platform did not vouch.
    None,
    /// The platform identified the employee.
    Directly,
    /// The platform identified another user who may act as the employee.
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

    /// The value for a number in the records; an unknown number means no vouching.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        match number {
            1 => Self::Directly,
            2 => Self::Through,
            _ => Self::None,
        }
    }

    /// Whether the platform vouched, directly or through another user.
    #[must_use]
    pub fn is_vouched(self) -> bool {
        self != Self::None
    }
}

impl Session {
    /// Whether the platform itself identified this employee when the session began, as opposed to a user who may temporarily
    /// act as them, or a device that they once bound.
    #[must_use]
    pub fn is_vouched_for(&self) -> bool {
        self.vouched == PlatformVouching::Directly && self.method != LoginMethod::Password
    }

    /// The remaining lifetime; `None` once the session has ended.
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
    fn only_a_platform_identity_of_this_person_vouches() {
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
    fn a_session_ends_at_its_expiry() {
        assert_eq!(session().remaining(Timestamp::from_millis(999)), Some(Duration::from_millis(1)));
        assert_eq!(session().remaining(Timestamp::from_millis(1_000)), None);
    }
}
