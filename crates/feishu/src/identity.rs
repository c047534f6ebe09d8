//! The identity to which a code belongs.

use deskpass_core::EmployeeId;
use deskpass_platform::client::{ApiResponse, sanitize};
use deskpass_platform::{Identity, InvalidResponse};

use crate::{FeishuSettings, api};

/// Reads the profile of the user to whom a code belongs.
pub(crate) fn read(response: &ApiResponse, settings: &FeishuSettings) -> Result<Identity, InvalidResponse> {
    let missing = InvalidResponse::MissingField;
    let profile = response.object("data").ok_or(missing("data"))?;
    let tenant = profile.text("tenant_key").ok_or(missing("tenant_key"))?;
    // The same identifier is another person in another tenant.
    if tenant != settings.tenant_key {
        let tenant_key = sanitize(tenant, 64);
        tracing::info!(tenant_key, "the user is a member of another tenant, not of platform.corp_id");
        return Ok(Identity::Outsider);
    }
    let kind = settings.user_id.name();
    let userid = profile.text(kind).filter(|id| is_member_id(id)).ok_or(missing(kind))?;
    Ok(Identity::Member { userid: userid.to_owned(), holder_id: open_id(&profile) })
}

/// The id of the person for this application, which stays the same whatever `user_id` the tenant gives them.
pub(crate) fn open_id(record: &ApiResponse) -> Option<String> {
    record.text("open_id").filter(|id| is_member_id(id)).map(str::to_owned)
}

/// Whether a text can be the identifier of a member.
pub(crate) fn is_member_id(id: &str) -> bool {
    EmployeeId::parse(id).is_ok() && api::is_path_segment(id)
}
