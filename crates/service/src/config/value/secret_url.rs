//! Addresses of services that may contain a password, which is masked when shown.

use std::fmt;
use std::net::Ipv6Addr;

/// The text that is shown in place of a password. Its length does not depend on the password's.
pub(in crate::config) const PASSWORD_MASK: &str = "***";

/// An address that may contain a password. `Display` and `Debug` mask it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl {
    whole: String,
    shown: String,
}

impl SecretUrl {
    /// Returns the address with its password, for the single place that connects.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.whole
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SecretUrl({})", self.shown)
    }
}

/// The parts of an address. It has no `Debug`, because one part is a password.
pub(super) struct UrlParts<'a> {
    /// In lower case.
    pub(super) scheme: String,
    pub(super) user: Option<&'a str>,
    pub(super) password: Option<&'a str>,
    /// One or more hosts, separated by commas, each with an optional port.
    pub(super) hosts: &'a str,
    /// The text after the slash that follows the hosts.
    pub(super) path: &'a str,
    pub(super) query: Option<&'a str>,
}

impl<'a> UrlParts<'a> {
    /// Splits an address into its parts. The error message never repeats the address: a password with a stray delimiter
    /// could be in any part.
    pub(super) fn of(text: &'a str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        if text.chars().any(|char| char.is_control() || char.is_whitespace()) {
            return Err("it contains a blank, a line break or another control character".to_owned());
        }
        let (scheme, rest) = text.split_once("://").ok_or("it is no address: there is no :// in it")?;
        if rest.contains('#') {
            return Err("it contains a #, which is %23 inside a password and stands nowhere else".to_owned());
        }
        if rest.matches('@').count() > 1 {
            return Err("it contains more than one @, which is %40 inside a password".to_owned());
        }
        let (before, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
        let (authority, path) = before.split_once('/').unwrap_or((before, ""));
        if rest.contains('@') && !authority.contains('@') {
            return Err("a / or ? stands before its @; inside a password they are %2F and %3F".to_owned());
        }
        let (user_info, hosts) = authority.split_once('@').map_or((None, authority), |(who, at)| (Some(who), at));
        if !is_encoded(user_info.unwrap_or_default()) || !is_encoded(path) {
            return Err("a % in it is not followed by two hexadecimal digits; % itself is %25".to_owned());
        }
        let user = user_info.map(|who| who.split_once(':').map_or(who, |(user, _)| user));
        let password = user_info.and_then(|who| who.split_once(':')).map(|(_, password)| password);
        Ok(Self { scheme: scheme.to_ascii_lowercase(), user, password, hosts, path, query })
    }

    pub(super) fn check_hosts(&self) -> Result<(), String> {
        self.hosts.split(',').try_for_each(|host| {
            let (host, port) = split_port(host);
            if host.is_empty() {
                return Err("it names no host".to_owned());
            }
            if !is_host(host) {
                return Err("its host is not a name or an address".to_owned());
            }
            let number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse() != Ok(0_u16);
            match port {
                Some(port) if !number(port) || port.parse::<u16>().is_err() => {
                    Err("its port is not a number from 1 to 65535".to_owned())
                }
                _ => Ok(()),
            }
        })
    }

    pub(super) fn whole(&self) -> SecretUrl {
        SecretUrl { whole: self.write(self.password), shown: self.write(self.password.map(|_| PASSWORD_MASK)) }
    }

    fn write(&self, password: Option<&str>) -> String {
        let who = match (self.user, password) {
            (None, _) => String::new(),
            (Some(user), None) => format!("{user}@"),
            (Some(user), Some(password)) => format!("{user}:{password}@"),
        };
        let slash = if self.path.is_empty() && self.query.is_none() { "" } else { "/" };
        let query = self.query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}://{who}{}{slash}{}{query}", self.scheme, self.hosts, self.path)
    }
}

/// Splits `host:port`; an IPv6 address, which contains colons, is in brackets.
fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    }
}

/// Host names in a network of containers may contain underscores, unlike those of the Internet.
fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    host.split('.').all(|label| (1..=63).contains(&label.len()) && label.bytes().all(fits))
}

fn is_encoded(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let mut digits = after.bytes().take(2);
        let hexadecimal = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
        hexadecimal(digits.next()) && hexadecimal(digits.next())
    })
}
