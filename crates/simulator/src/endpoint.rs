//! The calls of the server API by name and method.

use serde::{Deserialize, Serialize};

/// A call of the API, named after its path.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "&'static str")]
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
    const ALL: [Self; 9] = [
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

impl TryFrom<String> for Endpoint {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::from_name(&name).ok_or_else(|| format!("unknown api {name:?}, expected one of {}", names()))
    }
}

impl From<Endpoint> for &'static str {
    fn from(api: Endpoint) -> Self {
        api.name()
    }
}
