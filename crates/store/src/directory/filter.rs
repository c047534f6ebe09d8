//! Which people a list is of, in which order, and where a page of it begins.

use deskpass_core::Role;

use crate::cursor::CursorOrder;
use crate::{Cursor, InvalidCursor};

/// What a list of everybody is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeopleOrder {
    /// By identifier.
    Id,
    /// By name.
    Name,
    /// By when they last signed in, the latest first.
    LastLogin,
}

/// Which people a list is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeopleFilter {
    /// Of this corporation.
    pub corp: String,
    /// Of this department. It is listed by identifier, or as what is sought is found.
    pub department: Option<DepartmentFilter>,
    /// Who of them.
    pub selection: PeopleSelection,
}

impl PeopleFilter {
    /// The place in this list that a page of it named.
    ///
    /// # Errors
    /// When no page of a list in this order did.
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
}

/// A department whose people are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DepartmentFilter {
    /// The one with this id.
    Id(String),
    /// Every one with this name, for those who see all of them.
    Name(String),
}

impl DepartmentFilter {
    /// The column that is compared, and with what.
    pub(super) fn column(&self) -> (&'static str, &str) {
        match self {
            Self::Id(id) => ("department_id", id),
            Self::Name(name) => ("department", name),
        }
    }
}

/// Who is sought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeopleSelection {
    /// Everyone, in this order.
    Everyone(PeopleOrder),
    /// Those with this role, by identifier.
    Role(Role),
    /// Those in whose identifier or name a word begins like this, in the order of those words.
    Term {
        /// How it begins, as somebody typed it.
        q: String,
        /// Those with this role.
        role: Option<Role>,
    },
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// After so many people.
    Offset(i64),
    /// After a place that another page named.
    After(Cursor),
}
