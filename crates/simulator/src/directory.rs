//! The directory of users on the simulated platform.

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
    /// What a developer should know of such a user at this platform.
    #[must_use]
    pub fn describe(self, kind: Kind) -> &'static str {
        match self {
            Self::Member => "member",
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

/// A department; the first one is the corporation itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedDepartment {
    pub(crate) id: u32,
    pub(crate) name: &'static str,
    pub(crate) parent: u32,
}

/// All departments, each after its parent.
pub(crate) const DEPARTMENTS: &[SimulatedDepartment] = &[
    SimulatedDepartment { id: 1, name: "Deskpass", parent: 0 },
    SimulatedDepartment { id: 2, name: "IT", parent: 1 },
    SimulatedDepartment { id: 3, name: "IT Service Desk", parent: 2 },
    SimulatedDepartment { id: 4, name: "Sales", parent: 1 },
    SimulatedDepartment { id: 5, name: "Security", parent: 1 },
    SimulatedDepartment { id: 6, name: "Finance", parent: 1 },
    // Two departments may have the same name.
    SimulatedDepartment { id: 7, name: "IT Service Desk", parent: 6 },
];

impl SimulatedPerson {
    pub(crate) fn by_id(id: &str) -> Option<&'static Self> {
        PEOPLE.iter().find(|who| who.id == id)
    }

    /// The address that users enter themselves, which proves nothing.
    pub(crate) fn own_email(&self) -> String {
        format!("{}@home.example", self.id)
    }

    /// The department's number; the corporation's number if there is no such department.
    pub(crate) fn department_id(&self) -> u32 {
        DEPARTMENTS.iter().find(|department| department.name == self.department).map_or(1, |department| department.id)
    }
}

impl SimulatedDepartment {
    pub(crate) fn by_id(id: u32) -> Option<&'static Self> {
        DEPARTMENTS.iter().find(|department| department.id == id)
    }

    /// Whether it is that department or a descendant of it.
    pub(crate) fn is_within(&self, top: u32) -> bool {
        self.id == top || Self::by_id(self.parent).is_some_and(|parent| parent.is_within(top))
    }
}

/// A member of the own corporation; the platform compares their ids case-insensitively.
pub(crate) fn member(id: &str) -> Option<&'static SimulatedPerson> {
    let own = |who: &&SimulatedPerson| matches!(who.kind, PersonKind::Member | PersonKind::Left | PersonKind::Hidden);
    PEOPLE.iter().filter(own).find(|who| who.id.eq_ignore_ascii_case(id))
}

const fn with_email(who: SimulatedPerson, email: &'static str) -> SimulatedPerson {
    SimulatedPerson { email, ..who }
}

const fn person(id: &'static str, name: &'static str, department: &'static str, kind: PersonKind) -> SimulatedPerson {
    SimulatedPerson { id, name, department, email: "", kind }
}
