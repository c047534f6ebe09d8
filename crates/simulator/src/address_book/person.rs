//! A user, and the changes that a tester can make.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::directory::PersonKind;

/// A user as the platform knows them now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    /// The platform's identifier; for a connected corporation, prefixed with its name and a slash.
    pub(crate) id: String,
    /// The first identifier: those outside the corporation are made of it, and stay when the identifier changes.
    pub(crate) first_id: String,
    pub(crate) name: String,
    pub(crate) department: String,
    pub(crate) department_id: u32,
    /// The e-mail address that the corporation assigned, or empty.
    pub(crate) email: String,
    pub(crate) kind: PersonKind,
    /// The ids of the user's tags.
    pub(crate) tags: BTreeSet<u32>,
    /// Whether the user was made to have many users.
    pub(crate) is_generated: bool,
}

impl Person {
    /// The address that users enter themselves, which proves nothing.
    pub(crate) fn own_email(&self) -> String {
        format!("{}@home.example", self.id)
    }
}

/// The state of a member.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Active,
    Disabled,
    Left,
    /// Outside the app's visible range.
    Hidden,
}

impl State {
    /// The word for the state of a user; `None` for a user who is not of this corporation.
    pub(crate) fn word(kind: PersonKind) -> Option<&'static str> {
        match kind {
            PersonKind::Member => Some("active"),
            PersonKind::Disabled => Some("disabled"),
            PersonKind::Left => Some("left"),
            PersonKind::Hidden => Some("hidden"),
            PersonKind::Outsider | PersonKind::Partner => None,
        }
    }
}

impl From<State> for PersonKind {
    fn from(state: State) -> Self {
        match state {
            State::Active => Self::Member,
            State::Disabled => Self::Disabled,
            State::Left => Self::Left,
            State::Hidden => Self::Hidden,
        }
    }
}

/// What changes; the rest stays.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PersonUpdate {
    pub(crate) state: Option<State>,
    pub(crate) name: Option<String>,
    /// The name of the department.
    pub(crate) department: Option<String>,
    /// The names of all tags.
    pub(crate) tags: Option<Vec<String>>,
    /// The new identifier.
    pub(crate) userid: Option<String>,
    /// The e-mail address that the corporation assigned, or empty.
    pub(crate) email: Option<String>,
    /// Whether the identifier passes to another person: those outside the corporation are new ones then.
    pub(crate) another_person: bool,
}
