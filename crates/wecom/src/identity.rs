//! The identity to which a code belongs.

use deskpass_core::{CorpId, EmployeeId};
use serde::{Deserialize, Serialize};

use crate::InvalidResponse;
use crate::response::ApiResponse;

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
    /// A user known to the platform who is not a member.
    Outsider,
}

impl Identity {
    /// Reads the response to a code, with the platform's new and old field names.
    pub(crate) fn read(response: &ApiResponse) -> Result<Self, InvalidResponse> {
        let either = |new, old| response.text(new).or_else(|| response.text(old));
        if let (Some(new), Some(old)) = (response.text("userid"), response.text("UserId"))
            && new != old
        {
            return Err(InvalidResponse::MissingField("userid"));
        }
        match either("userid", "UserId") {
            Some(id) => Self::member(id).ok_or(InvalidResponse::MissingField("userid")),
            None if either("openid", "OpenId").is_some() => Ok(Self::Outsider),
            None => Err(InvalidResponse::MissingField("userid")),
        }
    }

    /// A member from the platform's identifier, in which a slash separates a connected corporation from the user id.
    fn member(id: &str) -> Option<Self> {
        let (corp, userid) = id.split_once('/').map_or((None, id), |(corp, userid)| (Some(corp), userid));
        // No identifier may contain a second slash.
        EmployeeId::parse(userid).ok()?;
        let userid = userid.to_owned();
        match corp {
            None => Some(Self::Member { userid }),
            Some(corp) => CorpId::parse(corp).is_ok().then(|| Self::Linked { corp_id: corp.to_owned(), userid }),
        }
    }
}
