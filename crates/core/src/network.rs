//! Networks, and the address from which a request came.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use ipnet::{IpNet, Ipv4Net};
use serde::{Deserialize, Serialize};

/// A set of networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// Whether `address` is in one of the networks.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The networks of the set.
    #[must_use]
    pub fn as_slice(&self) -> &[IpNet] {
        &self.0
    }
}

impl FromIterator<IpNet> for Networks {
    fn from_iter<I: IntoIterator<Item = IpNet>>(networks: I) -> Self {
        Self(networks.into_iter().collect())
    }
}

/// An error: the text is not a network.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidNetwork {
    /// The text cannot be parsed.
    #[error("is not a network")]
    Unreadable,
    /// The text may mean one host or the network around it; a wrong guess could admit too many clients.
    #[error("is ambiguous, it could mean {network} or {host}")]
    Ambiguous {
        /// The network around it.
        network: IpNet,
        /// The host.
        host: IpNet,
    },
}

/// Parses a network; an address without a prefix length stands for itself. A network of IPv4-mapped addresses becomes the IPv4
/// network, because the addresses it is compared with are IPv4 too.
pub fn parse_network(text: &str) -> Result<IpNet, InvalidNetwork> {
    let network = read(text).ok_or(InvalidNetwork::Unreadable)?;
    if network.trunc() != network {
        return Err(InvalidNetwork::Ambiguous { network: network.trunc(), host: IpNet::from(network.addr()) });
    }
    Ok(unmap_ipv4(network))
}

/// Parses the address with the standard library instead of `ipnet`, which reads `010.0.0.0/8` as `10.0.0.0/8` where other
/// parsers read `8.0.0.0/8`.
fn read(text: &str) -> Option<IpNet> {
    let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let address = address.parse().ok()?;
    let Some(prefix) = prefix else { return Some(IpNet::from(address)) };
    let digits = prefix.bytes().all(|byte| byte.is_ascii_digit());
    IpNet::new(address, digits.then(|| prefix.parse().ok())??).ok()
}

/// The length of the prefix in front of the IPv4 address in an IPv4-mapped address.
pub(crate) const MAPPED_PREFIX_BITS: u8 = 96;

/// Converts a network of IPv4-mapped addresses to the IPv4 network; leaves other networks unchanged.
pub(crate) fn unmap_ipv4(network: IpNet) -> IpNet {
    let mapped = |first: Ipv6Addr, prefix: u8| {
        Ipv4Net::new(first.to_ipv4_mapped()?, prefix.checked_sub(MAPPED_PREFIX_BITS)?).ok()
    };
    match network {
        IpNet::V6(wide) => mapped(wide.network(), wide.prefix_len()).map_or(network, IpNet::V4),
        IpNet::V4(_) => network,
    }
}

/// The address of a request, in the readings for the log and for decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientAddress {
    /// For the login log: the first address in the header. The client of the first proxy can forge it.
    pub logged: IpAddr,
    /// For decisions: the nearest hop that is not a trusted proxy. Only a trusted proxy can set it.
    pub decided: IpAddr,
    /// The peer address of the connection.
    pub peer: IpAddr,
}

impl ClientAddress {
    /// Determines the address from the connection and the `X-Forwarded-For` values, in the order received.
    ///
    /// Only a trusted peer is believed, and only as far as its values can be parsed. Otherwise the result falls back to the
    /// address of the connection, never to "no address".
    #[must_use]
    pub fn read<'a>(peer: IpAddr, forwarded: impl DoubleEndedIterator<Item = &'a str>, trusted: &Networks) -> Self {
        let peer = peer.to_canonical();
        let mut address = Self { logged: peer, decided: peer, peer };
        if !trusted.contains(peer) {
            return address;
        }
        let hops = hops(forwarded);
        if let Some(Some(first)) = hops.first() {
            address.logged = *first;
        }
        for hop in hops.into_iter().rev() {
            let Some(hop) = hop else { break };
            address.decided = hop;
            if !trusted.contains(hop) {
                break;
            }
        }
        address
    }
}

/// The deciding hop, if it looks like a proxy that is missing from the trusted proxies: it is private and not trusted, and a
/// trusted peer reports that it forwarded a request for another address. A client in a private network that forges the header
/// looks the same, so this justifies a hint but no rejection.
#[must_use]
pub fn unlisted_proxy<'a>(
    peer: IpAddr,
    forwarded: impl DoubleEndedIterator<Item = &'a str>,
    trusted: &Networks,
) -> Option<IpAddr> {
    if !trusted.contains(peer) {
        return None;
    }
    let mut hops = hops(forwarded).into_iter().rev();
    let decided = hops.find(|hop| hop.is_none_or(|hop| !trusted.contains(hop)))??;
    (is_private(decided) && hops.next().flatten().is_some()).then_some(decided)
}

