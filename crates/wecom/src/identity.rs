//! Who a code stands for.

use deskpass_core::{CorpId, EmployeeId};
use serde::{Deserialize, Serialize};

use crate::InvalidResponse;
use crate::response::ApiResponse;

/// Who a code stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// A member of the own corporation.
    Member {
        /// The person's identifier there.
        userid: String,
    },
    /// A member of a connected corporation.
    Linked {
        /// That corporation, as the platform names it to us; it may be encrypted, so case matters.
        corp_id: String,
        /// The person's identifier there.
        userid: String,
    },
    /// Somebody the platform knows who is no member.
    Outsider,
}

impl Identity {
    /// Reads the response to a code, in the platform's new spelling and in its old one.
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

    /// A member by the platform's identifier, which puts a connected corporation in front of a slash.
    fn member(id: &str) -> Option<Self> {
        let (corp, userid) = id.split_once('/').map_or((None, id), |(corp, userid)| (Some(corp), userid));
        // A second slash is in no identifier's alphabet.
        EmployeeId::parse(userid).ok()?;
        let userid = userid.to_owned();
        match corp {
            None => Some(Self::Member { userid }),
            Some(corp) => CorpId::parse(corp).is_ok().then(|| Self::Linked { corp_id: corp.to_owned(), userid }),
        }
    }
}
