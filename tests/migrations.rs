//! Migrations that several processes run at once, and that run under live nodes.

use std::process::Command;

use deskpass_store::newest_version;

use crate::cli::output_of;
use crate::harness::{Client, ClusterStore, Process, Servers, binary, finished, with_settings};

fn command(place: &ClusterStore, arguments: &[&str]) -> Command {
    let mut command = binary();
    command.args(arguments).arg("--dev").current_dir(std::env::temp_dir());
    with_settings(&mut command, place.settings());
    command
}

fn migrate(place: &ClusterStore) -> std::process::Child {
    command(place, &["migrate"]).spawn().unwrap()
}

/// Runs a command to its end; returns whether it succeeded, and its output.
fn run(place: &ClusterStore, arguments: &[&str]) -> (bool, String) {
    output_of(&finished(&mut command(place, arguments)))
}

#[test]
fn of_many_that_migrate_at_once_one_does_it() {
    let place = Servers::shared().cluster_store();
    let all: Vec<_> = (0..8).map(|_| migrate(&place)).collect();
    for child in all {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("is up to date"), "{output:?}");
    }
    assert_eq!(
        place.query("SELECT count(*) FROM migration"),
        place.query("SELECT count(DISTINCT id) FROM migration"),
        "each was applied once"
    );
    assert_eq!(place.query("SELECT count(*) FROM log_marker"), ["1"]);
    assert_eq!(place.query("SELECT mode FROM desk"), ["development mode"]);
}

/// Does what a later version may do: it adds tables and columns, nothing else.
fn migrate_to_later_version(place: &ClusterStore) {
    place.query(
        "ALTER TABLE session ADD COLUMN colour TEXT; ALTER TABLE employee ADD COLUMN shoe BIGINT NOT NULL DEFAULT 42;
        CREATE TABLE later (a BIGINT); INSERT INTO migration (id, applied_at) VALUES (99, 0)",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_goes_on_under_a_later_version() {
    let place = Servers::shared().cluster_store();
    let node = Process::node(&place, &[]);
    let mut client = Client::connect(&node.address).await;
    let token = client.sign_in("admin01").await;
    migrate_to_later_version(&place);
    assert!(client.is_valid(&token).await);
    client.switch(&token, "agent").await.data();
    let other = client.sign_in("user01").await;
    client.logout(&other).await.data();
    assert_eq!(client.get("/api/ready", &[]).await.status, 200);
}

/// During a rollout a node of the previous version may have to restart, after the first new node has migrated the tables.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_starts_under_a_later_version_that_it_can_use() {
    let place = Servers::shared().cluster_store();
    let first = Process::node(&place, &[]);
    let mut client = Client::connect(&first.address).await;
    let token = client.sign_in("admin01").await;
    migrate_to_later_version(&place);
    // Without a word about earlier programs, or with one that they cannot use it, it is refused.
    for oldest in ["NULL".to_owned(), (newest_version() + 1).to_string()] {
        place.query(&format!("UPDATE migration SET oldest = {oldest} WHERE id = 99"));
        for arguments in [&["migrate"][..], &["audit", "verify"]] {
            let (success, text) = run(&place, arguments);
            assert!(!success && text.contains("the data has version 99"), "{oldest}: {text}");
        }
    }
    place.query(&format!("UPDATE migration SET oldest = {} WHERE id = 99", newest_version()));
    drop(first);
    let node = Process::node(&place, &[]);
    let mut client = Client::connect(&node.address).await;
    assert!(client.is_valid(&token).await);
    client.switch(&token, "agent").await.data();
    let other = client.sign_in("user01").await;
    client.logout(&other).await.data();
    assert_eq!(client.get("/api/ready", &[]).await.status, 200);
    let (success, text) = run(&place, &["migrate"]);
    assert!(success && text.contains("has the later version 99"), "{text}");
    let (success, text) = run(&place, &["audit", "verify"]);
    assert!(success, "{text}");
    // A backup would leave out what this program does not know.
    let directory = tempfile::tempdir().unwrap();
    let (success, text) = run(&place, &["backup", directory.path().join("all").to_str().unwrap()]);
    assert!(!success && text.contains("the data has version 99"), "{text}");
    // Likewise these: a later version may have more times, and more that is encrypted with a key.
    for arguments in [&["key", "rotate"][..], &["key", "forget", "x", "--yes"], &["clock", "repair", "--yes"]] {
        let (success, text) = run(&place, arguments);
        assert!(!success && text.contains("the data has version 99"), "{arguments:?}: {text}");
    }
    assert_eq!(place.query("SELECT MAX(id) FROM migration"), ["99"], "nothing was migrated");
}

/// Not only the newest one: a node of the previous version may start between two migrations.
#[test]
fn every_migration_is_recorded_with_the_oldest_version_that_can_use_it() {
    let place = Servers::shared().cluster_store();
    assert!(run(&place, &["migrate"]).0);
    let without = "SELECT count(*) FROM migration WHERE id >= 20 AND oldest IS NULL";
    assert_eq!(place.query(without), ["0"]);
}

/// Only the upgrade needs the right to create tables; serving needs reading and writing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_the_right_to_make_tables_runs_a_node_once_they_are_there() {
    let place = Servers::shared().cluster_store();
    assert!(migrate(&place).wait_with_output().unwrap().status.success());
    let schema = &place.prefix;
    place.query(&format!(
        "CREATE ROLE {schema} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {schema};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {schema}"
    ));
    let (_, rest) = place.store.split_once("://").unwrap();
    let host = rest.split_once('@').map_or(rest, |(_, host)| host);
    let humble = ClusterStore { store: format!("postgres://{schema}@{host}"), ..place.clone() };
    let node = Process::node(&humble, &[]);
    let mut client = Client::connect(&node.address).await;
    let token = client.sign_in("admin01").await;
    client.logout(&token).await.data();
    assert!(!client.is_valid(&token).await);
}
