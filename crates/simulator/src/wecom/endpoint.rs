//! The calls of the server API by name and method.

/// A call of the API, named after its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    GetToken,
    GetCallbackIp,
    AuthGetUserInfo,
    UserGetUserInfo,
    UserGet,
    UserList,
    UserSimpleList,
    UserConvertToOpenid,
    DepartmentGet,
    DepartmentList,
    DepartmentSimpleList,
    AgentGet,
    TagList,
    TagGet,
    LinkedUserGet,
    MessageSend,
    MessageUpdateTemplateCard,
    /// Any other path.
    Unknown,
}

impl Endpoint {
    /// The calls that exist.
    pub(crate) const ALL: [Self; 17] = [
        Self::GetToken,
        Self::GetCallbackIp,
        Self::AuthGetUserInfo,
        Self::UserGetUserInfo,
        Self::UserGet,
        Self::UserList,
        Self::UserSimpleList,
        Self::UserConvertToOpenid,
        Self::DepartmentGet,
        Self::DepartmentList,
        Self::DepartmentSimpleList,
        Self::AgentGet,
        Self::TagList,
        Self::TagGet,
        Self::LinkedUserGet,
        Self::MessageSend,
        Self::MessageUpdateTemplateCard,
    ];

    pub(crate) fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|api| api.name() == name).unwrap_or(Self::Unknown)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GetToken => "gettoken",
            Self::GetCallbackIp => "getcallbackip",
            Self::AuthGetUserInfo => "auth/getuserinfo",
            Self::UserGetUserInfo => "user/getuserinfo",
            Self::UserGet => "user/get",
            Self::UserList => "user/list",
            Self::UserSimpleList => "user/simplelist",
            Self::UserConvertToOpenid => "user/convert_to_openid",
            Self::DepartmentGet => "department/get",
            Self::DepartmentList => "department/list",
            Self::DepartmentSimpleList => "department/simplelist",
            Self::AgentGet => "agent/get",
            Self::TagList => "tag/list",
            Self::TagGet => "tag/get",
            Self::LinkedUserGet => "linkedcorp/user/get",
            Self::MessageSend => "message/send",
            Self::MessageUpdateTemplateCard => "message/update_template_card",
            Self::Unknown => "unknown",
        }
    }

    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Self::LinkedUserGet | Self::MessageSend | Self::MessageUpdateTemplateCard | Self::UserConvertToOpenid => {
                &["POST"]
            }
            Self::Unknown => &["GET", "POST", "PUT", "DELETE"],
            _ => &["GET"],
        }
    }
}