/// The addresses in the header.
fn hops<'a>(forwarded: impl Iterator<Item = &'a str>) -> Vec<Option<IpAddr>> {
    forwarded.flat_map(|value| value.split(',')).map(parse).collect()
}

/// Parses one item of the header; some proxies add brackets or the port.
fn parse(item: &str) -> Option<IpAddr> {
    let item = item.trim_matches([' ', '\t']);
    let bare = item.strip_prefix('[').and_then(|item| item.strip_suffix(']')).unwrap_or(item);
    let address = bare.parse().ok().or_else(|| item.parse().ok().map(|socket: SocketAddr| socket.ip()));
    address.map(|ip: IpAddr| ip.to_canonical())
}

/// The address that identifies a client in rate limits: one household or office holds a whole IPv6 /64.
#[must_use]
pub fn rate_limit_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

/// The prefix lengths of the networks around an address: of a provider or a large customer, of what people would call the same
/// place, and of one client.
const PREFIXES_V4: [u8; 3] = [16, 24, 32];
const PREFIXES_V6: [u8; 3] = [32, 48, 64];

/// The networks around an address, the widest first. The second is [`nearby_network`], the last one a client in rate limits.
#[must_use]
pub fn enclosing_networks(address: IpAddr) -> [IpNet; 3] {
    let address = address.to_canonical();
    let prefixes = if address.is_ipv4() { PREFIXES_V4 } else { PREFIXES_V6 };
    prefixes.map(|prefix| IpNet::new(address, prefix).unwrap_or_else(|_| IpNet::from(address)).trunc())
}

/// The network around an address (an IPv4 /24 or IPv6 /48). It determines whether a sign-in comes from a known place, and whose
/// share of the memory a request uses.
#[must_use]
pub fn nearby_network(address: IpAddr) -> IpNet {
    let [_, nearby, _] = enclosing_networks(address);
    nearby
}

