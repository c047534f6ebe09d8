//! The identity to which a code belongs.

use serde::{Deserialize, Serialize};

/// The identity to which a code belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// A member of this service's own corporation.
    Member {
        /// The member's identifier there.
        userid: String,
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
