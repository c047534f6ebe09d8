//! The APIs of the platform that this service calls, named by their paths below `/cgi-bin/`.

use deskpass_platform::client::{Api, ApiPurpose};

/// Exchanges corporation and secret for an access token.
pub(crate) const TOKEN: Api = Api::new("gettoken", ApiPurpose::Token);
/// Exchanges a code for a user.
pub(crate) const USER_INFO: Api = Api::new("auth/getuserinfo", ApiPurpose::SignIn);
/// Reads a member's record.
pub(crate) const USER: Api = Api::new("user/get", ApiPurpose::Directory);
/// Reads the record of a connected corporation's member.
pub(crate) const LINKED_USER: Api = Api::new("linkedcorp/user/get", ApiPurpose::Directory);
/// Lists the members of a department.
pub(crate) const USER_LIST: Api = Api::new("user/list", ApiPurpose::List);
/// Reads a department's record.
pub(crate) const DEPARTMENT: Api = Api::new("department/get", ApiPurpose::Directory);
/// Lists a department and those below it.
pub(crate) const DEPARTMENT_LIST: Api = Api::new("department/list", ApiPurpose::List);
/// Lists the tags.
pub(crate) const TAG_LIST: Api = Api::new("tag/list", ApiPurpose::List);
/// Lists the members and departments of a tag.
pub(crate) const TAG: Api = Api::new("tag/get", ApiPurpose::List);
/// Reads the application's record, which lists all members who may use it.
pub(crate) const AGENT: Api = Api::new("agent/get", ApiPurpose::List);
/// Sends a message to a member.
pub(crate) const MESSAGE: Api = Api::new("message/send", ApiPurpose::Message);
/// Changes a card that was sent.
pub(crate) const CARD_UPDATE: Api = Api::new("message/update_template_card", ApiPurpose::Message);

/// The names of all APIs.
pub(crate) const NAMES: &[&str] = &[
    TOKEN.name,
    USER_INFO.name,
    USER.name,
    LINKED_USER.name,
    USER_LIST.name,
    DEPARTMENT.name,
    DEPARTMENT_LIST.name,
    TAG_LIST.name,
    TAG.name,
    AGENT.name,
    MESSAGE.name,
    CARD_UPDATE.name,
];
