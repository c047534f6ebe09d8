//! The server itself: timeouts, limits, shutdown.

use std::process::{Command, Stdio};
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use serde_json::json;

use crate::bodies::resident;
use crate::harness::{
    Client, PASSWORD, PRODUCTION, Platform, Process, TestApp, binary, finished, request, settings, with_settings,
};

const DEV: (&str, &str) = ("development.enabled", "true");

#[tokio::test]
async fn a_head_that_does_not_end_is_not_waited_for() {
    let app = TestApp::with(settings(&[DEV, ("server.header_timeout", "200ms")])).await;
    let mut slow = app.client().await;
    let answer = slow.try_send(b"GET /api/ready HTTP/1.1\r\nhost: localhost\r\nx-slow: ").await;
    assert!(answer.is_none_or(|answer| answer.status == 408));
    assert!(slow.read().await.is_none(), "the connection is closed");
    app.client().await.get("/api/ready", &[]).await.data();
}

#[tokio::test]
async fn a_connection_may_be_idle_longer_than_a_head_may_take() {
    let app = TestApp::with(settings(&[DEV, ("server.header_timeout", "200ms"), ("server.idle_timeout", "1h")])).await;
    let mut idle = app.client().await;
    idle.get("/healthz", &[]).await;
    // A slow head is this test's clock: once it has timed out, the idle connection has waited as long.
    assert!(app.client().await.try_send(b"GET /api/ready HTTP/1.1\r\n").await.is_none());
    assert_eq!(idle.get("/healthz", &[]).await.status, 200);
    // The second head on a connection has the same timeout as the first.
    assert!(idle.try_send(b"GET /api/ready HTTP/1.1\r\n").await.is_none());
}

#[tokio::test]
async fn an_idle_connection_ends_in_the_end() {
    let app = TestApp::with(settings(&[DEV, ("server.header_timeout", "1h"), ("server.idle_timeout", "200ms")])).await;
    let mut idle = app.client().await;
    idle.get("/healthz", &[]).await;
    assert!(idle.read().await.is_none());
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let app = TestApp::with(settings(&[DEV, ("server.body_timeout", "200ms")])).await;
    let head = b"POST /api/auth/verify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{\"token";
    let answer = app.client().await.send(head).await;
    assert!(answer.refused(400, 1002).json()["message"].as_str().unwrap().contains("in time"));
}

#[tokio::test]
async fn a_client_that_takes_no_answers_is_not_kept() {
    let app = TestApp::with(settings(&[DEV, ("server.idle_timeout", "300ms"), ("server.max_connections", "1")])).await;
    let mut greedy = app.client().await;
    // Sends requests and reads nothing, until the buffers for responses are full.
    let ask = request("GET", "/api/dev/users", &[], b"").repeat(64);
    while greedy.push(&ask).await {}
    // The only connection slot is free again.
    assert_eq!(app.client().await.get("/healthz", &[]).await.status, 200);
}

/// Answers without a body, to requests whose bodies nobody reads, are appended to what the client has not taken.
#[tokio::test]
async fn answers_that_a_client_does_not_take_do_not_pile_up() {
    let data = tempfile::tempdir().unwrap();
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data.path()).stderr(Stdio::null());
    with_settings(&mut command, [("server.idle_timeout", "5s")]);
    let process = Process::spawn(command);
    let mut client = Client::connect(&process.address).await;
    let page = client.get("/", &[]).await.body;
    let picture = page.split('"').find(|word| word.ends_with("/mark.svg")).unwrap();
    let etag = client.get(picture, &[]).await.header("etag").unwrap().to_owned();
    let before = resident(process.id());
    let ask = request("GET", picture, &[("if-none-match", &etag), ("expect", "100-continue")], b"x").repeat(64);
    let mut greedy = Client::connect(&process.address).await;
    while greedy.push(&ask).await {}
    let grown = resident(process.id()).saturating_sub(before);
    assert!(grown <= 16 << 20, "{} MiB more", grown >> 20);
}

