//! Filter, order and start of a page in a list of people.

use deskpass_core::Role;

use crate::cursor::CursorOrder;
use crate::{Cursor, InvalidCursor};

/// Sort order of a list of all people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeopleOrder {
    /// By identifier.
    Id,
    /// By name.
    Name,
    /// By last sign-in, the latest first.
    LastLogin,
}

/// Which people a list contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeopleFilter {
    /// People of this corporation.
    pub corp: String,
    /// People of this department, ordered by identifier, or by matching term in a search.
    pub department: Option<DepartmentFilter>,
    /// Further selection.
    pub selection: PeopleSelection,
}

impl PeopleFilter {
    /// Parses a cursor that a page of this list returned.
    pub fn cursor(&self, text: &str) -> Result<Cursor, InvalidCursor> {
        Cursor::parse(text, self.order())
    }

    pub(super) fn order(&self) -> CursorOrder {
        match (&self.selection, &self.department) {
            (PeopleSelection::Term { .. }, _) => CursorOrder::Term,
            (PeopleSelection::Everyone(PeopleOrder::Name), None) => CursorOrder::Name,
            (PeopleSelection::Everyone(PeopleOrder::LastLogin), None) => CursorOrder::Login,
            (PeopleSelection::Everyone(_) | PeopleSelection::Role(_), _) => CursorOrder::Id,
        }
    }

    /// Whether the index that the list is read from also has entries that do not count.
    pub(super) fn skips_entries(&self) -> bool {
        match self.selection {
            PeopleSelection::Term { .. } => true,
            PeopleSelection::Role(_) => self.department.is_some(),
            PeopleSelection::Everyone(_) => false,
        }
    }
}

/// A department whose people are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DepartmentFilter {
    /// The department with this id.
    Id(String),
    /// All departments with this name, for users whose access scope covers all of them.
    Name(String),
}

impl DepartmentFilter {
    /// The column to compare, and the value.
    pub(super) fn column(&self) -> (&'static str, &str) {
        match self {
            Self::Id(id) => ("department_id", id),
            Self::Name(name) => ("department", name),
        }
    }
}

/// Selection of people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeopleSelection {
    /// All people, in this order.
    Everyone(PeopleOrder),
    /// People with this role, by identifier.
    Role(Role),
    /// People with a word in their identifier or name that begins with the query, ordered by those words.
    Term {
        /// The query, as the user typed it.
        q: String,
        /// Only people with this role.
        role: Option<Role>,
    },
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// After this many people. Only the first ten thousand can be passed so.
    Offset(i64),
    /// After the cursor that another page returned.
    After(Cursor),
}
