//! The parameters of a request, decoded and in order.

use http::Uri;
use serde_json::{Map, Value};
use url::form_urlencoded;

/// Pairs of names and values.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    pub(crate) fn from_uri(uri: &Uri) -> Self {
        Self::from_form(uri.query().unwrap_or_default().as_bytes())
    }

    /// The fields of a form.
    pub(crate) fn from_form(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    /// The fields of a JSON object: a text as it is, another value as JSON. `None` for anything but an object.
    pub(crate) fn from_json(body: &[u8]) -> Option<Self> {
        let fields: Map<String, Value> = serde_json::from_slice(body).ok()?;
        let text = |value: Value| match value {
            Value::String(text) => text,
            value => value.to_string(),
        };
        Some(Self(fields.into_iter().map(|(name, value)| (name, text(value))).collect()))
    }

    /// The first value with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The first value with this name; the platform treats an empty value as missing.
    pub(crate) fn non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// The same parameters with one more, URL-encoded.
    pub(crate) fn with(&self, name: &str, value: &str) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).append_pair(name, value).finish()
    }
}
