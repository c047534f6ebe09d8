//! The calls of the server API by path and method.

/// A call of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    TenantToken,
    AppToken,
    UserTokenV3,
    UserTokenV2,
    UserTokenV1,
    UserTokenOidc,
    UserInfo,
    Members,
    User,
    Children,
    Department,
    Scopes,
    Groups,
    GroupMembers,
    MessageSend,
    MessageUpdate,
}

/// Whose token a call carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credential {
    /// None: the call itself proves who calls.
    Nobody,
    App,
    User,
}

impl Endpoint {
    /// All calls; a path with a parameter comes after those that it could be mistaken for.
    pub(super) const ALL: [Self; 16] = [
        Self::TenantToken,
        Self::AppToken,
        Self::UserTokenV3,
        Self::UserTokenV2,
        Self::UserTokenV1,
        Self::UserTokenOidc,
        Self::UserInfo,
        Self::Members,
        Self::User,
        Self::Children,
        Self::Department,
        Self::Scopes,
        Self::Groups,
        Self::GroupMembers,
        Self::MessageSend,
        Self::MessageUpdate,
    ];

    pub(super) fn from_path(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.is_at(path))
    }

    /// The path, in which `:id` stands for a parameter.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TenantToken => "open-apis/auth/v3/tenant_access_token/internal",
            Self::AppToken => "open-apis/auth/v3/app_access_token/internal",
            Self::UserTokenV3 => "oauth/v3/token",
            Self::UserTokenV2 => "open-apis/authen/v2/oauth/token",
            Self::UserTokenV1 => "open-apis/authen/v1/access_token",
            Self::UserTokenOidc => "open-apis/authen/v1/oidc/access_token",
            Self::UserInfo => "open-apis/authen/v1/user_info",
            Self::Members => "open-apis/contact/v3/users/find_by_department",
            Self::User => "open-apis/contact/v3/users/:id",
            Self::Children => "open-apis/contact/v3/departments/:id/children",
            Self::Department => "open-apis/contact/v3/departments/:id",
            Self::Scopes => "open-apis/contact/v3/scopes",
            Self::Groups => "open-apis/contact/v3/group/simplelist",
            Self::GroupMembers => "open-apis/contact/v3/group/:id/member/simplelist",
            Self::MessageSend => "open-apis/im/v1/messages",
            Self::MessageUpdate => "open-apis/im/v1/messages/:id",
        }
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::TenantToken
            | Self::AppToken
            | Self::UserTokenV3
            | Self::UserTokenV2
            | Self::UserTokenV1
            | Self::UserTokenOidc
            | Self::MessageSend => "POST",
            Self::MessageUpdate => "PATCH",
            _ => "GET",
        }
    }

    pub(super) fn credential(self) -> Credential {
        match self {
            Self::TenantToken | Self::AppToken | Self::UserTokenV3 | Self::UserTokenV2 => Credential::Nobody,
            Self::UserInfo => Credential::User,
            _ => Credential::App,
        }
    }

    /// Whether the call exchanges a code.
    pub(super) fn exchanges_code(self) -> bool {
        matches!(self, Self::UserTokenV3 | Self::UserTokenV2 | Self::UserTokenV1 | Self::UserTokenOidc)
    }

    /// Whether its errors are worded as OAuth has them.
    pub(super) fn speaks_oauth(self) -> bool {
        matches!(self, Self::UserTokenV3 | Self::UserTokenV2)
    }

    /// The parameter in the path; empty if there is none.
    pub(super) fn parameter(self, path: &str) -> &str {
        let mut parts = self.name().split('/').zip(path.split('/'));
        parts.find(|(name, _)| *name == ":id").map(|(_, part)| part).unwrap_or_default()
    }

    fn is_at(self, path: &str) -> bool {
        let same = |(name, part): (&str, &str)| name == part || (name == ":id" && !part.is_empty());
        let parts = || self.name().split('/');
        parts().count() == path.split('/').count() && parts().zip(path.split('/')).all(same)
    }
}
