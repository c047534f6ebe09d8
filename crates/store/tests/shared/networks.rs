//! A flood in Redis displaces its own records, whichever networks it comes from.

use std::net::{IpAddr, Ipv6Addr};

use deskpass_core::{Digest, Timestamp};
use deskpass_store::{OAuthFlow, RedisSettings, SharedState};

use crate::shared::server::{Desk, Server, at, patient_node, settings};

/// The most flows of a node with room for 200 sign-ins, and those of one network.
const IN_ALL: usize = 100;
const SHARE: usize = 4;

pub(crate) fn flow(until: i64) -> OAuthFlow {
    OAuthFlow { destination: None, source: None, used: false, until: at(until) }
}

pub(crate) fn name(of: u64) -> Digest {
    Digest::of(&[&of.to_be_bytes()])
}

/// An address in one of many IPv6 networks.
pub(crate) fn network(number: u64) -> IpAddr {
    Ipv6Addr::from_bits((0x2001_0db8_u128 << 96) | (u128::from(number) << 80) | 1).into()
}

fn small_node(server: &Server) -> Desk {
    SharedState::redis(RedisSettings { max_sign_ins: 2 * IN_ALL, ..settings(&server.url()) }).unwrap()
}

async fn put(desk: &Desk, address: IpAddr, number: u64, now: Timestamp) {
    let until = now.millis() + 600_000;
    assert!(desk.flows.put_for(address, None, name(number), flow(until), now).await.unwrap());
}

async fn is_there(desk: &Desk, number: u64) -> bool {
    desk.flows.read_with(&name(number), at(0), |_| ()).await.unwrap().is_some()
}

/// The number of records in Redis.
fn count(server: &Server) -> usize {
    server.cli(&["--scan", "--pattern", "test:1:flow:*"]).lines().count()
}

#[tokio::test]
async fn a_network_holds_its_share() {
    let server = Server::start(&[]);
    let (a, b) = (small_node(&server), small_node(&server));
    put(&a, network(0), 1_000, at(0)).await;
    for number in 0..50 {
        let address: IpAddr = format!("2001:db8:1:{number:x}::1").parse().unwrap();
        put(if number % 2 == 0 { &a } else { &b }, address, number, at(0)).await;
    }
    assert_eq!(count(&server), SHARE + 1);
    assert!(is_there(&a, 1_000).await && is_there(&a, 49).await);
    assert!(a.flows.take_for("2001:db8:1:31::1".parse().unwrap(), &name(49), at(0)).await.unwrap().is_some());
    let oldest = 50 - SHARE as u64;
    put(&a, "2001:db8:1:fe::1".parse().unwrap(), 2_000, at(0)).await;
    assert!(is_there(&b, oldest).await, "a place had become free");
    put(&a, "2001:db8:1:ff::1".parse().unwrap(), 2_001, at(0)).await;
    assert!(!is_there(&b, oldest).await && is_there(&b, oldest + 1).await, "and was taken");
}

#[tokio::test]
async fn forty_networks_end_at_the_bound_of_all() {
    let server = Server::start(&[]);
    let desk = small_node(&server);
    put(&desk, "192.0.2.9".parse().unwrap(), 1_000_000, at(0)).await;
    for number in 0..400 {
        put(&desk, network(number % 40), number, at(0)).await;
    }
    assert_eq!(count(&server), IN_ALL);
    assert!(is_there(&desk, 1_000_000).await, "an office with one record loses nothing");
    assert!(is_there(&desk, 399).await);
}

