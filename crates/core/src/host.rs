//! The host that a request names, and the hosts that the service accepts.

use std::net::{IpAddr, Ipv6Addr};

/// The host of an authority such as `desk.example.com:8443`; the port is checked and left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host<'a> {
    /// An IP address. A browser connects to exactly this address; no DNS response can redirect it.
    Address(IpAddr),
    /// A DNS name.
    Name(&'a str),
}

impl<'a> Host<'a> {
    /// Whether [`Host::parse`] accepts a text. Cheaper, since it does not matter whether a name is an address.
    #[must_use]
    pub fn is_valid(authority: &'a str) -> bool {
        if authority.starts_with('[') {
            return Self::parse(authority).is_some();
        }
        split_name(authority).is_some()
    }

    /// Parses `host` or `host:port` as in the `Host` header. Stricter than RFC 3986: a name consists of letters, digits, `-`,
    /// `.` and `_`, which is sufficient for DNS names and container names.
    #[must_use]
    pub fn parse(authority: &'a str) -> Option<Self> {
        if let Some(rest) = authority.strip_prefix('[') {
            let (address, port) = rest.split_once(']')?;
            return is_valid_port(port).then_some(Self::Address(address.parse::<Ipv6Addr>().ok()?.into()));
        }
        let host = split_name(authority)?;
        Some(host.parse().map_or(Self::Name(host), Self::Address))
    }

    /// Whether both are the same; a name may end with the dot of the root.
    #[must_use]
    pub fn is_same(self, other: Host<'_>) -> bool {
        match (self, other) {
            (Self::Address(one), Host::Address(other)) => one.to_canonical() == other.to_canonical(),
            (Self::Name(one), Host::Name(other)) => without_root(one).eq_ignore_ascii_case(without_root(other)),
            _ => false,
        }
    }

    /// Whether it is this machine.
    #[must_use]
    pub fn is_local(self) -> bool {
        match self {
            Self::Address(address) => address.to_canonical().is_loopback(),
            Self::Name(name) => without_root(name).eq_ignore_ascii_case("localhost"),
        }
    }
}

