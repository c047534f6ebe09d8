//! Records by the networks that they were put for, each network inside a wider one.
//!
//! It finds the record to be evicted without a scan: the oldest one of the heaviest client, in the heaviest network, in the
//! heaviest wide network. Of two with as many records, the one with the older record is the heavier. An attacker who has a wide
//! network displaces records there, however many networks inside it send requests. Networks of one record each take some 350 bytes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use deskpass_core::{Digest, enclosing_networks};
use ipnet::IpNet;

/// The place of a record: its client, and the number of its insertion.
pub(super) type Place = (IpNet, u64);

/// A network in its wider one: the wider one, the number of records, the insertion of the record that it loses first, itself.
type Weight = (IpNet, usize, Reverse<u64>, IpNet);

/// Records by their networks.
#[derive(Default)]
pub(super) struct NetworkTree {
    /// The number of records of each network.
    lengths: BTreeMap<IpNet, usize>,
    /// The networks inside each network, the heaviest last.
    weights: BTreeSet<Weight>,
    /// The records of each client, the oldest first.
    records: BTreeMap<Place, Digest>,
    inserted: u64,
}

impl NetworkTree {
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The number of records of a network.
    pub(super) fn len_of(&self, network: IpNet) -> usize {
        self.lengths.get(&network).copied().unwrap_or_default()
    }

    pub(super) fn insert(&mut self, address: IpAddr, digest: Digest) -> Place {
        let path = path_to(address);
        self.inserted += 1;
        let [.., client] = path;
        let place = (client, self.inserted);
        self.change(path, |tree| {
            tree.records.insert(place, digest);
            for network in path {
                *tree.lengths.entry(network).or_default() += 1;
            }
        });
        place
    }

    pub(super) fn remove(&mut self, place: Place) {
        let path = path_to(place.0.addr());
        self.change(path, |tree| {
            if tree.records.remove(&place).is_none() {
                return;
            }
            for network in path {
                let left = tree.len_of(network).saturating_sub(1);
                match left {
                    0 => tree.lengths.remove(&network),
                    _ => tree.lengths.insert(network, left),
                };
            }
        });
    }

    /// The record that a network loses first.
    pub(super) fn first_to_go(&self, network: IpNet) -> Option<Digest> {
        let mut innermost = network;
        while let Some((.., heaviest)) = self.heaviest_in(innermost) {
            innermost = *heaviest;
        }
        self.records_of(innermost).next().map(|(_, digest)| *digest)
    }

    /// The record to be lost by the heaviest of all wide networks; none if no such network has two records.
    pub(super) fn first_of_heaviest(&self) -> Option<Digest> {
        let (_, len, _, heaviest) = self.heaviest_in(everything())?;
        if *len > 1 { self.first_to_go(*heaviest) } else { None }
    }

    /// Changes the records of a client, and then the weights of its networks.
    fn change(&mut self, path: [IpNet; 4], change: impl FnOnce(&mut Self)) {
        let [all, wide, nearby, client] = path;
        let steps = [(all, wide), (wide, nearby), (nearby, client)];
        // From outside: the weight of a network depends on those inside it.
        for (outer, inner) in steps {
            if let Some(weight) = self.weight(outer, inner) {
                self.weights.remove(&weight);
            }
        }
        change(self);
        for (outer, inner) in steps.into_iter().rev() {
            if let Some(weight) = self.weight(outer, inner) {
                self.weights.insert(weight);
            }
        }
    }

    fn weight(&self, outer: IpNet, inner: IpNet) -> Option<Weight> {
        let first = match self.heaviest_in(inner) {
            Some((_, _, first, _)) => *first,
            None => Reverse(self.records_of(inner).next()?.0.1),
        };
        Some((outer, self.len_of(inner), first, inner))
    }

    fn heaviest_in(&self, network: IpNet) -> Option<&Weight> {
        // No network has no record, or as many as that.
        let bound = |len| (network, len, Reverse(0), network);
        self.weights.range(bound(0)..bound(usize::MAX)).next_back()
    }

    fn records_of(&self, client: IpNet) -> impl Iterator<Item = (&Place, &Digest)> {
        self.records.range((client, 0)..=(client, u64::MAX))
    }
}

/// The network that contains all others, also those of the other family.
fn everything() -> IpNet {
    IpNet::default()
}

