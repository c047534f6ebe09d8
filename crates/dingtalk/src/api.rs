//! The APIs of the platform that this service calls. The name of each is its path.

use deskpass_platform::client::{Api, ApiPurpose};

/// Exchanges the secret for the access token of the application. The corporation is a part of its path.
pub(crate) const TOKEN: Api = Api::new("v1.0/oauth2/:corpId/token", ApiPurpose::Token);
/// Exchanges a code of the login page for a token of the user.
pub(crate) const USER_TOKEN: Api = Api::new("v1.0/oauth2/userAccessToken", ApiPurpose::SignInStep);
/// The user of such a token.
pub(crate) const ME: Api = Api::new("v1.0/contact/users/me", ApiPurpose::SignInStep);
/// The member with a unionId.
pub(crate) const BY_UNION_ID: Api = Api::new("topapi/user/getbyunionid", ApiPurpose::SignIn);
/// Exchanges a code of the script for a member.
pub(crate) const USER_INFO: Api = Api::new("topapi/v2/user/getuserinfo", ApiPurpose::SignIn);
/// Reads a member's record.
pub(crate) const USER: Api = Api::new("topapi/v2/user/get", ApiPurpose::Directory);
/// Reads the members of a department.
pub(crate) const USERS: Api = Api::new("topapi/v2/user/list", ApiPurpose::List);
/// Reads a department's record.
pub(crate) const DEPARTMENT: Api = Api::new("topapi/v2/department/get", ApiPurpose::Directory);
/// Reads the children of a department.
pub(crate) const DEPARTMENTS: Api = Api::new("topapi/v2/department/listsub", ApiPurpose::List);
/// Lists the roles (角色), in their groups.
pub(crate) const ROLES: Api = Api::new("topapi/role/list", ApiPurpose::List);
/// Lists the members with a role.
pub(crate) const ROLE_MEMBERS: Api = Api::new("topapi/role/simplelist", ApiPurpose::List);
/// Sends a message to a member.
pub(crate) const MESSAGE: Api = Api::new("topapi/message/corpconversation/asyncsend_v2", ApiPurpose::Message);

/// The names of all of them.
pub(crate) const NAMES: &[&str] = &[
    TOKEN.name,
    USER_TOKEN.name,
    ME.name,
    BY_UNION_ID.name,
    USER_INFO.name,
    USER.name,
    USERS.name,
    DEPARTMENT.name,
    DEPARTMENTS.name,
    ROLES.name,
    ROLE_MEMBERS.name,
    MESSAGE.name,
];
