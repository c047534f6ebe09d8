//! Migrations that several processes run at once, and that run under live nodes.

use crate::harness::{Client, ClusterStore, Process, Servers, binary};

fn migrate(place: &ClusterStore) -> std::process::Child {
    let mut command = binary();
    command.args(["migrate", "--dev"]).current_dir(std::env::temp_dir());
    for (key, value) in place.settings() {
        command.env(format!("DESKPASS_{}", key.to_uppercase().replace('.', "__")), value);
    }
    command.spawn().unwrap()
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_goes_on_under_a_later_version_and_none_of_the_version_before_starts() {
    let place = Servers::shared().cluster_store();
    let node = Process::node(&place, &[]);
    let mut client = Client::connect(&node.address).await;
    let token = client.sign_in("admin01").await;
    // A later version may add tables and columns, nothing else.
    place.query(
        "ALTER TABLE session ADD COLUMN colour TEXT; ALTER TABLE employee ADD COLUMN shoe BIGINT NOT NULL DEFAULT 42;
        CREATE TABLE later (a BIGINT); INSERT INTO migration (id, applied_at) VALUES (99, 0)",
    );
    assert!(client.is_valid(&token).await);
    client.switch(&token, "agent").await.data();
    let other = client.sign_in("user01").await;
    client.logout(&other).await.data();
    assert_eq!(client.get("/api/ready", &[]).await.status, 200);
    let output = migrate(&place).wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("the data has version 99"), "{output:?}");
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
