//! The calls of the server API by path and method.

/// A call of the API. Paths that begin with `v1.0/` belong to the newer API, which has a host and an error shape of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    CorpToken,
    AppToken,
    GetToken,
    UserToken,
    Me,
    GetByUnionId,
    GetUserInfo,
    UserGet,
    UserList,
    DepartmentGet,
    DepartmentListSub,
    RoleList,
    RoleMembers,
    MessageSend,
    MessageResult,
}

impl Endpoint {
    pub(crate) const ALL: [Self; 15] = [
        Self::CorpToken,
        Self::AppToken,
        Self::GetToken,
        Self::UserToken,
        Self::Me,
        Self::GetByUnionId,
        Self::GetUserInfo,
        Self::UserGet,
        Self::UserList,
        Self::DepartmentGet,
        Self::DepartmentListSub,
        Self::RoleList,
        Self::RoleMembers,
        Self::MessageSend,
        Self::MessageResult,
    ];

    pub(crate) fn from_path(path: &str) -> Option<Self> {
        if corp_id(path).is_some() {
            return Some(Self::CorpToken);
        }
        Self::ALL.into_iter().find(|api| *api != Self::CorpToken && api.name() == path)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CorpToken => "v1.0/oauth2/:corpId/token",
            Self::AppToken => "v1.0/oauth2/accessToken",
            Self::GetToken => "gettoken",
            Self::UserToken => "v1.0/oauth2/userAccessToken",
            Self::Me => "v1.0/contact/users/me",
            Self::GetByUnionId => "topapi/user/getbyunionid",
            Self::GetUserInfo => "topapi/v2/user/getuserinfo",
            Self::UserGet => "topapi/v2/user/get",
            Self::UserList => "topapi/v2/user/list",
            Self::DepartmentGet => "topapi/v2/department/get",
            Self::DepartmentListSub => "topapi/v2/department/listsub",
            Self::RoleList => "topapi/role/list",
            Self::RoleMembers => "topapi/role/simplelist",
            Self::MessageSend => "topapi/message/corpconversation/asyncsend_v2",
            Self::MessageResult => "topapi/message/corpconversation/getsendresult",
        }
    }

    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Self::GetToken | Self::Me => &["GET"],
            _ => &["POST"],
        }
    }

    /// Whether the call belongs to the newer API.
    pub(crate) fn is_newer(self) -> bool {
        self.name().starts_with("v1.0/")
    }

    /// Whether the call needs no token, because it issues one.
    pub(crate) fn issues_token(self) -> bool {
        matches!(self, Self::CorpToken | Self::AppToken | Self::GetToken | Self::UserToken)
    }
}

/// The corporation in the path of a request for a token of that corporation.
pub(crate) fn corp_id(path: &str) -> Option<&str> {
    let corp_id = path.strip_prefix("v1.0/oauth2/")?.strip_suffix("/token")?;
    (!corp_id.is_empty() && !corp_id.contains('/')).then_some(corp_id)
}
