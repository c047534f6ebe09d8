//! The parameters of a request, decoded and in order.

use http::Uri;
use url::form_urlencoded;

/// Pairs of names and values.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    pub(crate) fn from_uri(uri: &Uri) -> Self {
        Self(form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect())
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
