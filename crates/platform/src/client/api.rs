//! The calls to a platform's API.

use serde_json::Value;
use url::Url;

/// What an API is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApiPurpose {
    /// Exchanges credentials for an access token.
    Token,
    /// Identifies a user and completes a sign-in: its failures mean that users cannot sign in.
    SignIn,
    /// An earlier call of a sign-in that takes several: its failures mean that users cannot sign in, but its success does not
    /// mean that they can.
    SignInStep,
    /// Reads records.
    Directory,
    /// Reads a list of records, which may be long.
    List,
    /// Sends messages, which can wait: its outcome says nothing about sign-in.
    Message,
}

/// An API of a platform, declared as a constant by the platform's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Api {
    /// The name in logs and metrics.
    pub name: &'static str,
    /// What it is for.
    pub purpose: ApiPurpose,
}

impl Api {
    /// Declares an API.
    #[must_use]
    pub const fn new(name: &'static str, purpose: ApiPurpose) -> Self {
        Self { name, purpose }
    }
}

/// The method of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Post,
    Patch,
}

/// A call to an API.
#[derive(Clone)]
pub struct ApiCall {
    pub(super) api: Api,
    pub(super) url: Url,
    pub(super) headers: Vec<(&'static str, String)>,
    /// The JSON body; a GET has none.
    pub(super) body: Option<Value>,
    pub(super) verb: Verb,
    /// The values that must not appear in logs.
    pub(super) secrets: Vec<String>,
    /// Whether the call carries the access token.
    pub(super) needs_token: bool,
    /// Whether the call bypasses the limit on concurrent calls.
    pub(super) urgent: bool,
    /// Whether the call is made once, and its refusal proves nothing.
    pub(super) once: bool,
}

impl ApiCall {
    /// A GET to a path below `base`, such as `user/get`.
    #[must_use]
    pub fn get(api: Api, base: &Url, path: &str) -> Self {
        let mut url = base.clone();
        url.set_path(&format!("{}/{}", base.path().trim_end_matches('/'), path.trim_start_matches('/')));
        let (headers, secrets) = (Vec::new(), Vec::new());
        Self { api, url, headers, body: None, verb: Verb::Get, secrets, needs_token: true, urgent: false, once: false }
    }

    /// A POST with a JSON body to a path below `base`.
    #[must_use]
    pub fn post(api: Api, base: &Url, path: &str, body: Value) -> Self {
        Self { body: Some(body), verb: Verb::Post, ..Self::get(api, base, path) }
    }

    /// A PATCH with a JSON body to a path below `base`.
    #[must_use]
    pub fn patch(api: Api, base: &Url, path: &str, body: Value) -> Self {
        Self { verb: Verb::Patch, ..Self::post(api, base, path, body) }
    }

    /// Adds a parameter to the query.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(name, value);
        self
    }

    /// Adds a parameter before all others.
    #[must_use]
    pub fn query_first(mut self, name: &str, value: &str) -> Self {
        let others: Vec<(String, String)> = self.url.query_pairs().into_owned().collect();
        self.url.query_pairs_mut().clear().append_pair(name, value).extend_pairs(others);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Names a value of this call that must not appear in logs, even if the platform repeats it.
    #[must_use]
    pub fn secret(mut self, value: impl Into<String>) -> Self {
        self.secrets.push(value.into());
        self
    }

    /// The call does not carry the access token of the application.
    #[must_use]
    pub fn without_token(self) -> Self {
        Self { needs_token: false, ..self }
    }

    /// Makes the call without retries, and draws no conclusion from the refusal of its parameters alone; for a probe that is one
    /// of several.
    #[must_use]
    pub fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// Marks the call as urgent; for calls that are made once on behalf of all callers.
    #[must_use]
    pub fn urgent(self) -> Self {
        Self { urgent: true, ..self }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_can_be_put_before_the_others() {
        let (api, base) = (Api::new("a", ApiPurpose::Directory), Url::parse("http://a.example.com/sim/").unwrap());
        let call = ApiCall::get(api, &base, "b/c").query("code", "x&y=z").query_first("token", "a b");
        assert_eq!(call.url.as_str(), "http://a.example.com/sim/b/c?token=a+b&code=x%26y%3Dz");
        assert_eq!(ApiCall::get(api, &base, "/b").query_first("t", "1").url.as_str(), "http://a.example.com/sim/b?t=1");
    }
}