#[tokio::test]
async fn a_body_in_pieces_is_put_together() {
    let app = TestApp::start().await;
    let head = b"POST /api/dev/login HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks: &[u8] = b"9\r\n{\"employe\r\n13\r\ne_id\":\"user01\"    }\r\n0\r\n\r\n";
    let answer = app.client().await.send(&[head, chunks].concat()).await;
    assert_eq!(answer.data()["employee_id"], "user01");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let app = TestApp::start().await;
    let names: Vec<_> = (0..80).map(|at| format!("x-{at}")).collect();
    let headers: Vec<_> = names.iter().map(|name| (name.as_str(), "x")).collect();
    assert_eq!(app.client().await.get("/api/ready", &headers).await.status, 431);
    let large = "x".repeat(20_000);
    assert_eq!(app.client().await.get("/api/ready", &[("x-large", &large)]).await.status, 431);
}

#[tokio::test]
async fn one_address_has_so_many_connections_and_no_more() {
    let limits = [DEV, ("server.max_connections_per_address", "3"), ("trusted_proxies", "10.0.0.0/8")];
    let app = TestApp::with(settings(&limits)).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut client = app.client().await;
        client.get("/healthz", &[]).await;
        held.push(client);
    }
    let ask = request("GET", "/healthz", &[], b"");
    assert!(app.client().await.try_send(&ask).await.is_none(), "the fourth is rejected");
    held.pop();
    // The slot is free when the server has seen the end of the connection.
    while app.client().await.try_send(&ask).await.is_none() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_desk_that_stops_says_so_first_and_finishes_what_it_began() {
    let mut app = TestApp::with(settings(&[DEV, ("server.settle", "1s")])).await;
    let (mut watcher, mut slow) = (app.client().await, app.client().await);
    watcher.get("/api/ready", &[]).await.data();
    let body = json!({ "employee_id": "user01" }).to_string();
    let ask = request("POST", "/api/dev/login", &[("content-type", "application/json")], body.as_bytes());
    let (now, later) = ask.split_at(ask.len() - 5);
    // The response to a first request shows that the connection is being served.
    slow.get("/healthz", &[]).await;
    slow.start(now).await;
    app.ask_to_stop();
    let draining = loop {
        let answer = watcher.get("/api/ready", &[]).await;
        if answer.status != 200 {
            break answer;
        }
        assert_eq!(answer.header("connection"), None);
    };
    assert_eq!(draining.refused(503, 1005).json()["data"]["draining"], true);
    assert_eq!(draining.header("connection"), Some("close"), "balancers learn of it with an answer");
    app.client().await.get("/api/version", &[]).await.data();
    slow.send(later).await.data();
    app.stop().await;
    assert!(tokio::net::TcpStream::connect(&app.address).await.is_err(), "the service no longer listens");
}

#[test]
fn sigterm_ends_the_program_in_peace() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(directory.path(), &[]);
    let (code, log) = process.terminate();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("no longer ready") && log.contains("stopped"), "{log}");
}

#[tokio::test]
async fn idle_connections_do_not_hold_up_the_end() {
    let mut app = TestApp::start().await;
    let mut idle: Vec<Client> = Vec::new();
    for _ in 0..5 {
        let mut client = app.client().await;
        client.get("/healthz", &[]).await;
        idle.push(client);
    }
    tokio::time::timeout(Duration::from_secs(5), app.stop()).await.unwrap();
}

#[test]
fn weak_settings_are_reported_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let warned = |fallback| {
        let mut command = binary();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
        with_settings(&mut command, PRODUCTION.into_iter().chain([("server.settle", "0s")]));
        with_settings(&mut command, [("agents.password_fallback", fallback)]);
        let (code, log) = Process::spawn(command).terminate();
        assert_eq!(code, Some(0), "{log}");
        log.contains("agents.password_fallback is always")
    };
    assert!(warned("always") && !warned("outage"));
}

#[tokio::test]
async fn a_key_that_was_changed_is_reported_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let serve = |key: Option<&str>| {
        let mut command = binary();
        command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
        with_settings(&mut command, key.map(|key| ("encryption_key", key)));
        Process::spawn(command)
    };
    let warned = |process: Process| process.terminate().1.contains("encryption_key is not the key");
    let other = Some(PRODUCTION[3].1);
    assert!(!warned(serve(None)));
    assert!(warned(serve(other)), "the log depends on it");
    let process = serve(None);
    Client::connect(&process.address).await.first_password("agent01").await;
    assert!(!warned(process));
    assert!(warned(serve(other)));
    assert!(!warned(serve(None)), "it is back");
}

