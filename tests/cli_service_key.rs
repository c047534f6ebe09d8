//! `deskpass service-key`: the credentials of other services.

use std::time::{Duration, Instant};

use crate::harness::{Client, Operator, Process, Servers};

/// The key in the output of `deskpass service-key create`, and its id.
fn made(output: &str) -> (String, String) {
    let key = output.lines().find_map(|line| line.trim().strip_prefix("service key: ")).expect("a key").to_owned();
    assert!(key.starts_with("dpk_") && key.len() == 53 && output.matches(&key).count() == 1, "{output}");
    let id = output.split_once("service-key revoke ").expect("how to revoke it").1[..32].to_owned();
    (key, id)
}

fn rows(output: &str) -> Vec<Vec<String>> {
    let cells =
        |line: &str| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect();
    output.lines().map(cells).collect()
}

/// Runs every command, on either store.
fn a_keys_life(operator: Operator<'_>) {
    let output = operator.succeed(&["service-key", "list"]);
    assert!(output.starts_with("no service keys; to create one: deskpass service-key create NAME --scope"), "{output}");
    let output =
        operator.succeed(&["service-key", "create", "工单系统", "--scope", "messages", "--scope", "introspect"]);
    assert!(
        output.starts_with("service key: dpk_")
            && output.contains("It is for 工单系统, with the scopes: introspect messages."),
        "{output}"
    );
    let (key, id) = made(&output);
    let (other, _) =
        made(&operator.succeed(&["service-key", "create", "billing", "--scope", "introspect", "--days", "1"]));
    let listed = operator.succeed(&["service-key", "list"]);
    assert!(!listed.contains(&key[4..]) && !listed.contains(&other[4..]), "{listed}");
    let table = rows(&listed);
    assert_eq!(table[0], ["ID", "NAME", "SCOPES", "STATE", "CREATED", "BY", "EXPIRES"]);
    let row = table.iter().find(|row| row[0] == id).expect("it is listed");
    assert_eq!(row[1..4], ["工单系统", "introspect messages", "active"]);
    assert_eq!(row[5], "an operator");
    // Chinese names do not shift the columns of their row.
    let columns = |line: &str| line.chars().map(|c| if c < '\u{1100}' { 1 } else { 2 }).collect::<Vec<u32>>();
    let at = |line: &str, word: &str| columns(&line[..line.find(word).unwrap()]).iter().sum::<u32>();
    let starts: Vec<_> = listed.lines().skip(1).map(|line| at(line, "active")).collect();
    assert_eq!(starts[0], starts[1], "{listed}");

    assert!(operator.succeed(&["service-key", "revoke", &id]).contains("is revoked"));
    assert!(operator.succeed(&["service-key", "revoke", &id]).contains("was already revoked"));
    let table = rows(&operator.succeed(&["service-key", "list"]));
    assert_eq!(table.iter().find(|row| row[0] == id).unwrap()[3], "revoked");
    operator.sql("UPDATE service_key SET expires_at = 1 WHERE name = 'billing'");
}

fn mistakes(operator: Operator<'_>) {
    let before = operator.succeed(&["service-key", "list"]);
    let unknown_key = format!("dpk_{}", "A".repeat(49));
    for (arguments, words) in [
        (&["create", "x"][..], "--scope"),
        (&["create", "x", "--scope", "admin"], "unknown scope admin; known: introspect, messages"),
        (&["create", "", "--scope", "introspect"], "NAME must be 1 to 64 visible characters"),
        (&["create", "a\u{1b}[2Jb", "--scope", "introspect"], "NAME must be 1 to 64 visible characters"),
        (&["create", "x", "--scope", "introspect", "--days", "0"], "0 is not in 1..=3650"),
        (&["create", "x", "--scope", "introspect", "--days", "3651"], "3651 is not in 1..=3650"),
        (&["revoke", "x"], "there is no service key with this ID; see `deskpass service-key list`"),
        (&["revoke", &unknown_key], "never put the key itself on a command line"),
        (&["revoke"], "ID"),
    ] {
        let text = operator.fail(&[&["service-key"], arguments].concat(), words);
        assert!(!text.contains("dpk_A"), "{text}");
    }
    assert_eq!(operator.succeed(&["service-key", "list"]), before, "nothing was done");
}

#[test]
fn keys_are_looked_after_where_no_service_runs() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    mistakes(operator);
    a_keys_life(operator);
    let table = rows(&operator.succeed(&["service-key", "list"]));
    assert_eq!(table.iter().find(|row| row[1] == "billing").unwrap()[3], "expired");
}

#[test]
fn keys_are_looked_after_on_the_pair() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate", "--create"]);
    mistakes(operator);
    a_keys_life(operator);
}

/// A running service applies the operator's changes within a second.
async fn the_service_goes_by_it(operator: Operator<'_>, client: &mut Client) -> String {
    let token = client.sign_in("user01").await;
    let (key, id) = made(&operator.succeed(&["service-key", "create", "billing", "--scope", "introspect"]));
    for (status, mut revoke) in [(200, Some(&id)), (401, None)] {
        let deadline = Instant::now() + Duration::from_secs(1);
        while client.introspect(&key, &token).await.status != status {
            assert!(Instant::now() < deadline, "the node did not learn of the change in time");
        }
        if let Some(id) = revoke.take() {
            assert_eq!(client.introspect(&key, &token).await.json()["active"], true);
            operator.succeed(&["service-key", "revoke", id]);
        }
    }
    key
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_service_knows_at_once_and_its_log_has_no_key() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let operator = Operator::In(directory.path());
    mistakes(operator);
    let mut client = Client::connect(&process.address).await;
    let key = the_service_goes_by_it(operator, &mut client).await;
    let (_, log) = process.terminate();
    assert!(log.contains("command=service-key create "), "it is logged: {log}");
    assert!(!log.contains(&key[4..47]), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_nodes_know_within_a_second() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate", "--create"]);
    let process = Process::node(&place, &[]);
    let mut client = Client::connect(&process.address).await;
    the_service_goes_by_it(operator, &mut client).await;
}
