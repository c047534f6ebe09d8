//! Departments, and members of tags.

use std::collections::BTreeSet;

use crate::Result;
use crate::database::Sql;

/// A department.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDepartment {
    /// The platform's identifier.
    pub id: String,
    /// The identifier of the department above it.
    pub parent: Option<String>,
    /// The name.
    pub name: String,
}

/// A member of a tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownTagMember {
    /// A member, by the identifier of the directory.
    Member(String),
    /// A department with all its descendants, by identifier.
    Department(String),
}

impl KnownTagMember {
    /// As it is stored: its kind, and the key or identifier.
    pub(super) fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Member(key) => ("member", key),
            Self::Department(id) => ("department", id),
        }
    }

    fn from_parts(kind: &str, value: String) -> Option<Self> {
        match kind {
            "member" => Some(Self::Member(value)),
            "department" => Some(Self::Department(value)),
            _ => None,
        }
    }
}

/// The members of a tag.
pub(super) fn tag_members(sql: &Sql<'_>, corp: &str, tag: &str) -> Result<BTreeSet<KnownTagMember>> {
    let text = "SELECT kind, value FROM directory_tag_member WHERE corp_id = $1 AND tag = $2";
    let rows = sql.rows(text, &args![corp, tag], |row| Ok(KnownTagMember::from_parts(&row.text(0)?, row.text(1)?)))?;
    Ok(rows.into_iter().flatten().collect())
}
