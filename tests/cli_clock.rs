//! `deskpass clock repair`: recovers a service whose records have a wrong time.

use std::path::Path;
use std::process::Output;

use crate::clock::serve;
use crate::harness::{Client, FakeClock, Process, Servers, TestApp, binary, query, settings, with_settings};

fn repair(data: &Path, more: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        binary().args(["clock", "repair", "--dev", "--data"]).arg(data).args(more).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
}

async fn reason(process: &Process) -> Option<String> {
    let ready = Client::connect(&process.address).await.get("/api/ready", &[]).await.data();
    Some(ready.get("clock")?["reason"].as_str().unwrap().to_owned())
}

/// The number of timestamps that are a minute or more in the future.
fn ahead(database: &Path, column: &str, table: &str) -> String {
    let now = "(CAST(strftime('%s', 'now') AS INTEGER) + 60) * 1000";
    query(database, &format!("SELECT COUNT(*) FROM {table} WHERE {column} > {now}")).remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_from_the_future_is_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let (data, database, clock) = (directory.path(), directory.path().join("deskpass.db"), FakeClock::by("+800d"));
    // Made with a wrong clock, so that all its records are from the future.
    let process = serve(data, Some(&clock));
    let mut client = Client::connect(&process.address).await;
    let token = client.sign_in("user01").await;
    client.first_password("agent01").await;
    client.agent_login("agent01", "wrong password").await;
    process.terminate();
    let process = serve(data, None);
    assert_eq!(reason(&process).await.as_deref(), Some("behind_record"));
    let doctor = binary().args(["doctor", "--dev", "--data"]).arg(data).output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        doctor.contains("✗ recorded time: this machine is") && doctor.contains("deskpass clock repair"),
        "{doctor}"
    );
    let (code, output) = repair(data, &["--yes"]);
    assert!(code == Some(1) && output.contains("stop it"), "it does not go back while it runs: {output}");
    process.terminate();

    let (code, output) = repair(data, &[]);
    assert!(
        code == Some(0) && output.contains("newest record") && output.contains("run the command again with --yes"),
        "{output}"
    );
    let log = query(&database, "SELECT id FROM login_log ORDER BY id");
    let (code, output) = repair(data, &["--yes"]);
    assert!(code == Some(0) && output.contains("session(s) from the future ended"), "{output}");
    let (code, output) = repair(data, &[]);
    assert!(code == Some(0) && output.contains("agrees with this machine's time"), "{output}");
    let process = serve(data, None);
    assert_eq!(reason(&process).await, None);
    let mut client = Client::connect(&process.address).await;
    assert!(!client.is_valid(&token).await, "it would live for years");
    let fresh = client.sign_in("user01").await;
    assert!(client.is_valid(&fresh).await);
    for (column, table) in
        [("created_at", "session"), ("last_at", "guess"), ("at", "probe"), ("last_login_at", "employee")]
    {
        assert_eq!(ahead(&database, column, table), "0", "{table}");
    }
    process.terminate();
    let kept = query(&database, "SELECT id FROM login_log ORDER BY id");
    assert!(log.iter().all(|id| kept.contains(id)), "the log keeps its rows");
    assert_eq!(query(&database, "SELECT COUNT(*) FROM login_log WHERE event = 'clock_set'"), ["1"]);
    let verified = binary().args(["audit", "verify", "--dev", "--data"]).arg(data).output().unwrap();
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
}

/// In development mode there is no second source of time, and a month is accepted; beyond that the operator confirms it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_service_takes_the_operators_word_for_a_long_pause() {
    let (directory, clock) = (tempfile::tempdir().unwrap(), FakeClock::by("-40d"));
    let process = serve(directory.path(), Some(&clock));
    let token = Client::connect(&process.address).await.sign_in("user01").await;
    process.terminate();
    let process = serve(directory.path(), None);
    assert_eq!(reason(&process).await.as_deref(), Some("ahead_of_record"));
    let mut client = Client::connect(&process.address).await;
    assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "expired", "forty days may have passed");
    let (code, output) = repair(directory.path(), &["--yes"]);
    assert!(code == Some(0) && output.contains("the service now uses this machine's time"), "{output}");
    assert_eq!(reason(&process).await, None);
    assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "expired");
    let fresh = client.sign_in("user01").await;
    assert!(client.is_valid(&fresh).await);
    process.terminate();
    let process = serve(directory.path(), None);
    assert_eq!(reason(&process).await, None, "and it stays so");
    process.terminate();
}

/// The database's clock contradicts the machine's: the operator's confirmation does not count against it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_machine_clock_is_not_put_on_record_against_the_database() {
    let place = Servers::shared().cluster_store();
    let mut app = TestApp::at(&place, settings(&[("development.enabled", "true")])).await;
    drop(app.client().await.sign_in("user01").await);
    app.stop().await;
    let newest = place.query("SELECT at FROM probe");
    for wrong in ["+800d", "-800d"] {
        let (clock, mut command) = (FakeClock::by(wrong), binary());
        command.args(["clock", "repair", "--dev", "--yes"]);
        with_settings(&mut command, place.settings());
        clock.on(&mut command);
        let Output { status, stdout, stderr } = command.output().unwrap();
        let output = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
        assert!(
            status.code() == Some(1) && output.contains("this machine's time differs from the database's"),
            "{output}"
        );
        assert_eq!(place.query("SELECT at FROM probe"), newest, "nothing was changed");
    }
}
