//! The networks from which each role may be active.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::network::unmap_ipv4;
use crate::{Networks, Role, Roles};

/// The networks from which each role may be active. A role without a list may be active from anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowLists([Networks; Role::ALL.len()]);

impl AllowLists {
    /// Whether `role` may be active from `address`.
    #[must_use]
    pub fn allow(&self, role: Role, address: IpAddr) -> bool {
        self.of(role).is_none_or(|networks| networks.is_empty() || networks.contains(address))
    }

    /// The subset of `roles` that may be active from `address`.
    #[must_use]
    pub fn permitted(&self, roles: Roles, address: IpAddr) -> Roles {
        roles.iter().filter(|role| self.allow(*role, address)).collect()
    }

    /// The networks of `role`. An empty slice means that the role has no list.
    #[must_use]
    pub fn list(&self, role: Role) -> &[IpNet] {
        self.of(role).map_or(&[], Networks::as_slice)
    }

    /// Whether no role has a list.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Networks::is_empty)
    }

    /// Every network with its role, in the order of roles and addresses.
    pub fn entries(&self) -> impl Iterator<Item = (Role, IpNet)> {
        Role::ALL.into_iter().flat_map(|role| self.list(role).iter().map(move |network| (role, *network)))
    }

    /// A copy of these lists with the list of `role` replaced. An empty slice removes the list.
    #[must_use]
    pub fn with(&self, role: Role, networks: &[IpNet]) -> Self {
        let others = self.entries().filter(|(of, _)| *of != role);
        others.chain(networks.iter().map(|network| (role, *network))).collect()
    }

    fn of(&self, role: Role) -> Option<&Networks> {
        Role::ALL.into_iter().zip(&self.0).find_map(|(of, networks)| (of == role).then_some(networks))
    }
}

impl FromIterator<(Role, IpNet)> for AllowLists {
    /// Stores each network once, in canonical form: without host bits, and in the order of addresses.
    fn from_iter<I: IntoIterator<Item = (Role, IpNet)>>(entries: I) -> Self {
        let entries: Vec<(Role, IpNet)> = entries.into_iter().map(|(role, network)| (role, plain(network))).collect();
        Self(Role::ALL.map(|role| {
            let mut list: Vec<IpNet> =
                entries.iter().filter(|(of, _)| *of == role).map(|(_, network)| *network).collect();
            list.sort_unstable();
            list.dedup();
            list.into_iter().collect()
        }))
    }
}

impl fmt::Display for AllowLists {
    /// Prints only the roles that have a list.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |role: Role| {
            let networks: Vec<_> = self.list(role).iter().map(ToString::to_string).collect();
            (!networks.is_empty()).then(|| format!("{role}: {}", networks.join(", ")))
        };
        let lines: Vec<_> = Role::ALL.into_iter().filter_map(list).collect();
        f.write_str(if lines.is_empty() { "none" } else { "" })?;
        f.write_str(&lines.join("; "))
    }
}

