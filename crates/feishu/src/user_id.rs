//! The two identifiers of a member.

use serde::{Deserialize, Serialize};

/// Which identifier of a member is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserIdKind {
    /// The tenant's own identifier, the same for all applications. The application needs a permission for it.
    #[default]
    UserId,
    /// An identifier that is valid for this application only: with another App ID every member would be a new one.
    OpenId,
}

impl UserIdKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::UserId, Self::OpenId];

    /// The name in settings, and at the platform.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserId => "user_id",
            Self::OpenId => "open_id",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
