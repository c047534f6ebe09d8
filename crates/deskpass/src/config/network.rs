//! Lists of networks.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};

use super::raw::quoted;

/// How many leading bits an IPv4-mapped network spends on being one.
const MAPPED: u8 = 96;

/// Reads every item as a network, or says which one is none.
pub(super) fn parse_all(items: &[&str]) -> Result<Vec<IpNet>, String> {
    items.iter().map(|item| parse(item)).collect()
}

/// Whether every address is in it.
pub(super) fn is_everyone(network: &IpNet) -> bool {
    network.prefix_len() == 0
}

fn parse(text: &str) -> Result<IpNet, String> {
    let network = match text.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address),
        Err(_) => text.parse().map_err(|_| format!("{} is not a network", quoted(text)))?,
    };
    // `10.1.2.3/8` may be meant as one host or as all of 10.0.0.0/8; guessing could let too many in.
    if network.trunc() != network {
        let host = IpNet::from(network.addr());
        return Err(format!("{text} is ambiguous, it could mean {} or {host}", network.trunc()));
    }
    Ok(unmapped(network))
}

/// Peers' IPv4-mapped addresses count as IPv4, so a mapped network would never match one.
fn unmapped(network: IpNet) -> IpNet {
    let IpNet::V6(wide) = network else {
        return network;
    };
    let narrow = || {
        let address: Ipv6Addr = wide.addr();
        let length = wide.prefix_len().checked_sub(MAPPED)?;
        Ipv4Net::new(address.to_ipv4_mapped()?, length).ok()
    };
    narrow().map_or(network, IpNet::V4)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_networks_and_addresses() {
        let cases = [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("::1", "::1/128"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:0.0.0.0/96", "0.0.0.0/0"),
            ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ];
        for (text, network) in cases {
            assert_eq!(parse(text).map(|found| found.to_string()), Ok(network.to_owned()));
        }
    }

    #[test]
    fn refuses_everything_else_without_panicking() {
        let cases = [
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
        ];
        for text in cases {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn asks_what_host_bits_mean() {
        let complaint = parse("10.1.2.3/8").err();
        let expected = "10.1.2.3/8 is ambiguous, it could mean 10.0.0.0/8 or 10.1.2.3/32";
        assert_eq!(complaint.as_deref(), Some(expected));
    }
}
