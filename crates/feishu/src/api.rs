//! The APIs of the platform that this client calls.

use deskpass_platform::client::{Api, ApiPurpose};

/// Exchanges App ID and App Secret for the access token of the application in its tenant.
pub(crate) const TENANT_TOKEN: Api = Api::new("auth/v3/tenant_access_token/internal", ApiPurpose::Token);
/// Exchanges a code for a token of the user. Its address is a setting.
pub(crate) const USER_TOKEN: Api = Api::new("oauth/token", ApiPurpose::SignInStep);
/// Reads who the user of a token is.
pub(crate) const USER_INFO: Api = Api::new("authen/v1/user_info", ApiPurpose::SignIn);
/// Reads a member's record.
pub(crate) const USER: Api = Api::new("contact/v3/users/:id", ApiPurpose::Directory);
/// Lists the members of a department.
pub(crate) const MEMBERS: Api = Api::new("contact/v3/users/find_by_department", ApiPurpose::List);
/// Reads a department's record.
pub(crate) const DEPARTMENT: Api = Api::new("contact/v3/departments/:id", ApiPurpose::Directory);
/// Lists the children of a department.
pub(crate) const CHILDREN: Api = Api::new("contact/v3/departments/:id/children", ApiPurpose::List);
/// Reads what the application may see of the directory.
pub(crate) const SCOPES: Api = Api::new("contact/v3/scopes", ApiPurpose::List);
/// Lists the user groups that are not made by a rule of the tenant.
pub(crate) const GROUPS: Api = Api::new("contact/v3/group/simplelist", ApiPurpose::List);
/// Lists the members or the departments of a user group.
pub(crate) const GROUP_MEMBERS: Api = Api::new("contact/v3/group/:id/member/simplelist", ApiPurpose::List);
/// Sends a message to a member.
pub(crate) const MESSAGE: Api = Api::new("im/v1/messages", ApiPurpose::Message);
/// Changes a card that was sent.
pub(crate) const CARD: Api = Api::new("im/v1/messages/:id", ApiPurpose::Message);

/// The names of all APIs.
pub(crate) const NAMES: &[&str] = &[
    TENANT_TOKEN.name,
    USER_TOKEN.name,
    USER_INFO.name,
    USER.name,
    MEMBERS.name,
    DEPARTMENT.name,
    CHILDREN.name,
    SCOPES.name,
    GROUPS.name,
    GROUP_MEMBERS.name,
    MESSAGE.name,
    CARD.name,
];

/// The path of an API below the API address; `id` takes the place of `:id`.
pub(crate) fn path(api: Api, id: &str) -> String {
    format!("open-apis/{}", api.name.replace(":id", id))
}

/// Whether a text can be a part of a path: without a slash, and not one of the names that stand for other directories.
pub(crate) fn is_path_segment(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-@.".contains(&byte);
    (1..=128).contains(&text.len()) && text.bytes().all(plain) && text.bytes().any(|byte| byte.is_ascii_alphanumeric())
}
