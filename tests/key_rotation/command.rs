//! `deskpass key` beside a running service, and what a wrong key is answered with at the start.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_core::key_id;
use serde_json::{Value, json};

use super::{NEW, OLD, key_list};
use crate::harness::{Client, PASSWORD, PRODUCTION, Process, binary, finished, with_settings};

/// A command on data in production mode, with these keys.
fn command(directory: &tempfile::TempDir, arguments: &[&str], keys: &str) -> Command {
    let mut command = binary();
    command.args(arguments).arg("--data").arg(directory.path());
    let more = [("server.settle", "0s"), ("agents.password_fallback", "always"), ("encryption_key", keys)];
    with_settings(&mut command, PRODUCTION.into_iter().chain(more));
    command
}

/// Runs a command; returns whether it succeeded, and what it printed.
fn run(directory: &tempfile::TempDir, arguments: &[&str], keys: &str) -> (bool, String) {
    let output = finished(&mut command(directory, arguments, keys));
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

#[track_caller]
fn done(directory: &tempfile::TempDir, arguments: &[&str], keys: &str) -> String {
    let (success, text) = run(directory, arguments, keys);
    assert!(success, "{arguments:?}\n{text}");
    text
}

/// Fails with one line that has these words.
#[track_caller]
fn failed(directory: &tempfile::TempDir, arguments: &[&str], keys: &str, words: &str) {
    let (success, text) = run(directory, arguments, keys);
    let told = text.lines().filter(|line| line.starts_with("deskpass: ")).count();
    assert!(!success && told == 1 && text.contains(words), "{arguments:?}\n{text}");
}

fn serve(directory: &tempfile::TempDir, keys: &str) -> Process {
    Process::spawn(command(directory, &["serve", "--listen", "127.0.0.1:0"], keys))
}

/// Ends what the old key is still good for.
fn forget_the_old_key(directory: &tempfile::TempDir, new: &str, receipt: &str) {
    let id = key_id(&OLD);
    assert!(done(directory, &["key", "rotate"], new).contains("the data uses it already: nothing to rotate"));
    failed(directory, &["key", "forget", "x", "--yes"], new, "no key with this name was replaced");
    let text = done(directory, &["key", "forget", &id], new);
    assert!(text.contains("0 password(s) and 0 authenticator(s)") && text.contains("nothing was changed"), "{text}");
    assert!(done(directory, &["key", "forget", &id, "--yes"], new).contains("the key was forgotten"));
    assert!(done(directory, &["key", "status"], new).contains("forgotten: it only verifies the audit log"));
    let text = done(directory, &["audit", "verify", "--receipt", receipt], new);
    assert!(text.contains("the audit log is intact") && text.contains(&format!("key: {}\n", key_id(&NEW))), "{text}");
}

#[tokio::test]
async fn the_key_of_a_running_service_is_replaced_step_by_step() {
    let directory = tempfile::tempdir().unwrap();
    let (old, new, other) = (key_list(&[OLD]), key_list(&[NEW]), key_list(&[[3; 32]]));
    let (second, first) = (key_list(&[OLD, NEW]), key_list(&[NEW, OLD]));
    let process = serve(&directory, &old);
    for arguments in
        [&["employee", "add", "zhangsan", "--role", "agent"][..], &["agent", "add", "zhangsan"], &["key", "status"]]
    {
        done(&directory, arguments, &old);
    }
    let code = done(&directory, &["agent", "reset-password", "zhangsan"], &old);
    let code = code.lines().find_map(|line| line.trim().strip_prefix("setup code: ")).unwrap().to_owned();
    let body = json!({ "employee_id": "zhangsan", "setup_code": code, "new_password": PASSWORD });
    let mut client = Client::connect(&process.address).await;
    client.post("/api/agents/password/setup", &[], &body).await.data();
    let receipt = done(&directory, &["audit", "verify"], &old);
    let receipt = receipt.lines().find_map(|line| line.strip_prefix("receipt: ")).unwrap().to_owned();
    // The settings have the new key, and the service was not restarted.
    failed(&directory, &["key", "rotate"], &first, "restart it, then run this again");
    assert_eq!(process.terminate().0, Some(0));

    // A new key alone is refused, wherever data would be written with it.
    failed(
        &directory,
        &["serve", "--listen", "127.0.0.1:0"],
        &new,
        "list the new key and that key, and run `deskpass key rotate`",
    );
    failed(&directory, &["key", "rotate"], &new, "encryption_key is not the key that the data in ");
    let (code, log) = serve(&directory, &second).terminate();
    assert!(code == Some(0) && !log.contains("encryption_key lists"), "{log}");
    let process = serve(&directory, &first);
    let status: Value = serde_json::from_str(&done(&directory, &["key", "status", "--json"], &first)).unwrap();
    assert!(status["passwords_left"] == 1 && status["configured"].as_array().unwrap().len() == 2, "{status}");
    let text = done(&directory, &["key", "rotate"], &first);
    assert!(
        text.contains("the audit log continues with the new key")
            && text.contains("1 password(s) move at their next use"),
        "{text}"
    );
    assert!(text.contains("the old key can now be removed from encryption_key"), "{text}");
    let mut client = Client::connect(&process.address).await;
    client.partial_sign_in("zhangsan").await;
    let again: Value = serde_json::from_str(&done(&directory, &["key", "rotate", "--json"], &first)).unwrap();
    assert!(again["switched"] == false && again["passwords_left"] == 0, "{again}");
    let (code, log) = process.terminate();
    assert!(code == Some(0) && log.contains("the data still uses an older one: run `deskpass key rotate`"), "{log}");

    // The old key is removed.
    let process = serve(&directory, &new);
    Client::connect(&process.address).await.partial_sign_in("zhangsan").await;
    assert!(done(&directory, &["audit", "verify", "--receipt", &receipt], &new).contains("the audit log is intact"));
    assert!(done(&directory, &["key", "status"], &new).contains("nothing to do"));
    forget_the_old_key(&directory, &new, &receipt);
    assert_eq!(process.terminate().0, Some(0));
    failed(&directory, &["serve", "--listen", "127.0.0.1:0"], &old, "an older one that `deskpass key rotate` replaced");
    failed(
        &directory,
        &["serve", "--listen", "127.0.0.1:0"],
        &other,
        "encryption_key is not the key that the data in ",
    );
    failed(&directory, &["key", "rotate"], &second, "list the newest key first");
    let (code, log) = serve(&directory, &second).terminate();
    assert!(code == Some(0) && log.contains("encryption_key lists first a key that was replaced"), "{log}");
}

#[test]
fn keys_that_cannot_be_a_list_are_reported_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let old = STANDARD.encode(OLD);
    for (keys, words) in [
        (format!("{old},{old}"), "it has the same key twice"),
        (format!("{old},"), "it is empty"),
        (format!("{old},AAAA"), "it holds 3 bytes instead of 32"),
    ] {
        failed(&directory, &["serve", "--listen", "127.0.0.1:0"], &keys, words);
    }
}
