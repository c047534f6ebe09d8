//! Lists of networks.

use deskpass_core::{InvalidNetwork, parse_network};
use ipnet::IpNet;

use super::raw::quoted;

/// Parses every item as a network, or names the invalid one.
pub(super) fn parse_all(items: &[&str]) -> Result<Vec<IpNet>, String> {
    items.iter().map(|item| parse(item)).collect()
}

/// Whether the network contains every address.
pub(super) fn is_any_address(network: &IpNet) -> bool {
    network.prefix_len() == 0
}

fn parse(text: &str) -> Result<IpNet, String> {
    parse_network(text).map_err(|problem| match problem {
        InvalidNetwork::Unreadable => format!("{} {problem}", quoted(text)),
        InvalidNetwork::Ambiguous { .. } => format!("{text} {problem}"),
    })
}

#[cfg(test)]
mod tests {
    use super::parse_all;

    #[test]
    fn says_which_item_is_no_network() {
        assert_eq!(parse_all(&["10.0.0.0/8", "::1"]).map(|networks| networks.len()), Ok(2));
        let complaint = |items: &[&str]| parse_all(items).err().unwrap_or_default();
        assert_eq!(complaint(&["10.0.0.0/8", "10.0.0.0/33"]), "\"10.0.0.0/33\" is not a network");
        let expected = "10.1.2.3/8 is ambiguous, it could mean 10.0.0.0/8 or 10.1.2.3/32";
        assert_eq!(complaint(&["10.1.2.3/8"]), expected);
    }
}
