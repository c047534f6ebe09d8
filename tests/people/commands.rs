//! What an operator sees and does about people: `deskpass sync`, `explain login`, `employee list`, `role`.

use serde_json::{Value, json};

use super::{change, control, event_settings, receiver};
use crate::harness::{Client, Operator, Process, binary, until, with_settings};

/// Asserts that a command prints these words.
fn prints(operator: Operator<'_>, command: &[&str], words: &[&str]) {
    let text = operator.succeed(command);
    for word in words {
        assert!(text.contains(word), "no {word:?} in the output of {command:?}\n{text}");
    }
}

/// A service in a process of its own, which the platform tells of changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_sees_why_a_person_is_locked_out_and_synchronises() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path().join("data"));
    with_settings(&mut command, event_settings());
    let process = Process::spawn(command);
    let (operator, mut client) = (Operator::In(directory.path()), Client::connect(&process.address).await);
    control(&mut client, "PUT", "events", &receiver(&process.address)).await;
    let token = client.sign_in_by_phone("user01").await;

    change(&mut client, "user01", &json!({ "state": "left" })).await;
    assert!(!client.is_valid(&token).await);
    let english =
        ["locked out: outside the application's visible range at the platform", "platform     The platform said at "];
    prints(operator, &["explain", "login", "user01"], &english);
    prints(
        operator,
        &["explain", "login", "user01", "--language", "zh"],
        &["已锁定：不在应用的可见范围内", "企业微信于 "],
    );
    prints(operator, &["employee", "list"], &["user01", "left"]);
    // What the platform says is not lifted here.
    operator.run(&["employee", "enable", "user01"]);
    prints(operator, &["explain", "login", "user01"], &["locked out"]);
    change(&mut client, "user01", &json!({ "state": "active" })).await;
    // The platform is believed a minute after the departure; an operator at once.
    operator.succeed(&["employee", "return", "user01"]);
    until("back", async || !operator.succeed(&["explain", "login", "user01"]).contains("locked out")).await;

    // What the platform does not tell: a name, and that an account is disabled.
    change(&mut client, "user01", &json!({ "name": "Uma Night" })).await;
    change(&mut client, "agent01", &json!({ "state": "disabled" })).await;
    let agent = client.sign_in("agent01").await;
    let planned = ["updated", "Uma User", "name", "left", "agent01", "suspended", " 1 left, ", "nothing was changed"];
    prints(operator, &["sync", "--dry-run"], &planned);
    assert!(client.is_valid(&agent).await);
    prints(operator, &["employee", "list"], &["Uma User"]);
    let done = operator.succeed(&["sync", "--json"]);
    let done: Value = done.lines().find_map(|line| serde_json::from_str(line).ok()).unwrap();
    let names =
        |list: &str| done[list].as_array().unwrap().iter().map(|one| one["employee_id"].clone()).collect::<Vec<_>>();
    assert!(names("updated").contains(&json!("user01")) && names("left") == [json!("agent01")], "{done}");
    assert!(!client.is_valid(&agent).await);
    prints(operator, &["employee", "list"], &["Uma Night"]);
    prints(operator, &["explain", "login", "agent01"], &["locked out: disabled at the platform"]);
}

/// Rules of the settings file, in a process of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_of_the_settings_file_are_applied_and_explained() {
    let directory = tempfile::tempdir().unwrap();
    let rule = "[[role_rules]]\nrole = \"supervisor\"\ndepartment = \"4\"\n";
    std::fs::write(directory.path().join("deskpass.toml"), rule).unwrap();
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0"]).current_dir(directory.path());
    let _process = Process::spawn(command);
    let operator = Operator::In(directory.path());
    prints(
        operator,
        &["sync", "--dry-run"],
        &["roles", "user01", "+supervisor", "1 with other roles", "nothing was changed"],
    );
    prints(operator, &["sync"], &["+supervisor"]);
    prints(operator, &["explain", "login", "user01"], &["supervisor: from a rule"]);
    operator.fail(&["role", "revoke", "user01", "supervisor"], "by a rule");
    std::fs::write(directory.path().join("deskpass.toml"), "").unwrap();
    prints(operator, &["reload"], &["role_rules"]);
    prints(operator, &["sync"], &["-supervisor"]);
}
