//! Employees, and the two identifiers that name an employee.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::named_enum::named_enum;
use crate::{Holder, Role, Roles, Timestamp};

/// An error: the text is not a valid identifier.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("must be 1 to 64 characters of {allowed}")]
pub struct InvalidId {
    allowed: &'static str,
}

impl InvalidId {
    /// The characters that an identifier may have.
    #[must_use]
    pub const fn allowed(self) -> &'static str {
        self.allowed
    }

    /// A regular expression that matches valid identifiers.
    #[must_use]
    pub fn pattern(self) -> String {
        format!("^[{}]{{1,64}}$", self.allowed.replace(' ', ""))
    }
}

/// A corporation on the platform.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CorpId(Arc<str>);

impl CorpId {
    /// Parses a corporation's identifier.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        check(text, "0-9 A-Z a-z _ -", |c| c == b'_' || c == b'-').map(|()| Self(text.into()))
    }

    /// The identifier as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An employee's identifier inside a corporation, as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EmployeeId(Arc<str>);

impl EmployeeId {
    /// Parses an employee's identifier.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        check(text, "0-9 A-Z a-z _ @ . -", |c| b"_@.-".contains(&c)).map(|()| Self(text.into()))
    }

    /// The identifier as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check(text: &str, allowed: &'static str, extra: impl Fn(u8) -> bool) -> Result<(), InvalidId> {
    let fits = (1..=64).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_alphanumeric() || extra(c));
    fits.then_some(()).ok_or(InvalidId { allowed })
}

/// The unique key of an employee: corporation and canonical identifier in one small value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EmployeeKey(Arc<str>);

impl EmployeeKey {
    /// The key of `id` in `corp`. The platform compares ids of the `home` corporation case-insensitively. Ids of a connected
    /// corporation may be encrypted and keep their case.
    #[must_use]
    pub fn new(corp: &CorpId, id: &EmployeeId, home: &CorpId) -> Self {
        let id = if corp == home { id.0.to_ascii_lowercase() } else { id.0.to_string() };
        Self(format!("{}/{id}", corp.0).into())
    }

    /// A key read from the store.
    #[must_use]
    pub fn from_parts(corp: &str, id: &str) -> Self {
        Self(format!("{corp}/{id}").into())
    }

    /// The corporation.
    #[must_use]
    pub fn corp(&self) -> &str {
        self.parts().0
    }

    /// The corporation, as an identifier.
    #[must_use]
    pub fn corp_id(&self) -> CorpId {
        CorpId(self.corp().into())
    }

    /// The canonical identifier inside the corporation.
    #[must_use]
    pub fn id(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        // No identifier contains a slash, so the first slash is the separator.
        self.0.split_once('/').unwrap_or_default()
    }
}

impl Serialize for EmployeeKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EmployeeKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(text.into()))
    }
}

impl fmt::Debug for EmployeeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As logs name an employee: corporation and identifier.
impl fmt::Display for EmployeeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

named_enum! {
    /// Who entered an employee's email address.
    EmailSource {
        /// The platform sent it: the corporation assigned it, and the employee cannot change it.
        Platform => "platform",
        /// An operator entered it. The platform does not replace it.
        Operator => "operator",
    }
}

/// The email address of an employee. No two employees have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email {
    /// The address, in lower case.
    pub address: String,
    /// Who entered it.
    pub source: EmailSource,
}

named_enum! {
    /// Why an employee may not sign in, according to the platform.
    LeftReason {
        /// The employee left the corporation.
        Left => "left",
        /// The employee's account at the platform is disabled.
        Suspended => "suspended",
        /// The application may no longer see the employee.
        OutOfRange => "out_of_range",
        /// The employee has another identifier now.
        Renamed => "renamed",
        /// The employee's corporation is no longer connected.
        CorporationRemoved => "corporation_removed",
    }
}

/// An employee with the roles they currently hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The key of the employee.
    pub key: EmployeeKey,
    /// The identifier as the corporation writes it.
    pub employee_id: String,
    /// Display name.
    pub name: String,
    /// The department's name for display, or empty. Names are not unique.
    pub department: String,
    /// The department's id, which is used for comparison; empty if unknown.
    pub department_id: String,
    /// The URL of a picture, or empty.
    pub avatar: String,
    /// The roles held, also those whose time is over and that have not been taken back yet: access depends on
    /// [`Person::roles_at`].
    pub roles: Roles,
    /// When those of the roles end that are held until a time and for no other reason.
    pub role_ends: Vec<(Role, Timestamp)>,
    /// Whether an administrator disabled this employee.
    pub disabled: bool,
    /// Why the employee may not sign in according to the platform, if that is so.
    pub left: Option<LeftReason>,
    /// Whether the platform has shown the employee's record to the application.
    pub seen: bool,
    /// Whether the identifier seems to be another person's by now, which no operator has confirmed or denied yet.
    pub unconfirmed: bool,
    /// The identifier by which OpenID Connect clients know the employee, once a client was told: random, and never reused.
    pub subject: Option<String>,
    /// The email address, if it is known.
    pub email: Option<Email>,
}

