//! The calls of the server API by name and method.

/// A call of the API, named after its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    GetToken,
    AuthGetUserInfo,
    UserGetUserInfo,
    UserGet,
    DepartmentGet,
    DepartmentList,
    AgentGet,
    LinkedUserGet,
    MessageSend,
}

impl Endpoint {
    pub(crate) const ALL: [Self; 9] = [
        Self::GetToken,
        Self::AuthGetUserInfo,
        Self::UserGetUserInfo,
        Self::UserGet,
        Self::DepartmentGet,
        Self::DepartmentList,
        Self::AgentGet,
        Self::LinkedUserGet,
        Self::MessageSend,
    ];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GetToken => "gettoken",
            Self::AuthGetUserInfo => "auth/getuserinfo",
            Self::UserGetUserInfo => "user/getuserinfo",
            Self::UserGet => "user/get",
            Self::DepartmentGet => "department/get",
            Self::DepartmentList => "department/list",
            Self::AgentGet => "agent/get",
            Self::LinkedUserGet => "linkedcorp/user/get",
            Self::MessageSend => "message/send",
        }
    }

    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Self::LinkedUserGet | Self::MessageSend => &["POST"],
            _ => &["GET"],
        }
    }
}
