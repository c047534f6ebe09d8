//! The address that a service which listens somewhere is reached at.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// An address to ask at: whoever listens on all of them is asked on this machine's own.
pub(super) fn connect_address(mut listen: SocketAddr) -> SocketAddr {
    match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => listen.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => listen.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    listen
}
