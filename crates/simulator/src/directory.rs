//! The users and departments with which the simulated platform starts.

use crate::kind::Kind;

/// A user of the simulated platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedPerson {
    /// The platform's identifier; for a connected corporation, prefixed with its name and a slash.
    pub id: &'static str,
    /// Display name.
    pub name: &'static str,
    /// Department's name.
    pub department: &'static str,
    /// The e-mail address that the corporation assigned, or empty.
    pub email: &'static str,
    /// How the platform responds for this user.
    pub kind: PersonKind,
}

/// How the platform responds for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonKind {
    /// An active member in the app's visible range.
    Member,
    /// A member whom the corporation's administrator disabled.
    Disabled,
    /// A member who has left.
    Left,
    /// A member outside the app's visible range: the platform returns the identifier and nothing else.
    Hidden,
    /// Not a member: has an openid and no userid.
    Outsider,
    /// A member of a connected corporation.
    Partner,
}

impl PersonKind {
    /// Whether such a user belongs, or belonged, to the app's own corporation.
    pub(crate) fn is_own(self) -> bool {
        matches!(self, Self::Member | Self::Disabled | Self::Left | Self::Hidden)
    }

    /// Whether such a user is in the app's visible range.
    pub(crate) fn is_in_range(self) -> bool {
        matches!(self, Self::Member | Self::Disabled)
    }

    /// What a developer should know of such a user at this platform.
    #[must_use]
    pub fn describe(self, kind: Kind) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Disabled => "disabled by the administrator",
            Self::Left => "has left: refused",
            Self::Hidden => "member outside the application's range",
            Self::Outsider => "not a member: refused",
            Self::Partner if kind == Kind::Wecom => "of a connected corporation: names the employee to act as",
            Self::Partner => "of another corporation: refused",
        }
    }
}

/// All users.
pub const PEOPLE: &[SimulatedPerson] = &[
    with_email(person("admin01", "Ada Admin", "IT", PersonKind::Member), "ada.admin@example.com"),
    person("agent01", "Arno Agent", "IT Service Desk", PersonKind::Member),
    person("user01", "Uma User", "Sales", PersonKind::Member),
    with_email(
        person("supervisor01", "Sven Supervisor", "IT Service Desk", PersonKind::Member),
        "sven.supervisor@example.com",
    ),
    person("security01", "Selma Security", "Security", PersonKind::Member),
    person("norole01", "Nora Norole", "Finance", PersonKind::Member),
    person("left01", "Leo Left", "Sales", PersonKind::Left),
    person("hidden01", "Hilda Hidden", "Finance", PersonKind::Hidden),
    person("wwpartner/partner01", "Petra Partner", "Partner Support", PersonKind::Partner),
    person("outsider01", "Otto Outsider", "", PersonKind::Outsider),
];

/// The departments: the id, the name, and the id of the parent. The first one is the corporation itself, and each comes after its
/// parent. Two departments may have the same name.
pub(crate) const DEPARTMENTS: [(u32, &str, u32); 7] = [
    (1, "Deskpass", 0),
    (2, "IT", 1),
    (3, "IT Service Desk", 2),
    (4, "Sales", 1),
    (5, "Security", 1),
    (6, "Finance", 1),
    (7, "IT Service Desk", 6),
];

/// The tags: the name, the users, and the departments that belong to it with all their members.
pub(crate) const TAGS: [(&str, &[&str], &[u32]); 2] =
    [("On Call", &["agent01", "security01"], &[]), ("Service Desk", &[], &[3])];

const fn with_email(who: SimulatedPerson, email: &'static str) -> SimulatedPerson {
    SimulatedPerson { email, ..who }
}

const fn person(id: &'static str, name: &'static str, department: &'static str, kind: PersonKind) -> SimulatedPerson {
    SimulatedPerson { id, name, department, email: "", kind }
}
