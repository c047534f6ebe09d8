//! A provider that is compared with another.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::{Url, form_urlencoded};

use super::visitor::{Visitor, exchange};
use crate::harness::Response;

/// A provider, and what it was seen to do.
pub(super) struct Side {
    pub(super) discovery: Value,
    pub(super) client: TestClient,
    pub(super) visitor: Visitor,
    seen: BTreeMap<String, String>,
}

/// The client at a provider.
pub(super) struct TestClient {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) redirect_uri: String,
    pub(super) post_logout_uri: String,
}

/// The PKCE verifier of every request.
pub(super) const VERIFIER: &str = "a-verifier-of-the-test-that-has-enough-characters";
pub(super) const STATE: &str = "a state & more: ü";

impl Side {
    /// A provider with this discovery document. The visitor signs in there.
    pub(super) fn new(discovery: Value, client: TestClient, visitor: Visitor) -> Self {
        Self { discovery, client, visitor, seen: BTreeMap::new() }
    }

    /// What the provider was seen to do, by name.
    pub(super) fn seen(&self) -> &BTreeMap<String, String> {
        &self.seen
    }

    /// Records something that a provider was seen to do.
    pub(super) fn note(&mut self, what: &str, value: impl Into<String>) {
        let before = self.seen.insert(what.to_owned(), value.into());
        assert!(before.is_none(), "{what} is noted twice");
    }

    pub(super) fn endpoint(&self, name: &str) -> String {
        self.discovery[name].as_str().unwrap_or_else(|| panic!("no {name}: {}", self.discovery)).to_owned()
    }

    /// The address of an authorization request with some parameters changed; empty ones are left out.
    pub(super) fn authorization(&self, changes: &[(&str, &str)]) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER.as_bytes()));
        let usual = [
            ("response_type", "code"),
            ("client_id", &*self.client.id),
            ("redirect_uri", &*self.client.redirect_uri),
            ("scope", "openid profile email groups offline_access"),
            ("state", STATE),
            ("nonce", "n-1"),
            ("code_challenge", &*challenge),
            ("code_challenge_method", "S256"),
            // The reference grants offline_access only with it.
            ("prompt", "consent"),
        ];
        let unchanged = usual.iter().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in unchanged.chain(changes).filter(|(_, value)| !value.is_empty()) {
            query.append_pair(name, value);
        }
        format!("{}?{}", self.endpoint("authorization_endpoint"), query.finish())
    }

    /// A code, after a sign-in.
    pub(super) async fn code(&mut self) -> String {
        let (address, to) = (self.authorization(&[]), self.client.redirect_uri.clone());
        let returned = self.visitor.travel(&address, &to).await;
        parameter(&returned, "code").unwrap_or_else(|| panic!("{returned}"))
    }

    /// The header of Basic authentication with a secret.
    pub(super) fn basic(&self, secret: &str) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{secret}", self.client.id)))
    }

    /// Posts a form to an endpoint, with this header.
    pub(super) async fn post(&self, endpoint: &str, authorization: Option<&str>, form: &[(&str, &str)]) -> Response {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut headers = vec![("content-type", "application/x-www-form-urlencoded")];
        headers.extend(authorization.map(|value| ("authorization", value)));
        exchange("POST", &self.endpoint(endpoint), &headers, &body).await
    }
}

/// A parameter in the query of an address, or in its fragment.
pub(super) fn parameter(address: &str, name: &str) -> Option<String> {
    let url = Url::parse(address).unwrap_or_else(|error| panic!("{error}: {address}"));
    let all = format!("{}&{}", url.query().unwrap_or_default(), url.fragment().unwrap_or_default());
    form_urlencoded::parse(all.as_bytes()).find(|(given, _)| given == name).map(|(_, value)| value.into_owned())
}

/// The kind of a JSON value; empty if it is missing.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
