//! The client library of a cluster runs a command again when the connection is lost after the server has executed it.

use std::time::Duration;

use deskpass_core::Digest;
use deskpass_store::{Lease, PostOutcome, RedisSettings, SharedState};

use crate::fault_proxy::{Fault, FaultProxy, Trigger};
use crate::shared::messages::message;
use crate::shared::networks::{flow, name, network};
use crate::shared::server::{Desk, Server, at, eventually, settings, works};

const LONG: Duration = Duration::from_secs(20);

/// A cluster of one server, behind a proxy.
struct Cluster {
    server: Server,
    proxy: FaultProxy,
    node: Desk,
}

impl Cluster {
    async fn start() -> Self {
        Self::start_with(50_000).await
    }

    async fn start_with(max_sign_ins: usize) -> Self {
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
        let at_proxy = settings(&format!("redis-cluster://{}", proxy.address()));
        let node = SharedState::redis(RedisSettings { timeout: LONG, max_sign_ins, ..at_proxy }).unwrap();
        works(&node, LONG).await;
        Self { server, proxy, node }
    }

    /// The result of an operation of one command, which has these bytes and runs twice.
    async fn twice<T>(&self, command: &str, bytes: &'static [u8], operation: impl Future<Output = T>) -> T {
        self.one_twice((command, 2), bytes, operation).await
    }

    /// The result of an operation, one command of which runs twice: the first with these bytes. So
    /// often does this command run in all.
    async fn one_twice<T>(
        &self,
        (command, times): (&str, usize),
        bytes: &'static [u8],
        operation: impl Future<Output = T>,
    ) -> T {
        self.server.cli(&["CONFIG", "RESETSTAT"]);
        let fired = self.proxy.once(Fault::CloseAfter, Trigger::Request(bytes));
        let result = operation.await;
        let ran = self.server.cli(&["INFO", "commandstats"]);
        assert_eq!(fired.count(), 1);
        assert!(ran.contains(&format!("cmdstat_{command}:calls={times},")), "this test looks at nothing: {ran}");
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

#[tokio::test]
async fn what_displaces_a_record_runs_twice_and_displaces_one() {
    let cluster = Cluster::start_with(500).await;
    let flows = &cluster.node.flows;
    // Room for ten of a network.
    for number in 0..10 {
        assert!(flows.put_for(network(1), None, name(number), flow(60_000), at(0)).await.unwrap());
    }
    // The command that names the record to be displaced, and the one that deletes it.
    let commands: [&'static [u8]; 2] = [b":all", b"'DEL'"];
    for (number, command) in (10..).zip(commands) {
        let put = flows.put_for(network(1), None, name(number), flow(60_000), at(0));
        assert!(cluster.one_twice(("eval", 4), command, put).await.unwrap());
        for (old, there) in [(number - 10, false), (number - 9, true), (number, true)] {
            let found = flows.read_with(&name(old), at(0), |_| ()).await.unwrap();
            assert_eq!(found.is_some(), there, "{old} of {number}");
        }
        assert_eq!(cluster.server.cli(&["ZCARD", "test:1:{flow}:all"]).trim(), "10");
    }
}
