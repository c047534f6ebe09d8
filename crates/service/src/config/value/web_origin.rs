//! Origins: a scheme, a host and a port.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::list::ListItem;
use super::newtype::newtype;
use crate::config::raw::quoted;

newtype! {
    /// An origin as browsers write it: lower case, no default port, no trailing slash.
    pub struct WebOrigin(String) as str {
        secret: false,
        expected: |_| r#"an origin without path such as "https://desk.example.com""#.to_owned(),
        parse: |raw| parse(raw.text()?),
    }
}

impl ListItem for WebOrigin {
    const EXPECTED: &'static str = r#"origins such as "https://desk.example.com""#;

    fn parse_item(text: &str) -> Result<Self, String> {
        parse(text).map(Self)
    }
}

impl WebOrigin {
    /// Whether tokens and cookies are protected in transit.
    pub(in crate::config) fn protects_tokens(&self) -> bool {
        protects_tokens(&self.0)
    }

    pub(in crate::config) fn replace(&mut self, from: &str, to: &str) {
        self.0 = self.0.replacen(from, to, 1);
    }
}

/// Parses an origin and normalizes it as browsers do: lower case, no default port, no trailing slash.
fn parse(text: &str) -> Result<String, String> {
    // The message does not repeat the text: the part before an @ is often a password.
    if text.contains('@') {
        return Err("it contains a user name or password".to_owned());
    }
    let lower = text.to_ascii_lowercase();
    normal(&lower).ok_or_else(|| format!("{} is not an origin", quoted(text)))
}

/// Whether tokens and cookies are protected in transit: they are encrypted, or never leave this machine.
pub(super) fn protects_tokens(origin: &str) -> bool {
    match origin.split_once("://") {
        Some(("https", _)) => true,
        Some((_, authority)) => split_port(authority).is_some_and(|(host, _)| is_local(host)),
        None => false,
    }
}

fn normal(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let usual_port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let (host, port) = split_port(rest.strip_suffix('/').unwrap_or(rest))?;
    if !is_host(host) {
        return None;
    }
    match port {
        Some(port) if port != usual_port => Some(format!("{scheme}://{host}:{port}")),
        _ => Some(format!("{scheme}://{host}")),
    }
}

/// Splits `host:port`; an IPv6 address, which contains colons, is in brackets.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            Some((host, Some(port.parse().ok().filter(|_| digits)?)))
        }
        _ => Some((authority, None)),
    }
}

fn is_host(host: &str) -> bool {
    if let Some(address) = bracketed(host) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    host.split('.').all(|label| !label.is_empty() && label.len() <= 63 && label.bytes().all(fits))
}

fn is_local(host: &str) -> bool {
    host == "localhost"
        || host.parse() == Ok(Ipv4Addr::LOCALHOST)
        || bracketed(host).is_some_and(|address| address.parse() == Ok(Ipv6Addr::LOCALHOST))
}

fn bracketed(host: &str) -> Option<&str> {
    host.strip_prefix('[')?.strip_suffix(']')
}

#[cfg(test)]
mod tests {
    use super::{parse, protects_tokens};

    #[test]
    fn reads_origins_and_writes_them_as_browsers_do() {
        let cases = [
            ("https://desk.example.com", "https://desk.example.com"),
            ("https://desk.example.com/", "https://desk.example.com"),
            ("HTTPS://Desk.Example.COM:443", "https://desk.example.com"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
            ("https://[2001:db8::1]", "https://[2001:db8::1]"),
        ];
        for (text, origin) in cases {
            assert_eq!(parse(text).as_deref(), Ok(origin), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else_without_panicking() {
        let cases = [
            "",
            "desk.example.com",
            "ftp://desk.example.com",
            "https://",
            "https:///",
            "https://desk.example.com//",
            "https://desk.example.com/login",
            "https://desk.example.com?a=b",
            "https://desk.example.com#a",
            "https://desk .example.com",
            "https://desk..example.com",
            "https://desk.example.com:",
            "https://desk.example.com:+443",
            "https://desk.example.com:65536",
            "https://::1",
            "https://[::1",
            "https://[]",
            "https://桌面.example.com",
            "https://é",
        ];
        for text in cases {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn does_not_repeat_a_password() {
        let complaint = parse("https://user:hunter2@desk.example.com").unwrap_or_else(|what| what);
        assert_eq!(complaint, "it contains a user name or password");
    }

    #[test]
    fn tokens_are_protected_when_encrypted_or_local() {
        for origin in ["https://a.b", "http://localhost:1", "http://127.0.0.1", "http://[::1]:80"] {
            assert!(protects_tokens(origin), "{origin}");
        }
        for origin in ["http://a.b", "http://10.0.0.1", "http://localhost.a.b", "http://[::2]"] {
            assert!(!protects_tokens(origin), "{origin}");
        }
    }
}