fn without_root(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// A name without its port, if both are valid.
fn split_name(authority: &str) -> Option<&str> {
    let at = authority.bytes().position(|byte| byte == b':').unwrap_or(authority.len());
    let (host, port) = authority.split_at_checked(at)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    (is_valid_port(port) && (1..=255).contains(&host.len()) && host.bytes().all(plain)).then_some(host)
}

/// Whether the text is empty, or a colon followed by a port or by nothing.
fn is_valid_port(text: &str) -> bool {
    let Some(port) = text.strip_prefix(':') else { return text.is_empty() };
    port.is_empty() || port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
}

/// The hosts that the service accepts, at any port. With another one a foreign page could make its own name resolve to this
/// machine and read the responses (DNS rebinding).
#[derive(Clone, Debug, Default)]
pub struct HostNames {
    names: Vec<String>,
    addresses: Vec<IpAddr>,
    any_address: bool,
}

impl HostNames {
    /// The hosts of this machine: `localhost` and every loopback address.
    #[must_use]
    pub fn local() -> Self {
        Self { names: vec!["localhost".to_owned()], ..Self::default() }
    }

    /// Adds a host, written with or without a port and the dot of the root; ignores an invalid host.
    #[must_use]
    pub fn with(mut self, authority: &str) -> Self {
        match Host::parse(authority) {
            Some(Host::Address(address)) => self.addresses.push(address.to_canonical()),
            Some(Host::Name(name)) => self.names.push(without_root(name).to_ascii_lowercase()),
            None => {}
        }
        self
    }

    /// Adds the host of an origin such as `https://desk.example.com`.
    #[must_use]
    pub fn with_origin(self, origin: &str) -> Self {
        match origin.split_once("://") {
            Some((_, authority)) => self.with(authority),
            None => self,
        }
    }

    /// Adds every IP address, for a service that clients reach by the addresses of its machine.
    #[must_use]
    pub fn with_any_address(self, any_address: bool) -> Self {
        Self { any_address, ..self }
    }

    /// Whether the service accepts this `Host`.
    #[must_use]
    pub fn contains(&self, authority: &str) -> bool {
        match Host::parse(authority) {
            Some(Host::Address(address)) => self.any_address || self.lists_address(address),
            Some(Host::Name(name)) => self.lists_name(name),
            None => false,
        }
    }

    fn lists_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_loopback() || self.addresses.contains(&address)
    }

    fn lists_name(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(without_root(name)))
    }

    /// Whether the browser reports that a page of another site sends this request: by `Sec-Fetch-Site`, or by an `Origin` that
    /// is not one of these hosts. Clients other than browsers send neither header. An unlisted address counts as ours only if
    /// the request itself is sent to it, because other machines have addresses too.
    #[must_use]
    pub fn is_cross_site(&self, host: Option<&str>, fetch_site: Option<&str>, origin: Option<&str>) -> bool {
        let elsewhere = |site| !matches!(site, "same-origin" | "same-site" | "none");
        let asked = |address: IpAddr| match host.and_then(Host::parse) {
            Some(Host::Address(host)) => self.any_address && host.to_canonical() == address.to_canonical(),
            _ => false,
        };
        let foreign = |origin: &str| {
            let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            match authority.and_then(Host::parse) {
                Some(Host::Address(address)) => !self.lists_address(address) && !asked(address),
                Some(Host::Name(name)) => !self.lists_name(name),
                None => true,
            }
        };
        fetch_site.is_some_and(elsewhere) || origin.is_some_and(foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_normalised() {
        for (text, port) in [("desk.example.com", ""), ("desk.example.com", ":8443"), ("a_b-c", ":"), ("x", ":65535")] {
            assert_eq!(Host::parse(&format!("{text}{port}")), Some(Host::Name(text)), "{text}{port}");
        }
        for (text, address) in [("127.0.0.1", "127.0.0.1"), ("127.0.0.1:80", "127.0.0.1"), ("[::1]:80", "::1")] {
            assert_eq!(Host::parse(text), address.parse().ok().map(Host::Address), "{text}");
        }
        let long = "x".repeat(256);
        let bad = [
            "",
            ":80",
            "a b",
            "a,b",
            "a/b",
            "a@b",
            "a?b",
            "a#b",
            "a\\b",
            "a%41",
            "a:b",
            "a:80:80",
            "a:+80",
            "a:65536",
            "a: 80",
            "::1",
            "[::1",
            "::1]",
            "[::1]x",
            "[::1%25lo]",
            "[127.0.0.1]",
            "[]",
            "desk\u{e9}",
            "a\0",
            "*",
            &long,
        ];
        for text in bad {
            assert_eq!(Host::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_host_is_the_same_in_every_spelling() {
        let is_same =
            |one, other| Host::parse(one).is_some_and(|one| Host::parse(other).is_some_and(|it| one.is_same(it)));
        assert!(
            is_same("Desk.example.com:8443", "desk.example.com") && is_same("desk.example.com.", "desk.example.com")
        );
        assert!(is_same("192.0.2.7", "[::ffff:192.0.2.7]:80") && is_same("desk", "DESK."));
        assert!(!is_same("desk.example.com", "example.com") && !is_same("192.0.2.7", "192.0.2.8"));
        let is_local = |host| Host::parse(host).is_some_and(Host::is_local);
        assert!(is_local("LOCALHOST:80") && is_local("127.9.9.9") && is_local("[::1]") && !is_local("desk"));
    }

    #[test]
    fn only_own_hosts_are_accepted() {
        let own = HostNames::local().with("192.0.2.7:8080").with_origin("https://Desk.example.com").with("box");
        let good = [
            "localhost",
            "LocalHost:1",
            "127.0.0.1:8080",
            "127.9.9.9",
            "[::1]:8080",
            "[::ffff:127.0.0.1]",
            "192.0.2.7",
            "desk.example.com:8443",
            "desk.example.com.",
            "localhost.:80",
            "box",
            "BOX.",
        ];
        for host in good {
            assert!(own.contains(host), "{host}");
        }
        let bad = [
            "evil.test",
            "localhost.evil.test",
            "localhost..",
            ".",
            "evil.localhost",
            "127.0.0.1.evil.test",
            "127.1",
            "192.0.2.8",
            "[2001:db8::7]",
            "",
            "sub.desk.example.com",
            "127.0.0.1@evil.test",
        ];
        for host in bad {
            assert!(!own.contains(host), "{host}");
        }
        let remote = own.with_any_address(true);
        assert!(remote.contains("192.0.2.8:80") && remote.contains("[2001:db8::7]") && !remote.contains("evil.test"));
    }

    #[test]
    fn pages_of_other_sites_are_recognised_by_either_header() {
        let own = HostNames::local();
        let own_page = Some("http://localhost:3000");
        for (site, origin) in
            [(None, None), (Some("same-origin"), own_page), (Some("none"), None), (None, Some("http://127.0.0.1"))]
        {
            assert!(!own.is_cross_site(None, site, origin), "{site:?} {origin:?}");
        }
        for (site, origin) in [
            (Some("cross-site"), None),
            (Some("cross-site"), own_page),
            (Some("something-new"), own_page),
            (None, Some("http://evil.test")),
            (None, Some("null")),
            (None, Some("")),
            (None, Some("http://localhost@evil.test")),
            (Some("same-origin"), Some("http://evil.test")),
        ] {
            assert!(own.is_cross_site(None, site, origin), "{site:?} {origin:?}");
        }
    }

    #[test]
    fn an_address_is_our_own_only_where_the_request_is_sent_to_it() {
        let own = HostNames::local().with("192.0.2.7").with_any_address(true);
        let foreign = |host: Option<&str>, origin: &str| own.is_cross_site(host, None, Some(origin));
        for host in [None, Some("192.0.2.8:8080"), Some("localhost"), Some("evil.test")] {
            assert!(foreign(host, "http://192.0.2.9"), "{host:?}");
            assert!(!foreign(host, "http://192.0.2.7:3000") && !foreign(host, "http://127.0.0.1"), "{host:?}");
        }
        assert!(!foreign(Some("192.0.2.9:8080"), "http://192.0.2.9:3000"));
        assert!(!foreign(Some("[::ffff:192.0.2.9]"), "http://192.0.2.9"));
        assert!(foreign(Some("evil.test"), "http://evil.test"));
    }
}
