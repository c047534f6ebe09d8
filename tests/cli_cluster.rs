//! The command line with PostgreSQL and Redis.

use std::process::Output;
use std::time::{Duration, Instant};

use crate::harness::{Client, ClusterStore, Process, Servers, Stopwatch, binary, finished, with_settings};

/// Runs a command in development mode on a cluster store; returns its exit code and output.
fn run(place: &ClusterStore, arguments: &[&str]) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().unwrap();
    let mut command = binary();
    command.current_dir(directory.path()).args(arguments).arg("--dev");
    with_settings(&mut command, place.settings());
    let Output { status, stdout, stderr } = finished(&mut command);
    assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none(), "no file is made");
    (status.code(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

fn done(place: &ClusterStore, arguments: &[&str]) -> String {
    let (code, text) = run(place, arguments);
    assert_eq!(code, Some(0), "{arguments:?}\n{text}");
    text
}

/// Waits at most a second until a condition holds.
async fn within_a_second(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Stopwatch::start();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_secs(1), "{what}: the node did not learn of it in time");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_nodes_hear_of_admin_commands_within_a_second() {
    let place = Servers::shared().cluster_store();
    let output = done(&place, &["migrate"]);
    assert!(output.contains("is up to date (version ") && output.contains("postgres://"), "{output}");
    let nodes = [Process::node(&place, &[]), Process::node(&place, &[])];
    let mut clients = [Client::connect(&nodes[0].address).await, Client::connect(&nodes[1].address).await];
    let output = done(&place, &["employee", "add", "zhangsan", "--name", "张三", "--role", "admin"]);
    assert!(output.contains("zhangsan was added with admin"), "{output}");
    let token = clients[0].sign_in("zhangsan").await;
    for client in &mut clients {
        assert_eq!(client.verify(&token).await["current_role"], "admin");
    }
    done(&place, &["role", "grant", "zhangsan", "security"]);
    for client in &mut clients {
        within_a_second("a role", async || {
            client.verify(&token).await["roles"] == serde_json::json!(["admin", "security"])
        })
        .await;
    }
    done(&place, &["role", "revoke", "zhangsan", "admin"]);
    for client in &mut clients {
        within_a_second("a role taken away", async || !client.is_valid(&token).await).await;
    }
    clients[0].switch(&token, "security").await.data();
    assert!(done(&place, &["migrate"]).contains("is up to date"), "while nodes run");
    assert!(done(&place, &["employee", "disable", "zhangsan"]).contains("1 session(s) ended"));
    for client in &mut clients {
        within_a_second("the end", async || client.me(&token).await.reason() == "disabled").await;
    }
    assert!(done(&place, &["employee", "list"]).lines().any(|line| line.contains("张三") && line.contains("disabled")));
    let (code, text) = run(&place, &["employee", "disable", "nobody"]);
    assert!(code == Some(1) && text.contains("there is no employee nobody"), "{text}");
}

#[test]
fn an_address_of_something_else_is_refused() {
    let place = Servers::shared().cluster_store();
    let other =
        |store: &str, shared: &str| ClusterStore { store: store.into(), shared: shared.into(), ..place.clone() };
    for (place, key) in [
        (other("mysql://desk:canary@db/desk", &place.shared), "store.url"),
        (other(&place.shared, &place.shared), "store.url"),
        (other(&place.store, &place.store), "shared.url"),
        (other(&place.store, "memcached://:canary@cache"), "shared.url"),
    ] {
        let (code, text) = run(&place, &["serve", "--listen", "127.0.0.1:0"]);
        assert!(code == Some(1) && text.contains(key) && !text.contains("canary"), "{text}");
    }
}

#[test]
fn without_postgres_it_does_not_start_and_says_so_soon() {
    let servers = Servers::private();
    let place = servers.cluster_store();
    servers.stop_postgres();
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate"], &["employee", "list"]] {
        let (started, (code, text)) = (Stopwatch::start(), run(&place, arguments));
        assert!(code == Some(1) && text.contains("PostgreSQL at 127.0.0.1:"), "{text}");
        assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
    }
    servers.start_postgres();
    // PostgreSQL accepts connections and does not respond.
    servers.pause_postgres();
    let (started, (code, text)) = (Stopwatch::start(), run(&place, &["serve", "--listen", "127.0.0.1:0"]));
    assert!(code == Some(1) && text.contains("did not respond in time"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
    servers.resume_postgres();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_it_starts_and_warns_and_does_not_blame_the_store() {
    let servers = Servers::private();
    let place = servers.cluster_store();
    servers.kill_redis();
    let process = Process::node(&place, &[]);
    let mut client = Client::connect(&process.address).await;
    let token = client.sign_in("user01").await;
    assert!(client.is_valid(&token).await);
    let ready = client.get("/api/ready", &[]).await.data();
    assert_eq!((&ready["ready"], &ready["dependencies"]["store"]), (&true.into(), &"ok".into()), "{ready}");
    assert_ne!(ready["dependencies"]["shared"], "ok", "{ready}");
    let refused = client.get("/api/auth/qrcode", &[]).await;
    let message = refused.refused(503, 1005).json()["message"].to_string();
    assert!(message.contains("shared store unavailable"), "{message}");
    // Administrative commands need no Redis either.
    assert!(done(&place, &["employee", "disable", "user01"]).contains("1 session(s) ended"));
    servers.start_redis();
    let deadline = Instant::now() + Duration::from_secs(5);
    while client.get("/api/auth/qrcode", &[]).await.status != 200 {
        assert!(Instant::now() < deadline, "it does not heal");
    }
    let (code, log) = process.terminate();
    let warned = log.lines().any(|line| line.contains("WARN") && line.to_lowercase().contains("redis"));
    assert!(code == Some(0) && warned, "{log}");
}
