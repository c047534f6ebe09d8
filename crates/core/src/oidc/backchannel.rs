//! Back-channel logout: at which addresses a program may be told that a session has ended.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Where clouds answer their machines, with secrets too, outside of the link-local networks.
const METADATA_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(192, 0, 0, 192)];
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// Whether a program may be told at this address: it is neither link-local, unspecified, multicast nor broadcast, nor one at which
/// a cloud answers its machines. Programs in private networks and on this machine may be told.
#[must_use]
pub fn may_receive_logouts(address: IpAddr) -> bool {
    let address = match address.to_canonical() {
        IpAddr::V4(address) => return may_receive_v4(address),
        IpAddr::V6(address) => address,
    };
    match address.segments() {
        // NAT64 of a network itself, in which the IPv4 address may have one of several places (RFC 8215).
        [0x64, 0xff9b, 1, ..] => false,
        // NAT64 (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => may_receive_v4(v4_of(high, low)),
        // 6to4 (RFC 3056). Private addresses have no place in it.
        [0x2002, high, low, ..] => {
            let inner = v4_of(high, low);
            may_receive_v4(inner) && !inner.is_private() && !inner.is_loopback()
        }
        // The other addresses that begin so are IPv4-compatible ones (RFC 4291, 2.5.5.1).
        [0, 0, 0, 0, 0, 0, high, low] if !address.is_loopback() => may_receive_v4(v4_of(high, low)),
        _ => !address.is_unicast_link_local() && !address.is_multicast() && !METADATA_V6.contains(&address),
    }
}

/// The IPv4 address that two parts of an IPv6 address stand for.
fn v4_of(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

fn may_receive_v4(address: Ipv4Addr) -> bool {
    // All of 0.0.0.0/8 means "this network".
    let is_special = address.octets().starts_with(&[0])
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast();
    !is_special && !METADATA_V4.contains(&address)
}

/// Whether an address whose host is written as a number may be told. What a name stands for is only known later.
#[must_use]
pub fn is_written_for_logouts(address: &str) -> bool {
    match Url::parse(address).ok().as_ref().and_then(Url::host) {
        Some(Host::Ipv4(address)) => may_receive_logouts(address.into()),
        Some(Host::Ipv6(address)) => may_receive_logouts(address.into()),
        Some(Host::Domain(_)) | None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_not_told_where_machines_get_their_secrets() {
        for refused in [
            "169.254.169.254",
            "169.254.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "::",
            "fe80::1",
            "ff02::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a9fe:a9fe",
            "64:ff9b:1:a9fe:a9:fe00::",
            "2002:a9fe:a9fe::1",
            "2002:a00:1::",
            "2002:7f00:1::1",
            "::169.254.169.254",
            "::224.0.0.1",
            "fd00:ec2::23",
            "fd20:ce::254",
        ] {
            let address: IpAddr = refused.parse().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
            assert!(!may_receive_logouts(address), "{refused}");
        }
        for told in [
            "10.1.2.3",
            "192.168.0.9",
            "172.16.0.1",
            "127.0.0.1",
            "::1",
            "8.8.8.8",
            "fd12::1",
            "2001:db8::1",
            "2002:808:808::1",
            "::8.8.8.8",
        ] {
            let address: Option<IpAddr> = told.parse().ok();
            assert!(address.is_some_and(may_receive_logouts), "{told}");
        }
    }

    #[test]
    fn numbers_count_as_browsers_read_them() {
        for refused in ["http://169.254.169.254/out", "http://0xA9FEA9FE/out", "http://[fe80::1]/out", "http://0/"] {
            assert!(!is_written_for_logouts(refused), "{refused}");
        }
        assert!(is_written_for_logouts("https://wiki.example.com/out"));
    }
}
