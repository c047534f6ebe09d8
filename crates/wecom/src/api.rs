//! The platform's calls this service makes.

/// A call of the platform's server API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Api {
    /// Corporation and secret to access token.
    Token,
    /// Code to person.
    UserInfo,
    /// A member's record.
    User,
    /// The record of a connected corporation's member.
    LinkedUser,
    /// A department's record.
    Department,
    /// The application's record.
    Agent,
    /// A message to a member.
    Message,
}

impl Api {
    /// Its path below `/cgi-bin/`, which is also its name in logs.
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

/// What is asked in one call.
pub(crate) struct ApiCall<'a> {
    pub(crate) api: Api,
    pub(crate) query: Vec<(&'static str, &'a str)>,
    /// Sent as JSON with POST; without it the call is a GET.
    pub(crate) body: Option<serde_json::Value>,
    /// Whether it goes out at once, however many calls are under way.
    pub(crate) urgent: bool,
}

/// Parameters whose values nobody may read in a log.
const SECRET: [&str; 3] = ["access_token", "code", "corpsecret"];

impl<'a> ApiCall<'a> {
    /// A call without a body.
    pub(crate) fn get(api: Api, query: &[(&'static str, &'a str)]) -> Self {
        Self { api, query: query.to_vec(), body: None, urgent: false }
    }

    /// A call with a body.
    pub(crate) fn post(api: Api, body: serde_json::Value) -> Self {
        Self { api, query: Vec::new(), body: Some(body), urgent: false }
    }

    /// The same ahead of everybody else's; for what is asked once for all of them.
    pub(crate) fn urgent(self) -> Self {
        Self { urgent: true, ..self }
    }

    /// The same with the access token in front.
    pub(crate) fn with_token<'b>(&'b self, token: &'b str) -> ApiCall<'b> {
        let query = std::iter::once(("access_token", token)).chain(self.query.iter().copied()).collect();
        ApiCall { api: self.api, query, body: self.body.clone(), urgent: self.urgent }
    }

    /// The values nobody may read in a log.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(|(name, _)| SECRET.contains(name)).map(|(_, value)| *value)
    }
}
