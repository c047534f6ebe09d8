//! Redis behind Sentinels, as a cluster, and encrypted.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use deskpass_core::Digest;
use deskpass_store::{Lease, RedisSettings, SharedState};
use tokio::time::timeout;

use crate::fault_proxy::FaultProxy;
use crate::shared::server::{Desk, Server, at, eventually, free_port, node, settings, works};
use crate::shared::{messages, networks};

const LONG: Duration = Duration::from_secs(20);

fn lease() -> Lease {
    Lease { holder: Digest::of(&[]), until: at(600_000) }
}

/// Asserts that records are kept and changes are announced.
async fn is_used(a: &Desk, b: &Desk, round: u8) {
    for record in 0..20_u8 {
        let name = Digest::of(&[&[round, record]]);
        assert!(a.leases.put(name, lease(), at(0)).await.unwrap());
        assert!(!b.leases.put(name, lease(), at(0)).await.unwrap());
        // The first change may precede the subscription; a spurious notification only causes another read.
        eventually("a change is received", LONG, || async {
            let next = b.leases.watch(&name, at(0)).await.unwrap().unwrap().next();
            a.leases.update(&name, at(0), Ok::<_, ()>).await.unwrap();
            timeout(Duration::from_millis(500), next).await.is_ok()
        })
        .await;
        assert_eq!(b.leases.take(&name, at(0)).await.unwrap(), Some(lease()));
        // The index of the networks is on one server of a cluster, and the records are on all of
        // them.
        let number = u64::from(round) << 8 | u64::from(record);
        let address = networks::network(number);
        let begun = networks::flow(600_000);
        assert!(a.flows.put_for(address, None, networks::name(number), begun, at(0)).await.unwrap());
        assert!(b.flows.take_for(address, &networks::name(number), at(0)).await.unwrap().is_some());
    }
    messages::passes(a, b, &format!("round{round}.")).await;
}

#[tokio::test]
async fn sentinels_are_followed_to_the_new_master() {
    let mut master = Server::start(&[]);
    let port = master.port.to_string();
    let replica = Server::start(&["--replicaof", "127.0.0.1", &port, "--repl-diskless-sync-delay", "0"]);
    let directory = tempfile::tempdir().unwrap();
    let watch = format!(
        "sentinel monitor main 127.0.0.1 {port} 1\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 2000\n"
    );
    let file = directory.path().join("sentinel.conf");
    std::fs::write(&file, watch).unwrap();
    let sentinel_port = free_port();
    let _sentinel = Sentinel::start(&file, sentinel_port);
    // Two of three name the master, and one is down. How Sentinels agree is not tested here: it is one at two addresses.
    let proxy = FaultProxy::to(&format!("127.0.0.1:{sentinel_port}")).await;
    let url = format!("redis-sentinel://127.0.0.1:1,127.0.0.1:{sentinel_port},{}/main", proxy.address());
    let (a, b) = (node(&url), node(&url));
    works(&a, LONG).await;
    works(&b, LONG).await;
    is_used(&a, &b, 0).await;
    eventually("the replica is known", LONG, || async {
        master.cli(&["INFO", "replication"]).contains("state=online")
    })
    .await;
    eventually("the Sentinel knows it", LONG, || async {
        let mut ask = Command::new("redis-cli");
        let ask = ask.args(["-p", &sentinel_port.to_string(), "sentinel", "replicas", "main"]);
        let known = ask.output().unwrap();
        String::from_utf8_lossy(&known.stdout).contains(&replica.port.to_string())
    })
    .await;
    master.kill();
    eventually("another server is master", LONG, || async { a.probe().await.is_ok() && b.probe().await.is_ok() }).await;
    is_used(&a, &b, 1).await;
    assert!(replica.cli(&["ROLE"]).starts_with("master"));
}

#[tokio::test]
async fn one_of_three_sentinels_does_not_name_the_master() {
    let master = Server::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sentinel.conf");
    std::fs::write(&file, format!("sentinel monitor main 127.0.0.1 {} 1\n", master.port)).unwrap();
    let port = free_port();
    let _sentinel = Sentinel::start(&file, port);
    works(&node(&format!("redis-sentinel://127.0.0.1:{port}/main")), LONG).await;
    let second = FaultProxy::to(&format!("127.0.0.1:{port}")).await;
    second.refuse();
    let node = node(&format!("redis-sentinel://127.0.0.1:1,127.0.0.1:{port},{}/main", second.address()));
    let error = node.probe().await.unwrap_err();
    assert!(error.to_string().contains("majority of the Sentinels"), "{error}");
    second.mend();
    works(&node, LONG).await;
}

/// A Sentinel that stops when this value is dropped.
struct Sentinel(std::process::Child);

impl Sentinel {
    fn start(file: &Path, port: u16) -> Self {
        let mut command = Command::new("redis-server");
        command.arg(file).args(["--sentinel", "--bind", "127.0.0.1", "--port", &port.to_string()]);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_cluster_is_one_store() {
    let arguments =
        ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no"];
    let mut servers = [Server::start(&arguments), Server::start(&arguments), Server::start(&arguments)];
    let nodes = servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect::<Vec<_>>();
    let mut create = Command::new("redis-cli");
    create.args(["--cluster", "create"]).args(&nodes).args(["--cluster-replicas", "0", "--cluster-yes"]);
    assert!(create.stdout(Stdio::null()).status().unwrap().success());
    for server in &servers {
        eventually("the cluster is complete", LONG, || async {
            server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
        })
        .await;
    }
    let url = format!("redis-cluster://{}", nodes.join(","));
    let (a, b) = (node(&url), node(&url));
    works(&a, LONG).await;
    works(&b, LONG).await;
    is_used(&a, &b, 0).await;
    // Without one of three, most of the records are still there.
    let [first, ..] = &mut servers;
    first.kill();
    eventually("the others go on", LONG, || async {
        let mut kept = 0;
        for record in 0..9_u8 {
            let name = Digest::of(&[&[7, record]]);
            let there = a.leases.put(name, lease(), at(0)).await;
            kept += usize::from(there.is_ok());
        }
        kept >= 3
    })
    .await;
}

#[tokio::test]
async fn an_encrypted_connection_trusts_the_configured_authority() {
    let directory = tempfile::tempdir().unwrap();
    let at_path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (key, certificate) = (at_path("key.pem"), at_path("certificate.pem"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]);
    openssl.args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]);
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", &key, "-out", &certificate]);
    assert!(openssl.stderr(Stdio::null()).status().unwrap().success());
    let server = Server::start(&[
        "--port",
        "0",
        "--tls-port",
        "{port}",
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &certificate,
        "--tls-auth-clients",
        "no",
    ]);
    let url = format!("rediss://127.0.0.1:{}", server.port);
    let trusting = || -> Desk {
        SharedState::redis(RedisSettings { ca_file: Some(certificate.clone().into()), ..settings(&url) }).unwrap()
    };
    let (a, b) = (trusting(), trusting());
    works(&a, LONG).await;
    is_used(&a, &b, 0).await;
    let stranger = node(&url);
    let error = stranger.probe().await.unwrap_err();
    assert!(error.to_string().contains("ertificate"), "{error}");
    let missing = SharedState::<u32>::redis(RedisSettings { ca_file: Some(at_path("none").into()), ..settings(&url) });
    assert!(missing.unwrap_err().to_string().contains("none"));
}