/// Whether an address belongs to this machine or to a network that the internet does not route: loopback, link-local, the
/// private ranges (RFC 1918, RFC 4193) and the shared range of carriers and load balancers (RFC 6598).
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let shared = first == 100 && second & 0b1100_0000 == 64;
            address.is_loopback() || address.is_private() || address.is_link_local() || shared
        }
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trusted() -> Networks {
        ["127.0.0.0/8", "10.0.0.0/8", "::1/128"].iter().map(|net| net.parse::<IpNet>().unwrap()).collect()
    }

    fn read(peer: &str, headers: &[&str]) -> (String, String) {
        let address = ClientAddress::read(peer.parse().unwrap(), headers.iter().copied(), &trusted());
        (address.logged.to_string(), address.decided.to_string())
    }

    #[test]
    fn the_header_counts_only_from_a_trusted_peer() {
        assert_eq!(read("203.0.113.9", &["1.2.3.4"]), ("203.0.113.9".into(), "203.0.113.9".into()));
        assert_eq!(read("127.0.0.1", &["1.2.3.4"]), ("1.2.3.4".into(), "1.2.3.4".into()));
        assert_eq!(read("127.0.0.1", &[]), ("127.0.0.1".into(), "127.0.0.1".into()));
    }

    #[test]
    fn the_log_uses_the_first_and_decisions_the_last_untrusted_hop() {
        let spoofed = ["6.6.6.6, 198.51.100.7, 10.0.0.2"];
        assert_eq!(read("10.0.0.1", &spoofed), ("6.6.6.6".into(), "198.51.100.7".into()));
        let two_headers = ["6.6.6.6", "198.51.100.7"];
        assert_eq!(read("10.0.0.1", &two_headers), ("6.6.6.6".into(), "198.51.100.7".into()));
        assert_eq!(read("10.0.0.1", &["10.0.0.3,10.0.0.2"]), ("10.0.0.3".into(), "10.0.0.3".into()));
    }

    #[test]
    fn unreadable_headers_count_as_absent() {
        for garbage in [
            "a",
            "",
            ",",
            "1.2.3",
            "1.2.3.4.5",
            "::gg",
            "999.1.1.1",
            "unknown",
            "_hidden",
            "1.2.3.4;",
            "\u{ff11}.2.3.4",
        ] {
            assert_eq!(read("127.0.0.1", &[garbage]), ("127.0.0.1".into(), "127.0.0.1".into()), "{garbage:?}");
        }
        assert_eq!(read("127.0.0.1", &["x, 198.51.100.7"]), ("127.0.0.1".into(), "198.51.100.7".into()));
    }

    #[test]
    fn different_spellings_of_an_address_are_equal() {
        for spelling in
            ["1.2.3.4", " 1.2.3.4 ", "1.2.3.4:5678", "::ffff:1.2.3.4", "[::ffff:1.2.3.4]:80", "::ffff:102:304"]
        {
            assert_eq!(read("::ffff:127.0.0.1", &[spelling]).1, "1.2.3.4", "{spelling}");
        }
        for spelling in ["[2001:db8::1]:443", "[2001:db8::1]", "2001:db8:0::1"] {
            assert_eq!(read("::1", &[spelling]).1, "2001:db8::1", "{spelling}");
        }
    }

    #[test]
    fn an_untrusted_proxy_behind_a_trusted_proxy_is_reported() {
        let unlisted = |peer: &str, header: &str| {
            unlisted_proxy(peer.parse().unwrap(), [header].into_iter(), &trusted()).map(|hop| hop.to_string())
        };
        for (header, hop) in [
            ("198.51.100.7, 192.168.0.2", Some("192.168.0.2")),
            ("198.51.100.7, 192.168.0.2, 10.0.0.2", Some("192.168.0.2")),
            ("192.168.0.9, ::ffff:192.168.0.2", Some("192.168.0.2")),
            ("192.168.0.2", None),
            ("192.168.0.2, 198.51.100.7", None),
            ("198.51.100.7, 10.0.0.2", None),
            ("garbage, 192.168.0.2", None),
            ("192.168.0.2, garbage", None),
            ("", None),
        ] {
            assert_eq!(unlisted("127.0.0.1", header).as_deref(), hop, "{header}");
            assert_eq!(unlisted("192.168.0.1", header), None, "{header}");
        }
    }

    #[test]
    fn an_ipv6_network_counts_as_one_client() {
        let counted = |text: &str| rate_limit_address(text.parse().unwrap()).to_string();
        assert_eq!(counted("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(counted("2001:db8:1:2::9"), "2001:db8:1:2::");
        assert_eq!(counted("::ffff:1.2.3.4"), "1.2.3.4");
    }

    #[test]
    fn networks_enclose_each_other_and_the_innermost_is_a_client() {
        let around = |text: &str| enclosing_networks(text.parse().unwrap()).map(|network| network.to_string());
        assert_eq!(around("192.0.2.7"), ["192.0.0.0/16", "192.0.2.0/24", "192.0.2.7/32"]);
        assert_eq!(around("::ffff:192.0.2.7"), around("192.0.2.7"));
        assert_eq!(around("2001:db8:1:2:3::4"), ["2001:db8::/32", "2001:db8:1::/48", "2001:db8:1:2::/64"]);
        for text in ["192.0.2.7", "2001:db8:1:2:3::4"] {
            let address = text.parse().unwrap();
            let [_, nearby, client] = enclosing_networks(address);
            assert_eq!((nearby, client.addr()), (nearby_network(address), rate_limit_address(address)));
        }
    }

    #[test]
    fn private_addresses_are_distinguished_from_public_ones() {
        for text in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
        ] {
            assert!(is_private(text.parse().unwrap()), "{text}");
        }
        for text in [
            "8.8.8.8",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.0.2.1",
            "2001:db8::1",
            "::ffff:8.8.8.8",
            "fec0::1",
        ] {
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn networks_and_addresses_are_networks() {
        for (text, network) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("::1", "::1/128"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:0.0.0.0/96", "0.0.0.0/0"),
            ("::ffff:192.0.2.7", "192.0.2.7/32"),
            ("::/0", "::/0"),
        ] {
            assert_eq!(parse_network(text).map(|found| found.to_string()), Ok(network.to_owned()));
        }
    }

    #[test]
    fn other_texts_are_not_networks() {
        for text in [
            "",
            " ",
            "localhost",
            "10.0.0.0/33",
            "10.0.0/8",
            "10.0.0.0/-1",
            "::/129",
            "10.0.0.0/",
            "/8",
            "10.0.0.0/八",
            "１０.0.0.0/8",
            "é",
            " 10.0.0.0/8",
            "10.0.0.0/8 ",
            "10.0.0.0/+8",
            "010.0.0.0/8",
        ] {
            assert_eq!(parse_network(text), Err(InvalidNetwork::Unreadable), "{text:?}");
        }
        let error = parse_network("10.1.2.3/8").unwrap_err().to_string();
        assert_eq!(error, "is ambiguous, it could mean 10.0.0.0/8 or 10.1.2.3/32");
    }

    proptest! {
        #[test]
        fn headers_of_an_untrusted_peer_affect_no_decision(headers in proptest::collection::vec("[ -~]{0,60}", 0..5)) {
            let peer: IpAddr = "203.0.113.9".parse().unwrap();
            let address = ClientAddress::read(peer, headers.iter().map(String::as_str), &trusted());
            prop_assert_eq!((address.decided, address.logged), (peer, peer));
        }

        #[test]
        fn entries_left_of_the_proxys_entry_affect_no_decision(spoof in "[ -~]{0,80}") {
            let header = format!("{spoof}, 198.51.100.7");
            prop_assert_eq!(read("10.0.0.1", &[&header]).1, "198.51.100.7");
        }
    }
}