/// Commands that add at the same time name the same record; the next one deletes what is too much.
#[tokio::test]
async fn what_is_put_at_the_same_time_stays_within_the_bounds() {
    let server = Server::start(&[]);
    let desk = small_node(&server);
    for round in 0..10 {
        let puts = (0..10).map(|number| {
            let address: IpAddr = format!("2001:db8:1:{:x}::1", round * 10 + number).parse().unwrap();
            put(&desk, address, round * 10 + number, at(0))
        });
        futures_util::future::join_all(puts).await;
    }
    put(&desk, "2001:db8:1:fff::1".parse().unwrap(), 1_000, at(0)).await;
    assert_eq!(count(&server), SHARE);
    for round in 0..30 {
        let puts =
            (0..10).map(|number| put(&desk, network(2 + round * 10 + number), 2_000 + round * 10 + number, at(0)));
        futures_util::future::join_all(puts).await;
    }
    put(&desk, network(1_000), 9_000, at(0)).await;
    assert_eq!(count(&server), IN_ALL);
}

/// Whoever has an IPv6 /32 sends each request from another /48 of it.
#[tokio::test]
async fn a_wide_network_displaces_no_office_outside_of_it() {
    let server = Server::start(&[]);
    let desk = small_node(&server);
    let office: IpAddr = "192.0.2.9".parse().unwrap();
    for number in 1_000..1_000 + SHARE as u64 {
        put(&desk, office, number, at(0)).await;
    }
    for number in 0..300 {
        put(&desk, network(number), number, at(0)).await;
    }
    assert_eq!(count(&server), IN_ALL);
    for number in 1_000..1_000 + SHARE as u64 {
        assert!(is_there(&desk, number).await, "{number}");
    }
}

/// Neighbours in a /24 are several customers of one provider.
#[tokio::test]
async fn within_a_network_the_heaviest_client_loses_its_oldest() {
    let server = Server::start(&[]);
    let desk = small_node(&server);
    put(&desk, "192.0.2.7".parse().unwrap(), 1_000, at(0)).await;
    for number in 0..20 {
        put(&desk, "192.0.2.66".parse().unwrap(), number, at(0)).await;
    }
    assert_eq!(count(&server), SHARE);
    assert!(is_there(&desk, 1_000).await && is_there(&desk, 19).await);
}

#[tokio::test]
async fn what_has_expired_is_not_counted_and_leaves_nothing_behind() {
    let server = Server::start(&[]);
    let desk = small_node(&server);
    for number in 0..SHARE as u64 {
        put(&desk, network(1), number, at(0)).await;
    }
    // Its expiry is put off, so that it counts longer than the others.
    let later = |flow: OAuthFlow| Ok::<_, ()>(OAuthFlow { until: at(1_100_000), ..flow });
    desk.flows.update(&name(0), at(500_000), later).await.unwrap().unwrap().unwrap();
    desk.flows.prolong_for(network(1), None, &name(0), at(1_100_000), at(500_000)).await.unwrap();
    for number in 100..100 + SHARE as u64 {
        put(&desk, network(1), number, at(600_000)).await;
    }
    assert!(!is_there(&desk, 0).await, "the oldest of those that count");
    for number in 100..100 + SHARE as u64 {
        assert!(is_there(&desk, number).await, "{number}");
    }
    for key in server.cli(&["--scan", "--pattern", "test:1:{flow}*"]).lines() {
        let left: i64 = server.cli(&["PTTL", key]).trim().parse().unwrap();
        assert!((0..=600_000).contains(&left), "{key} stays for {left} ms");
    }
    put(&desk, network(2), 300, at(2_000_000)).await;
    assert_eq!(server.cli(&["ZCARD", "test:1:{flow}:all"]).trim(), "1");
}

/// A record that was put anew for another network belongs to that one.
#[tokio::test]
async fn a_network_does_not_displace_what_another_one_has_put_since() {
    let server = Server::start(&[]);
    let desk = patient_node(&server.url());
    let small = small_node(&server);
    put(&small, network(1), 0, at(0)).await;
    assert!(desk.flows.take(&name(0), at(0)).await.unwrap().is_some());
    put(&small, network(2), 0, at(1_000)).await;
    for number in 1..20 {
        put(&small, network(1), number, at(1_000)).await;
    }
    assert!(is_there(&small, 0).await);
}
