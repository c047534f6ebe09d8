//! Networks that defaults name.

/// This machine.
pub(super) const LOOPBACK: &str = "127.0.0.0/8,::1/128";

/// Loopback and private ranges: the default networks of proxies in development mode.
pub(super) const PRIVATE_NETWORKS: &str =
    "127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7,fe80::/10";
