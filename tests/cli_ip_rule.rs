//! `deskpass ip-rule`: the networks from which roles may be active, and the way out for a locked-out administrator.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Client, Operator, Process, Servers, Stopwatch};

/// Runs every command, on either store.
fn a_lists_life(operator: Operator<'_>) {
    let nothing = "ROLE        MAY BE ACTIVE FROM\nadmin       anywhere\nagent       anywhere\nuser        anywhere\n\
                   supervisor  anywhere\nsecurity    anywhere\n";
    assert_eq!(operator.succeed(&["ip-rule", "list"]), nothing);
    let output = operator.succeed(&["ip-rule", "set", "admin", "2001:db8::/32", "10.0.0.0/8", "192.0.2.7"]);
    assert!(
        output.starts_with("admin may be active only from 2001:db8::/32, 10.0.0.0/8, 192.0.2.7/32\n0 session(s)"),
        "{output}"
    );
    assert!(output.contains("deskpass ip-rule clear admin"), "{output}");
    operator.succeed(&["ip-rule", "set", "agent", "::ffff:10.0.0.0/104"]);
    let some = "ROLE        MAY BE ACTIVE FROM\nadmin       10.0.0.0/8\n            192.0.2.7/32\n            2001:db8::/32\n\
                agent       10.0.0.0/8\nuser        anywhere\nsupervisor  anywhere\nsecurity    anywhere\n";
    assert_eq!(operator.succeed(&["ip-rule", "list"]), some);
    assert!(operator.succeed(&["ip-rule", "set", "agent", "10.0.0.0/8"]).contains("; nothing changed"));
    assert_eq!(operator.succeed(&["ip-rule", "clear", "admin"]), "admin may be active from anywhere\n");
    assert_eq!(operator.succeed(&["ip-rule", "set", "agent"]), "agent may be active from anywhere\n");
    assert_eq!(
        operator.succeed(&["ip-rule", "clear", "agent"]),
        "agent may be active from anywhere; nothing changed\n"
    );
    assert_eq!(operator.succeed(&["ip-rule", "list"]), nothing);
}

fn mistakes(operator: Operator<'_>) {
    let before = operator.succeed(&["ip-rule", "list"]);
    let many: Vec<_> = (0..201).map(|n| format!("10.0.{n}.0/24")).collect();
    let many: Vec<_> = ["set", "admin"].into_iter().chain(many.iter().map(String::as_str)).collect();
    for (arguments, words) in [
        (&["set", "boss", "10.0.0.0/8"][..], "the roles are admin, agent, user, supervisor, security"),
        (&["clear", "Admin"], "there is no role Admin"),
        (&["set", "admin", "10.0.0.0/8", "here"], "\"here\" is not a network"),
        (&["set", "admin", "10.1.2.3/8"], "could mean 10.0.0.0/8 or 10.1.2.3/32"),
        (
            &["set", "admin", "10.0.0.0/33", "::/129"],
            "- \"10.0.0.0/33\" is not a network\n- \"::/129\" is not a network",
        ),
        (&many, "an allow-list has at most 200"),
        (&["set"], "ROLE"),
    ] {
        operator.fail(&[&["ip-rule"], arguments].concat(), words);
    }
    assert_eq!(operator.succeed(&["ip-rule", "list"]), before, "nothing was done");
}

#[test]
fn lists_are_looked_after_where_no_service_runs() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    mistakes(operator);
    a_lists_life(operator);
}

#[test]
fn lists_are_looked_after_on_the_pair() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate", "--create"]);
    mistakes(operator);
    a_lists_life(operator);
}

/// Waits until a request gets this status, which takes a second at most on another node.
async fn soon(client: &mut Client, token: &str, status: u16) {
    let began = Stopwatch::start();
    loop {
        let answer = client.me(token).await;
        if answer.status == status {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(1), "the node did not learn of the change in time: {answer:?}");
    }
}

/// An administrator is locked out and let in again; so is an agent with clients at two addresses.
async fn locked_out(operator: Operator<'_>, client: &mut Client) {
    let admin = client.sign_in("admin01").await;
    client.sign_in_from("203.0.113.9", &json!({ "employee_id": "admin01" })).await.data();
    client.sign_in_from("10.1.2.3", &json!({ "employee_id": "admin01" })).await.data();
    let output = operator.succeed(&["ip-rule", "set", "admin", "10.0.0.0/8"]);
    assert!(output.contains("2 session(s) with admin active began elsewhere"), "{output}");
    soon(client, &admin, 403).await;
    assert_eq!(
        client.sign_in_from("127.0.0.1", &json!({ "employee_id": "admin01", "role": "admin" })).await.code(),
        1017
    );
    operator.succeed(&["ip-rule", "clear", "admin"]);
    soon(client, &admin, 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_out_administrator_is_let_in_again_by_a_running_service() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let operator = Operator::In(directory.path());
    mistakes(operator);
    a_lists_life(operator);
    let mut client = Client::connect(&process.address).await;
    locked_out(operator, &mut client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_nodes_know_within_a_second() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate", "--create"]);
    let process = Process::node(&place, &[]);
    let mut client = Client::connect(&process.address).await;
    locked_out(operator, &mut client).await;
}