/// Converts a network to its canonical form, like the addresses it is compared with: no host bits, no IPv4-mapped IPv6.
fn plain(network: IpNet) -> IpNet {
    unmap_ipv4(network.trunc())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::net::Ipv6Addr;

    use proptest::prelude::*;

    use super::*;
    use crate::network::MAPPED_PREFIX_BITS;

    fn lists(entries: &[(Role, &str)]) -> AllowLists {
        entries.iter().map(|(role, network)| (*role, network.parse::<IpNet>().unwrap())).collect()
    }

    fn admin_from(network: &str, address: &str) -> bool {
        lists(&[(Role::Admin, network)]).allow(Role::Admin, address.parse().unwrap())
    }

    #[test]
    fn a_role_without_a_list_may_be_active_from_anywhere() {
        let some = lists(&[(Role::Admin, "10.0.0.0/8")]);
        let elsewhere: IpAddr = "203.0.113.9".parse().unwrap();
        assert!(!some.allow(Role::Admin, elsewhere) && !some.is_empty());
        for role in Role::ALL.into_iter().filter(|role| *role != Role::Admin) {
            assert!(some.allow(role, elsewhere), "{role}");
            assert!(some.list(role).is_empty(), "{role}");
        }
        assert!(AllowLists::default().is_empty());
        assert!(Role::ALL.into_iter().all(|role| AllowLists::default().allow(role, elsewhere)));
    }

    #[test]
    fn networks_of_both_families_match_mapped_addresses() {
        for (network, address, expected) in [
            ("10.0.0.0/8", "10.255.255.255", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.9.8.7/8", "10.1.2.3", true),
            ("192.0.2.7/32", "192.0.2.7", true),
            ("192.0.2.7/32", "192.0.2.8", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "::ffff:203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("::/0", "203.0.113.9", false),
            ("::/0", "::ffff:203.0.113.9", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("2001:db8::9/32", "2001:db8::1", true),
            ("2001:db8::1/128", "2001:db8::1", true),
            ("2001:db8::1/128", "2001:db8::2", false),
            ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "11.1.2.3", false),
            ("::ffff:0:0/96", "203.0.113.9", true),
            ("::ffff:10.1.2.3/128", "::ffff:10.1.2.3", true),
            ("fe80::/10", "fe80::1", true),
        ] {
            assert_eq!(admin_from(network, address), expected, "{address} in {network}");
        }
    }

    #[test]
    fn a_list_shows_each_network_once_and_plainly() {
        let admin = lists(&[
            (Role::Admin, "2001:db8::1/32"),
            (Role::Admin, "10.1.2.3/8"),
            (Role::Admin, "::ffff:10.0.0.0/104"),
            (Role::Agent, "192.0.2.0/24"),
        ]);
        let shown = |role| admin.list(role).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown(Role::Admin), ["10.0.0.0/8", "2001:db8::/32"]);
        assert_eq!(shown(Role::Agent), ["192.0.2.0/24"]);
    }

    #[test]
    fn one_list_is_replaced_and_the_others_stay() {
        let some = lists(&[(Role::Admin, "10.0.0.0/8"), (Role::Agent, "192.0.2.0/24")]);
        assert_eq!(some.to_string(), "admin: 10.0.0.0/8; agent: 192.0.2.0/24");
        let other = some.with(Role::Admin, &["2001:db8::/32".parse().unwrap(), "198.51.100.7/32".parse().unwrap()]);
        assert_eq!(other.to_string(), "admin: 198.51.100.7/32, 2001:db8::/32; agent: 192.0.2.0/24");
        assert_eq!(other.with(Role::Admin, &[]).to_string(), "agent: 192.0.2.0/24");
        assert_eq!(other.with(Role::Admin, &[]).with(Role::Agent, &[]), AllowLists::default());
        assert_eq!(AllowLists::default().to_string(), "none");
        assert_eq!(other.entries().collect::<AllowLists>(), other);
    }

    #[test]
    fn only_the_roles_allowed_from_there_are_permitted() {
        let some = lists(&[(Role::Admin, "10.0.0.0/8"), (Role::Agent, "192.0.2.0/24")]);
        let held: Roles = [Role::Admin, Role::Agent, Role::User].into_iter().collect();
        let from = |address: &str| some.permitted(held, address.parse().unwrap()).iter().collect::<Vec<_>>();
        assert_eq!(from("10.0.0.1"), [Role::Admin, Role::User]);
        assert_eq!(from("192.0.2.1"), [Role::Agent, Role::User]);
        assert_eq!(from("203.0.113.9"), [Role::User]);
    }

    fn network() -> impl Strategy<Value = IpNet> {
        let v4 = (any::<[u8; 4]>(), 0..=32_u8).prop_map(|(bytes, prefix)| IpNet::new(bytes.into(), prefix).unwrap());
        let v6 = (any::<[u8; 16]>(), 0..=128_u8).prop_map(|(bytes, prefix)| IpNet::new(bytes.into(), prefix).unwrap());
        prop_oneof![v4, v6]
    }

    /// Returns an address that is mostly near one of the networks, so that both results occur.
    fn address(near: IpNet, noise: u128, bits: u8) -> IpAddr {
        let noise = noise.checked_shr(u32::from(bits)).unwrap_or(0);
        match near.addr() {
            IpAddr::V4(v4) => std::net::Ipv4Addr::from_bits(v4.to_bits() ^ u32::try_from(noise >> 96).unwrap()).into(),
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() ^ noise).into(),
        }
    }

    fn as_mapped(address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().into(),
            IpAddr::V6(_) => address,
        }
    }

    /// Whether the first `prefix` bits of the network and the address are equal.
    fn same_start(network: IpNet, address: IpAddr) -> bool {
        let (one, other, width) = match (network.addr(), address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
            _ => return false,
        };
        (one ^ other).checked_shr(width - u32::from(network.prefix_len())).unwrap_or(0) == 0
    }

    proptest! {
        #[test]
        fn an_address_is_allowed_when_a_network_contains_it(
            networks in proptest::collection::vec(network(), 1..5), noise: u128, bits in 0..140_u8, pick: prop::sample::Index,
        ) {
            let address = address(*pick.get(&networks), noise, bits);
            prop_assume!(!matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some()));
            let lists: AllowLists = networks.iter().map(|network| (Role::Security, *network)).collect();
            let expected = networks.iter().any(|network| same_start(*network, address));
            prop_assert_eq!(lists.allow(Role::Security, address), expected);
            prop_assert_eq!(lists.allow(Role::Security, as_mapped(address)), expected);
            prop_assert!(lists.allow(Role::User, address));
        }

        #[test]
        fn a_network_written_with_mapped_addresses_is_the_ipv4_network(bytes: [u8; 4], prefix in 0..=32_u8, address: [u8; 4]) {
            let plain = IpNet::new(bytes.into(), prefix).unwrap();
            let mapped = IpNet::new(as_mapped(bytes.into()), prefix + MAPPED_PREFIX_BITS).unwrap();
            let address = IpAddr::from(address);
            let allowed = |network| AllowLists::from_iter([(Role::Admin, network)]).allow(Role::Admin, address);
            prop_assert_eq!(allowed(plain), allowed(mapped));
        }
    }
}
