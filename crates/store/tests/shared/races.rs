//! Of two nodes that request the same, one succeeds.

use deskpass_core::Digest;
use deskpass_store::Lease;

use crate::shared::server::{Server, at, patient_node};

const ROUNDS: u32 = 1_000;

fn lease(of: &[u8]) -> Lease {
    Lease { holder: Digest::of(&[of]), until: at(60_000) }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_nodes_put_change_and_take_once() {
    let server = Server::start(&[]);
    let (a, b) = (patient_node(&server.url()), patient_node(&server.url()));
    for round in 0..ROUNDS {
        let name = Digest::of(&[&round.to_be_bytes()]);
        let (first, second) =
            tokio::join!(a.leases.put(name, lease(b"a"), at(0)), b.leases.put(name, lease(b"a"), at(0)));
        assert!(first.unwrap() ^ second.unwrap(), "round {round}: put");
        let once = |by: &'static [u8]| move |now: Lease| if now == lease(b"a") { Ok(lease(by)) } else { Err("second") };
        let (first, second) =
            tokio::join!(a.leases.update(&name, at(0), once(b"b")), b.leases.update(&name, at(0), once(b"c")),);
        let changed = [first.unwrap().unwrap(), second.unwrap().unwrap()];
        assert_eq!(changed.iter().filter(|changed| changed.is_ok()).count(), 1, "round {round}: change");
        let (first, second) = tokio::join!(a.leases.take(&name, at(0)), b.leases.take(&name, at(0)));
        let taken: Vec<_> = [first.unwrap(), second.unwrap()].into_iter().flatten().collect();
        assert_eq!(taken, [*changed.iter().flatten().next().unwrap()], "round {round}: take");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_lost() {
    let server = Server::start(&[]);
    let (a, b) = (&patient_node(&server.url()), &patient_node(&server.url()));
    let name = Digest::of(&[b"counter"]);
    assert!(a.leases.put(name, lease(b""), at(0)).await.unwrap());
    let more = |lease: Lease| Ok::<_, ()>(Lease { until: at(lease.until.millis() + 1), ..lease });
    let count = async |node: &crate::shared::server::Desk| {
        for _ in 0..ROUNDS {
            node.leases.update(&name, at(0), more).await.unwrap().unwrap().unwrap();
        }
    };
    tokio::join!(count(a), count(b), count(a), count(b));
    let seen = a.leases.read_with(&name, at(0), |lease| lease.until.millis()).await.unwrap();
    assert_eq!(seen, Some(60_000 + 4 * i64::from(ROUNDS)));
}
