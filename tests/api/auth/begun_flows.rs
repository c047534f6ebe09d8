//! Begun sign-ins that a browser begins again.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use crate::harness::{TestApp, development};

/// How many begun sign-ins of one network are kept.
const SHARE: u128 = 1_000;

on_every_store! {
    /// Each time, its end is put off. Otherwise whoever does so in time keeps any number of them.
    async fn one_that_is_begun_again_counts_for_its_network() {
        let app = TestApp::with(development(&[("limits.enabled", "false")])).await;
        let network: Ipv6Addr = "2001:db8:77::1".parse().unwrap();
        let begin = async |own, subnet: u128| {
            let address = IpAddr::from(Ipv6Addr::from_bits(network.to_bits() + (subnet << 64)));
            app.auth().begin_flow(None, None, own, address).await.unwrap().0
        };
        let first = begin(None, 0).await;
        let name = first.digest();
        app.clock.advance(Duration::from_mins(9));
        let again = begin(Some(first), 0).await;
        assert_eq!(again.digest(), name);
        app.clock.advance(Duration::from_mins(9));
        let is_kept = async || app.auth().shared.flows.read_with(&name, app.clock.now(), |_| ()).await.unwrap().is_some();
        for subnet in 1..SHARE {
            begin(None, subnet).await;
        }
        assert!(is_kept().await);
        begin(None, SHARE).await;
        assert!(!is_kept().await);
    }
}
