//! Ten nodes on one PostgreSQL and one Redis: a logout counts on all of them within a second, and they hold no more connections than
//! docs/operations.md says.

use std::time::Duration;

use tokio::task::JoinSet;

use crate::harness::{ClusterStore, Servers, Stopwatch, StoreBackend, TestApp, development};

const NODES: usize = 10;

/// The people who sign in, and the number of sign-ins on each node at the same time: more than it has connections.
const PEOPLE: [&str; 5] = ["user01", "agent01", "admin01", "supervisor01", "security01"];
const SIGN_INS: usize = 15;

/// Ten nodes of one cluster.
async fn ten_nodes(servers: &Servers) -> Vec<TestApp> {
    // No server is broken here, but on a busy machine it is slow.
    let place = ClusterStore { timeouts: ["10s", "10s"], ..servers.cluster_store() };
    let mut nodes = vec![TestApp::at(&place, development(&[])).await];
    while nodes.len() < NODES {
        let next = nodes[0].second_node().await;
        nodes.push(next);
    }
    nodes
}

on_nodes! {
    async fn a_logout_on_one_of_ten_counts_on_all_and_their_connections_are_as_documented() {
        // Their own servers: they hold more connections than other tests could spare.
        let servers = Servers::private();
        let nodes = ten_nodes(&servers).await;
        let mut clients = Vec::new();
        for node in &nodes {
            clients.push(node.client().await);
        }
        for here in 0..NODES {
            let token = clients[here].sign_in("user01").await;
            // Every node has the session in its cache.
            for client in &mut clients {
                assert!(client.is_valid(&token).await);
            }
            clients[here].logout(&token).await.data();
            let ended = Stopwatch::start();
            assert!(!clients[here].is_valid(&token).await, "still valid where it was ended");
            for (there, client) in clients.iter_mut().enumerate() {
                loop {
                    // The node decides after this moment, so the second is measured until here.
                    let asked = ended.elapsed();
                    if !client.is_valid(&token).await {
                        break;
                    }
                    assert!(asked < Duration::from_secs(1), "ended on node {here}, and still valid on node {there}");
                }
            }
        }
        let mut busy = JoinSet::new();
        for node in &nodes {
            for who in PEOPLE.into_iter().cycle().take(SIGN_INS) {
                let mut client = node.client().await;
                busy.spawn(async move { client.sign_in(who).await });
            }
        }
        assert_eq!(busy.join_all().await.len(), NODES * SIGN_INS);
        let open = nodes[0].query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'deskpass'");
        let (open, most) = (open[0].parse::<usize>().unwrap(), NODES * (development(&[]).store.connections + 1));
        assert!((NODES + 1..=most).contains(&open), "{open} connections instead of at most {most}");
    }
}