impl Person {
    /// Whether the employee may sign in and use sessions: neither an administrator nor the platform says otherwise.
    #[must_use]
    pub const fn is_admitted(&self) -> bool {
        !self.disabled && self.left.is_none()
    }

    /// The roles held at this time. A role ends at its time, even if nothing takes it back then. The roles were given to whoever held
    /// the identifier then: none counts until an operator has confirmed that it is the same person.
    #[must_use]
    pub fn roles_at(&self, now: Timestamp) -> Roles {
        if self.unconfirmed { Roles::NONE } else { self.roles.without_ended(&self.role_ends, now) }
    }

    /// An enabled person of whom nothing but the identifier is known.
    #[must_use]
    pub fn new(key: EmployeeKey, employee_id: &str) -> Self {
        Self {
            key,
            employee_id: employee_id.to_owned(),
            name: String::new(),
            department: String::new(),
            department_id: String::new(),
            avatar: String::new(),
            roles: Roles::NONE,
            role_ends: Vec::new(),
            disabled: false,
            left: None,
            seen: false,
            unconfirmed: false,
            subject: None,
            email: None,
        }
    }
}

/// An employee whom the platform has identified, with the profile it sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentifiedPerson {
    /// The key of the employee.
    pub key: EmployeeKey,
    /// The identifier as the platform wrote it.
    pub employee_id: String,
    /// The user whom the platform named, if that is another user who may act as this employee.
    pub through: Option<EmployeeKey>,
    /// Display name, if the platform sent it.
    pub name: Option<String>,
    /// The department's name, if the platform sent it; empty if the platform reported that no department is visible.
    pub department: Option<String>,
    /// The department's id, likewise. Records written by nodes of the previous version have none.
    #[serde(default)]
    pub department_id: Option<String>,
    /// The URL of a picture, likewise.
    pub avatar: Option<String>,
    /// The email address that the corporation assigned, likewise. Records written by nodes of the previous version have none.
    #[serde(default)]
    pub email: Option<String>,
    /// Events of the platform that arrived by this time are older than what it said here. `None`: nothing is known of it.
    #[serde(default)]
    pub asked_at: Option<Timestamp>,
    /// When the platform was asked who holds the identifier. `None`: nothing is known of it, as in records written by nodes of the
    /// previous version.
    #[serde(default)]
    pub identified_at: Option<Timestamp>,
    /// Whether the platform showed the user's record to the application. Records written by nodes of the previous version do not say.
    #[serde(default)]
    pub seen: bool,
    /// Who holds the identifier, as far as the platform said. Records written by nodes of the previous version do not say.
    #[serde(default)]
    pub holder: Option<Holder>,
}

impl IdentifiedPerson {
    /// The name to show, or the identifier if there is no name.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.employee_id)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_a_narrow_alphabet() {
        for good in ["user01", "a", "A.b-c_d@e", &"x".repeat(64)] {
            assert!(EmployeeId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "a b", "a/b", "a\0", "é", "用户", "a'b", "a\n", &"x".repeat(65)] {
            assert!(EmployeeId::parse(bad).is_err(), "{bad:?}");
            assert!(CorpId::parse(bad).is_err(), "{bad:?}");
        }
        assert!(CorpId::parse("ww_A-9").is_ok() && CorpId::parse("ww@x").is_err());
        assert_eq!(EmployeeId::parse("").unwrap_err().pattern(), "^[0-9A-Za-z_@.-]{1,64}$");
        assert_eq!(CorpId::parse("").unwrap_err().pattern(), "^[0-9A-Za-z_-]{1,64}$");
    }

    #[test]
    fn case_matters_only_outside_the_home_corporation() {
        let (home, abroad) = (CorpId::parse("wwHome").unwrap(), CorpId::parse("wwAbroad").unwrap());
        let (upper, lower) = (EmployeeId::parse("User01").unwrap(), EmployeeId::parse("user01").unwrap());
        assert_eq!(EmployeeKey::new(&home, &upper, &home), EmployeeKey::new(&home, &lower, &home));
        assert_ne!(EmployeeKey::new(&abroad, &upper, &home), EmployeeKey::new(&abroad, &lower, &home));
        assert_ne!(EmployeeKey::new(&abroad, &lower, &home), EmployeeKey::new(&home, &lower, &home));
    }

    #[test]
    fn a_role_ends_at_its_time() {
        let (now, later) = (Timestamp::from_millis(1_000), Timestamp::from_millis(1_001));
        let person = Person {
            roles: Roles::NONE.with(Role::User).with(Role::Admin).with(Role::Agent),
            role_ends: vec![(Role::Admin, now), (Role::Agent, later)],
            ..Person::new(EmployeeKey::from_parts("ww", "a"), "a")
        };
        assert_eq!(person.roles_at(Timestamp::from_millis(999)), person.roles);
        assert_eq!(person.roles_at(now), Roles::NONE.with(Role::User).with(Role::Agent));
        assert_eq!(person.roles_at(later), Roles::NONE.with(Role::User));
    }

    #[test]
    fn a_key_returns_its_parts() {
        let key = EmployeeKey::from_parts("ww", "a@b.c");
        assert_eq!((key.corp(), key.id()), ("ww", "a@b.c"));
    }
}
