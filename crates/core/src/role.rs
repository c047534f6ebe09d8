//! The five roles, and the set of roles of an employee.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Timestamp;
use crate::named_enum::named_enum;

named_enum! {
    /// The role in which an employee acts. The set is closed.
    Role {
        /// Administers the help desk.
        Admin = 1 => "admin",
        /// Answers employees.
        Agent = 2 => "agent",
        /// Asks for help.
        User = 3 => "user",
        /// Leads agents.
        Supervisor = 4 => "supervisor",
        /// Investigates incidents.
        Security = 5 => "security",
    }
}

impl Role {
    /// The role's number in the records.
    #[must_use]
    pub const fn id(self) -> i64 {
        self as i64
    }

    /// The role with this number.
    #[must_use]
    pub fn from_id(id: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.id() == id)
    }

    /// The priority of the role. The role with the highest priority becomes active at sign-in.
    #[must_use]
    pub const fn priority(self) -> u8 {
        match self {
            Self::Admin => 3,
            Self::Agent => 2,
            Self::User => 1,
            Self::Supervisor | Self::Security => 0,
        }
    }
}

/// The set of roles of an employee.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Roles(u8);

impl Roles {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// This set with `role` added.
    #[must_use]
    pub const fn with(self, role: Role) -> Self {
        Self(self.0 | 1 << role as u8)
    }

    /// This set without `role`.
    #[must_use]
    pub const fn without(self, role: Role) -> Self {
        Self(self.0 & !(1 << role as u8))
    }

    /// This set without the roles that have ended by `now`.
    #[must_use]
    pub fn without_ended(self, ends: &[(Role, Timestamp)], now: Timestamp) -> Self {
        let over = ends.iter().filter(|(_, until)| *until <= now);
        over.fold(self, |roles, (role, _)| roles.without(*role))
    }

    /// Whether the set contains `role`.
    #[must_use]
    pub const fn holds(self, role: Role) -> bool {
        self.0 & (1 << role as u8) != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The roles in the set, in the order of their ids.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.holds(*role))
    }

    /// The role that becomes active at sign-in: highest priority, then lowest id.
    #[must_use]
    pub fn highest(self) -> Option<Role> {
        self.iter().max_by_key(|role| (role.priority(), std::cmp::Reverse(role.id())))
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        roles.into_iter().fold(Self::NONE, Self::with)
    }
}

impl Serialize for Roles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Roles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Role>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_role_is_the_highest_then_the_oldest() {
        let of = |roles: &[Role]| roles.iter().copied().collect::<Roles>().highest();
        assert_eq!(of(&[Role::User, Role::Agent, Role::Admin]), Some(Role::Admin));
        assert_eq!(of(&[Role::Security, Role::User]), Some(Role::User));
        assert_eq!(of(&[Role::Security, Role::Supervisor]), Some(Role::Supervisor));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn names_match_exactly() {
        assert_eq!(Role::NAMES, Role::ALL.map(Role::name));
        for role in Role::ALL {
            assert_eq!(Role::from_name(role.name()), Some(role));
            assert_eq!(Role::from_id(role.id()), Some(role));
        }
        for other in ["Admin", "admin ", " admin", "аdmin", "ADMIN", "", "root", "admin\0"] {
            assert_eq!(Role::from_name(other), None, "{other:?}");
        }
        assert_eq!(Role::from_id(0), None);
        assert_eq!(Role::from_id(i64::MIN), None);
    }

    #[test]
    fn a_set_contains_exactly_its_members() {
        let roles = Roles::NONE.with(Role::Admin).with(Role::User);
        assert!(roles.holds(Role::Admin) && roles.holds(Role::User) && !roles.holds(Role::Agent));
        assert!(roles.without(Role::Admin).without(Role::User).is_empty());
    }
}