/// Data written with another key could not be verified; the error says what to do.
#[tokio::test]
async fn production_does_not_start_with_another_key_than_before() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], key: &str| {
        let mut command = binary();
        command.args(arguments).arg("--data").arg(directory.path());
        with_settings(&mut command, PRODUCTION.into_iter().chain([("server.settle", "0s"), ("encryption_key", key)]));
        command
    };
    let (ours, other) = (PRODUCTION[3].1, "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=");
    let serve = |key| run(&["serve", "--listen", "127.0.0.1:0"], key);
    assert_eq!(Process::spawn(serve(ours)).terminate().0, Some(0));
    let refused = finished(&mut serve(other));
    let output = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && output.contains("encryption_key is not the key that the data in "),
        "{output}"
    );
    assert!(output.contains("deskpass audit restart --key-is-lost"), "{output}");
    for arguments in [&["migrate"][..], &["employee", "add", "lisi"], &["clock", "repair", "--yes"]] {
        let refused = run(arguments, other).output().unwrap();
        let output = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && output.contains("encryption_key is not the key"),
            "{arguments:?}: {output}"
        );
    }
    assert_eq!(Process::spawn(serve(ours)).terminate().0, Some(0), "nothing happened to the data");
    // A write to the database can damage the key check, and the log still verifies the key.
    for arguments in [
        &["employee", "add", "zhangsan", "--role", "agent"][..],
        &["agent", "add", "zhangsan"],
        &["agent", "reset-password", "zhangsan"],
    ] {
        assert!(run(arguments, ours).output().unwrap().status.success(), "{arguments:?}");
    }
    let database = rusqlite::Connection::open(directory.path().join("deskpass.db")).unwrap();
    database.execute("UPDATE desk SET key_check = 'x'", []).unwrap();
    drop(database);
    let (code, log) = Process::spawn(serve(ours)).terminate();
    assert!(code == Some(0) && log.contains("the key check in the database was changed"), "{log}");
    let (code, log) = Process::spawn(serve(ours)).terminate();
    assert!(code == Some(0) && !log.contains("key check"), "{log}");
    // The key is lost.
    let doctor = String::from_utf8_lossy(&run(&["doctor"], other).output().unwrap().stdout).into_owned();
    assert!(doctor.contains("✗ encryption key: encryption_key is not the key"), "{doctor}");
    let restarted = run(&["audit", "restart", "--key-is-lost"], other).output().unwrap();
    assert!(restarted.status.success(), "{restarted:?}");
    assert_eq!(Process::spawn(serve(other)).terminate().0, Some(0));
    assert!(run(&["audit", "verify"], other).output().unwrap().status.success());
    assert!(!finished(&mut serve(ours)).status.success());
}

/// The service's own clock never goes back, so that nothing expired becomes valid again. Authenticators use real time.
#[tokio::test]
async fn one_time_passwords_go_by_the_machines_time() {
    let directory = tempfile::tempdir().unwrap();
    Process::serve(directory.path(), &[]).kill();
    let machine = Clock::steady(Timestamp::from_millis(0));
    let ahead = machine.now() + Duration::from_mins(10);
    let database = rusqlite::Connection::open(directory.path().join("deskpass.db")).unwrap();
    database.execute("UPDATE probe SET at = ?1", [ahead.millis()]).unwrap();
    drop(database);
    let process = Process::serve(directory.path(), &[]);
    let mut client = Client::connect(&process.address).await;
    let token = client.sign_in("agent01").await;
    client.bind_device(&token, &machine).await;
    process.kill();
}

/// Clients that hold all connections block calls to the platform, which is no outage of the platform.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shortage_of_our_own_is_no_outage() {
    let (directory, platform) = (tempfile::tempdir().unwrap(), Platform::start("desk.example.com").await);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 80; exec \"$0\" \"$@\""]).arg(binary().get_program());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let pairs = platform.pairs();
    with_settings(&mut command, pairs.iter().map(|(key, value)| (*key, &**value)));
    with_settings(&mut command, [("limits.enabled", "false")]);
    let process = Process::spawn(command);
    let mut crowd = Vec::new();
    // More clients than files; those that wait longest are closed, so that the service keeps enough files for itself.
    for _ in 0..200 {
        let mut client = Client::connect(&process.address).await;
        client.start(b"GET /healthz HTTP/1.1\r\n").await;
        crowd.push(client);
    }
    let health = async { Client::connect(&process.address).await.get("/healthz", &[]).await.status };
    assert_eq!(tokio::time::timeout(Duration::from_secs(1), health).await, Ok(200));
    let refused = Client::connect(&process.address).await.agent_login("agent01", PASSWORD).await;
    assert_eq!(refused.refused(403, 1003).reason(), "platform_works");
    drop(crowd);
    process.kill();
}
