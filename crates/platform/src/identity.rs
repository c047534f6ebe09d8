//! The identity to which a code belongs.

use serde::{Deserialize, Serialize};

/// The identity to which a code belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// A member of this service's own corporation.
    Member {
        /// The member's identifier there.
        userid: String,
        /// The id of the person, which nobody else gets; `None` if the platform has none, or did not say. Records written by nodes of the
        /// previous version do not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder_id: Option<String>,
    },
    /// A member of a connected corporation.
    Linked {
        /// The identifier of that corporation as the platform sends it; it may be encrypted, so it is case-sensitive.
        corp_id: String,
        /// The member's identifier there.
        userid: String,
    },
    /// A user known to the platform who is not a member: an external contact, or a member of another corporation.
    Outsider,
}

impl Identity {
    /// The member with this identifier.
    #[must_use]
    pub fn member(userid: &str) -> Self {
        Self::Member { userid: userid.to_owned(), holder_id: None }
    }

    /// The id of the person, which nobody else gets, if the platform said it.
    #[must_use]
    pub fn holder_id(&self) -> Option<&str> {
        match self {
            Self::Member { holder_id, .. } => holder_id.as_deref(),
            Self::Linked { .. } | Self::Outsider => None,
        }
    }
}
