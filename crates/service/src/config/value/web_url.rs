//! Addresses of other services.

use url::Url;

use super::newtype::newtype;
use super::web_origin::protects_tokens;
use crate::config::raw::quoted;

newtype! {
    /// An address without user name, query, fragment and trailing slash.
    pub struct WebUrl(String) as str {
        secret: false,
        expected: |_| r#"an http or https address such as "https://platform.example.com""#.to_owned(),
        parse: |raw| parse(raw.text()?),
    }
}

newtype! {
    /// The address that receives requests as it is: a trailing slash stays.
    pub struct EndpointUrl(String) as str {
        secret: false,
        expected: |_| r#"an http or https address such as "https://helpdesk.example.com/replies""#.to_owned(),
        parse: |raw| Ok(parse_url(raw.text()?)?.to_string()),
    }
}

impl EndpointUrl {
    /// Whether secrets are protected in transit.
    pub(in crate::config) fn protects_tokens(&self) -> bool {
        protects_tokens(origin(&self.0))
    }
}

impl WebUrl {
    /// Whether tokens and secrets are protected in transit.
    pub(in crate::config) fn protects_tokens(&self) -> bool {
        protects_tokens(origin(&self.0))
    }
}

/// Parses an address, and returns it without a trailing slash.
fn parse(text: &str) -> Result<String, String> {
    Ok(parse_url(text)?.as_str().trim_end_matches('/').to_owned())
}

/// Parses an address without user name, query and fragment.
fn parse_url(text: &str) -> Result<Url, String> {
    // The message does not repeat the text: the part before an @ is often a password.
    if text.contains('@') {
        return Err("it contains a user name or password".to_owned());
    }
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.filter(|url| url.query().is_none() && url.fragment().is_none());
    url.ok_or_else(|| format!("{} is not such an address", quoted(text)))
}

/// The scheme, host and port of a parsed address.
fn origin(text: &str) -> &str {
    let host = text.find("://").map_or(0, |at| at + 3);
    let end = text.get(host..).and_then(|rest| rest.find('/')).map_or(text.len(), |at| host + at);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{origin, parse, parse_url};

    #[test]
    fn reads_addresses_and_their_origins() {
        for (text, read, of) in [
            ("https://api.example.com", "https://api.example.com", "https://api.example.com"),
            ("HTTP://Proxy:3128/", "http://proxy:3128", "http://proxy:3128"),
            ("http://127.0.0.1:1/sim/", "http://127.0.0.1:1/sim", "http://127.0.0.1:1"),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(read));
            let endpoint = parse_url(text).map(|url| url.to_string());
            assert_eq!(endpoint.is_ok_and(|kept| kept.ends_with('/')), text.ends_with('/') || !read.contains("/sim"));
            assert_eq!(origin(read), of);
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in
            ["", "proxy:3128", "ftp://a", "https://", "https://a?b", "https://a#b", "https://u:p@a", "https://a b"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