fn path_to(address: IpAddr) -> [IpNet; 4] {
    let [wide, nearby, client] = enclosing_networks(address);
    [everything(), wide, nearby, client]
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::nearby_network;
    use proptest::prelude::*;

    use super::*;

    fn name(of: u64) -> Digest {
        Digest::of(&[&of.to_be_bytes()])
    }

    /// What the tree must contain, in the order of insertion.
    type Model = Vec<(IpAddr, Digest, Place)>;

    /// The same decision by counting everything.
    fn first_to_go(model: &Model) -> Option<Digest> {
        let mut left: Vec<_> = model.iter().collect();
        for level in 0..3 {
            let of = |address: IpAddr| enclosing_networks(address)[level];
            let count = |network| left.iter().filter(|(address, ..)| of(*address) == network).count();
            let most = left.iter().map(|(address, ..)| count(of(*address))).max()?;
            let heaviest: Vec<_> = left.iter().filter(|(address, ..)| count(of(*address)) == most).collect();
            // Several are equal rarely; the tree compares the records that they would lose.
            let loses = |network: IpNet| {
                let inside: Model =
                    left.iter().filter(|(address, ..)| of(*address) == network).copied().copied().collect();
                let lost =
                    if level == 2 { inside.first().map(|first| first.1) } else { first_inside(&inside, level + 1) };
                model.iter().position(|(_, digest, _)| Some(*digest) == lost)
            };
            let chosen = heaviest.iter().map(|(address, ..)| of(*address)).min_by_key(|network| loses(*network))?;
            left.retain(|(address, ..)| of(*address) == chosen);
        }
        left.first().map(|first| first.1)
    }

    fn first_inside(model: &Model, level: usize) -> Option<Digest> {
        let of = |address: IpAddr| enclosing_networks(address)[level];
        let networks: Vec<_> = model.iter().map(|(address, ..)| of(*address)).collect();
        let len = |network: &IpNet| networks.iter().filter(|other| *other == network).count();
        let most = networks.iter().map(len).max()?;
        let candidates = networks.iter().filter(|network| len(network) == most).filter_map(|network| {
            let inside: Model = model.iter().filter(|(address, ..)| of(*address) == *network).copied().collect();
            if level == 2 { inside.first().map(|first| first.1) } else { first_inside(&inside, level + 1) }
        });
        candidates.min_by_key(|digest| model.iter().position(|(_, other, _)| other == digest))
    }

    proptest! {
        #[test]
        fn it_decides_as_if_it_counted_everything(
            steps in prop::collection::vec((0..3_u32, 0..3_u32, 0..3_u32, 0..4_usize, 0..40_usize), 1..60),
        ) {
            let (mut tree, mut model) = (NetworkTree::default(), Model::new());
            for (number, (wide, nearby, client, action, place)) in steps.into_iter().enumerate() {
                if action == 0 && !model.is_empty() {
                    let (.., removed) = model.remove(place % model.len());
                    tree.remove(removed);
                } else {
                    let address = IpAddr::from(std::net::Ipv4Addr::from_bits((wide << 16) | (nearby << 8) | client));
                    let digest = name(number as u64);
                    model.push((address, digest, tree.insert(address, digest)));
                }
                prop_assert_eq!(tree.first_to_go(everything()), first_to_go(&model));
                let count = |network: IpNet| model.iter().filter(|(address, ..)| network.contains(address)).count();
                for (address, ..) in &model {
                    prop_assert_eq!(tree.len_of(nearby_network(*address)), count(nearby_network(*address)));
                }
            }
            for (.., place) in model {
                tree.remove(place);
                tree.remove(place);
            }
            prop_assert!(tree.is_empty() && tree.lengths.is_empty() && tree.weights.is_empty());
        }
    }

    #[test]
    fn families_are_kept_apart() {
        let mut tree = NetworkTree::default();
        let [four, six]: [IpAddr; 2] = ["0.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
        tree.insert(four, name(1));
        assert_eq!(tree.first_of_heaviest(), None, "no network has two");
        tree.insert(six, name(2));
        tree.insert(six, name(3));
        assert_eq!(tree.first_of_heaviest(), Some(name(2)));
        assert_eq!((tree.len_of(nearby_network(four)), tree.len_of(nearby_network(six))), (1, 2));
    }
}
