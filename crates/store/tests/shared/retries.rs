//! The client library of a cluster runs a command again when the connection is lost after the server has executed it.

use std::time::Duration;

use deskpass_core::Digest;
use deskpass_store::{Lease, PostOutcome};

use crate::fault_proxy::{Fault, FaultProxy, Trigger};
use crate::shared::messages::message;
use crate::shared::server::{Desk, Server, at, eventually, patient_node, works};

const LONG: Duration = Duration::from_secs(20);

/// A cluster of one server, behind a proxy.
struct Cluster {
    server: Server,
    proxy: FaultProxy,
    node: Desk,
}

impl Cluster {
    async fn start() -> Self {
        let proxy = FaultProxy::bind().await;
        let (_, port) = proxy.address().rsplit_once(':').unwrap();
        // Clients learn the addresses of the servers from the cluster, and would go around the proxy.
        let announce = ["--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", port];
        let server = Server::start(&[&["--cluster-enabled", "yes"], &announce[..]].concat());
        proxy.lead_to(&format!("127.0.0.1:{}", server.port));
        server.cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
        eventually("the cluster is complete", LONG, || async {
            server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
        })
        .await;
        let node = patient_node(&format!("redis-cluster://{}", proxy.address()));
        works(&node, LONG).await;
        Self { server, proxy, node }
    }

    /// The result of an operation, one command of which runs twice: the first with these bytes.
    async fn twice<T>(&self, command: &str, bytes: &'static [u8], operation: impl Future<Output = T>) -> T {
        self.server.cli(&["CONFIG", "RESETSTAT"]);
        let fired = self.proxy.once(Fault::CloseAfter, Trigger::Request(bytes));
        let result = operation.await;
        let ran = self.server.cli(&["INFO", "commandstats"]);
        assert_eq!(fired.count(), 1);
        assert!(ran.contains(&format!("cmdstat_{command}:calls=2,")), "this test looks at nothing: {ran}");
        result
    }
}

fn lease(until: i64) -> Lease {
    Lease { holder: Digest::of(&[]), until: at(until) }
}

#[tokio::test]
async fn a_command_that_runs_twice_has_one_effect() {
    let cluster = Cluster::start().await;
    let (leases, name) = (&cluster.node.leases, Digest::of(&[b"a"]));
    let put = cluster.twice("set", b"test:1:lease:", leases.put(name, lease(60_000), at(0))).await;
    assert!(put.unwrap(), "the record that is there is this one");
    // A step that nobody may take twice, such as a confirmation.
    let step = |was: Lease| if was == lease(60_000) { Ok(lease(90_000)) } else { Err("it was taken") };
    let changed = cluster.twice("eval", b"EVAL", leases.update(&name, at(0), step)).await;
    assert_eq!(changed.unwrap(), Some(Ok(lease(90_000))));
    let taken = cluster.twice("eval", b"EVAL", leases.take(&name, at(0))).await;
    assert_eq!(taken.unwrap(), Some(lease(90_000)));
    assert_eq!(leases.take(&name, at(0)).await.unwrap(), None);
    assert!(leases.put(name, lease(60_000), at(0)).await.unwrap(), "what was taken can be put back");
}

#[tokio::test]
async fn a_post_that_runs_twice_stores_its_messages_once() {
    let cluster = Cluster::start().await;
    let log = &cluster.node.messages;
    // The piece of a stream would not follow itself.
    let messages = vec![message("plain", None), message("stream", Some(0))];
    let posted = cluster.twice("eval", b"EVAL", log.post(messages, at(0))).await.unwrap().unwrap();
    let [PostOutcome::AllNodes(first, _), PostOutcome::AllNodes(second, _)] = posted[..] else { panic!("{posted:?}") };
    assert_eq!(cluster.server.cli(&["XLEN", "test:1:{mail}"]).trim(), "2");
    let arrived = log.feed().unwrap().next().await;
    assert_eq!(arrived.messages.iter().map(|(message, _)| message.id).collect::<Vec<_>>(), [first, second]);
    assert_eq!(log.ingest(log.filter_fresh(arrived, at(0)), at(0)).len(), 2);
    assert_eq!(log.dropped(), 0);
    // Another post is another one, also of the same text.
    log.post(vec![message("plain", None)], at(0)).await.unwrap().unwrap();
    assert_eq!(cluster.server.cli(&["XLEN", "test:1:{mail}"]).trim(), "3");
}
