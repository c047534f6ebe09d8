//! The API calls of the platform that this service makes.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Api {
    /// Exchanges corporation and secret for an access token.
    Token,
    /// Exchanges a code for a user.
    UserInfo,
    /// Reads a member's record.
    User,
    /// Reads the record of a connected corporation's member.
    LinkedUser,
    /// Reads a department's record.
    Department,
    /// Reads the application's record.
    Agent,
    /// Sends a message to a member.
    Message,
}

impl Api {
    /// The path below `/cgi-bin/`, which is also the name in logs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Token => "gettoken",
            Self::UserInfo => "auth/getuserinfo",
            Self::User => "user/get",
            Self::LinkedUser => "linkedcorp/user/get",
            Self::Department => "department/get",
            Self::Agent => "agent/get",
            Self::Message => "message/send",
        }
    }
}

pub(crate) struct ApiCall<'a> {
    pub(crate) api: Api,
    pub(crate) query: Vec<(&'static str, &'a str)>,
    /// The JSON body of a POST; without a body the call is a GET.
    pub(crate) body: Option<serde_json::Value>,
    /// Whether the call bypasses the limit on concurrent calls.
    pub(crate) urgent: bool,
}

/// The parameters whose values must not appear in logs.
const SECRET: [&str; 3] = ["access_token", "code", "corpsecret"];

impl<'a> ApiCall<'a> {
    pub(crate) fn get(api: Api, query: &[(&'static str, &'a str)]) -> Self {
        Self { api, query: query.to_vec(), body: None, urgent: false }
    }

    pub(crate) fn post(api: Api, body: serde_json::Value) -> Self {
        Self { api, query: Vec::new(), body: Some(body), urgent: false }
    }

    /// Marks the call as urgent; for calls that are made once on behalf of all callers.
    pub(crate) fn urgent(self) -> Self {
        Self { urgent: true, ..self }
    }

    /// Adds the access token as the first parameter.
    pub(crate) fn with_token<'b>(&'b self, token: &'b str) -> ApiCall<'b> {
        let query = std::iter::once(("access_token", token)).chain(self.query.iter().copied()).collect();
        ApiCall { api: self.api, query, body: self.body.clone(), urgent: self.urgent }
    }

    /// The values that must not appear in logs.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(|(name, _)| SECRET.contains(name)).map(|(_, value)| *value)
    }
}
