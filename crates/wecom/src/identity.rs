//! The identity to which a code belongs, in the platform's words.

use deskpass_core::{CorpId, EmployeeId};
use deskpass_platform::client::ApiResponse;
use deskpass_platform::{Identity, InvalidResponse};

/// Reads the response to a code, with the platform's new and old field names.
pub(crate) fn read(response: &ApiResponse) -> Result<Identity, InvalidResponse> {
    let either = |new, old| response.text(new).or_else(|| response.text(old));
    if let (Some(new), Some(old)) = (response.text("userid"), response.text("UserId"))
        && new != old
    {
        return Err(InvalidResponse::MissingField("userid"));
    }
    match either("userid", "UserId") {
        Some(id) => member(id).ok_or(InvalidResponse::MissingField("userid")),
        None if either("openid", "OpenId").is_some() => Ok(Identity::Outsider),
        None => Err(InvalidResponse::MissingField("userid")),
    }
}

/// A member from the platform's identifier, in which a slash separates a connected corporation from the user id.
fn member(id: &str) -> Option<Identity> {
    let (corp, userid) = id.split_once('/').map_or((None, id), |(corp, userid)| (Some(corp), userid));
    // No identifier may contain a second slash.
    EmployeeId::parse(userid).ok()?;
    let userid = userid.to_owned();
    match corp {
        None => Some(Identity::Member { userid, holder_id: None }),
        Some(corp) => CorpId::parse(corp).is_ok().then(|| Identity::Linked { corp_id: corp.to_owned(), userid }),
    }
}
