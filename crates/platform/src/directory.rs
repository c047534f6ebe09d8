//! The directory: what the platform knows about people and departments.

use crate::{Answer, Identity};

/// The profile of a user on the platform. Each field may be missing, depending on what the application may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Display name.
    pub name: Option<String>,
    /// The main department.
    pub department: Department,
    /// The URL of a picture.
    pub avatar: Option<String>,
    /// The e-mail address that the corporation assigned and the user cannot change, in lower case; empty when the platform reports
    /// that there is none, `None` when it reports nothing.
    pub email: Option<String>,
    /// The id of the person, which nobody else gets; `None` if the platform has none, or did not say.
    pub holder_id: Option<String>,
    /// The status of the account.
    pub status: MemberStatus,
}

impl Profile {
    /// The profile of a user about whom the platform reports nothing else.
    #[must_use]
    pub const fn empty(department: Department, status: MemberStatus) -> Self {
        Self { name: None, department, avatar: None, email: None, holder_id: None, status }
    }
}

/// The main department of a user, as far as the platform reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Department {
    /// The platform did not report whether there is one.
    Unspecified,
    /// There is none that the application may see.
    None,
    /// The department is known.
    Known {
        /// The id. Departments are compared by id because names are not unique.
        id: String,
        /// The name; empty when the application may not see it, `None` when the platform did not report it.
        name: Option<String>,
    },
}

/// The status of an account on the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStatus {
    /// In use.
    Active,
    /// Disabled by the corporation's administrator.
    Suspended,
    /// Created, but never used.
    NotActivated,
    /// The user has left the corporation.
    Left,
    /// The application may not see the user.
    OutOfRange,
    /// The platform did not report it.
    Unknown,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryPage<T> {
    /// The entries.
    pub items: Vec<T>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<String>,
}

/// A member in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryMember {
    /// The identifier.
    pub userid: String,
    /// The ids of all departments of the member that the application may see.
    pub departments: Vec<String>,
    /// The profile. Its department has no name.
    pub profile: Profile,
}

/// A department in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryDepartment {
    /// The id.
    pub id: String,
    /// The id of the parent department, if the application may see it.
    pub parent: Option<String>,
    /// The name; empty when the application may not see it.
    pub name: String,
}

/// A tag: a group of people across departments. Platforms also call it a role or a user group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryTag {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
}

/// A member of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagMember {
    /// A member, by identifier.
    Member(String),
    /// A department with its descendants, by id.
    Department(String),
}

/// Knows people and departments.
pub trait Directory: Send + Sync {
    /// The profile of a user. A user who left or is out of range has a profile with that status; a sign-in continues without a
    /// profile when the platform fails.
    fn profile<'a>(&'a self, identity: &'a Identity) -> Answer<'a, Profile>;

    /// The id of the topmost department.
    fn root_department(&self) -> &'static str;

    /// The members of a department, without those of its children.
    fn members<'a>(
        &'a self,
        department: &'a str,
        cursor: Option<&'a str>,
    ) -> Answer<'a, DirectoryPage<DirectoryMember>>;

    /// The children of a department; with some platforms all descendants at once.
    fn departments<'a>(
        &'a self,
        parent: &'a str,
        cursor: Option<&'a str>,
    ) -> Answer<'a, DirectoryPage<DirectoryDepartment>>;

    /// The tags that the application may see.
    fn tags<'a>(&'a self, cursor: Option<&'a str>) -> Answer<'a, DirectoryPage<DirectoryTag>>;

    /// The members of a tag.
    fn tag_members<'a>(&'a self, tag: &'a str, cursor: Option<&'a str>) -> Answer<'a, DirectoryPage<TagMember>>;

    /// How many people the service may look up in a day on its own, beside sign-ins; `None` if the platform does not meter calls.
    fn lookups_per_day(&self) -> Option<u32>;
}
