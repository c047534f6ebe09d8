//! `deskpass sync` and `deskpass role grant --for`, through the running service and on data that no service has open.

use serde_json::Value;

use crate::harness::{Operator, Process};

/// A temporary role, and what is told about it.
fn grants_temporarily(operator: Operator<'_>) {
    let grant = |more: &[&'static str]| [&["role", "grant", "user01", "supervisor"], more].concat();
    let told = operator.succeed(&grant(&["--for", "2h", "--reason", "on call"]));
    assert!(told.contains("user01 holds the role supervisor until 20"), "{told}");
    let report = operator.succeed(&["explain", "login", "user01"]);
    assert!(report.contains("supervisor: until 20") && report.contains("(on call)"), "{report}");
    operator.fail(&grant(&["--for", "2h"]), "--reason");
    operator.fail(&grant(&["--reason", "on call"]), "--for");
    operator.fail(&grant(&["--for", "soon", "--reason", "on call"]), "expected a duration such as 30m");
    for outside in ["4m", "31d"] {
        operator.fail(&grant(&["--for", outside, "--reason", "on call"]), "--for must be from 5m to 30d");
    }
    operator.fail(
        &["role", "grant", "nobody", "agent", "--for", "1h", "--reason", "on call"],
        "there is no employee nobody",
    );
    operator.succeed(&grant(&[]));
    operator.fail(&grant(&["--for", "1h", "--reason", "on call"]), "already holds the role supervisor permanently");
    operator.succeed(&["role", "revoke", "user01", "supervisor"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_temporary_role_and_a_synchronisation_are_commands() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    let process = Process::serve(&directory.path().join("data"), &[]);
    grants_temporarily(operator);
    let told = operator.succeed(&["sync", "--dry-run"]);
    assert!(told.contains("member(s) at the platform") && told.contains("dry run: nothing was changed"), "{told}");
    let told = operator.succeed(&["sync", "--json"]);
    let result = told.lines().find_map(|line| serde_json::from_str::<Value>(line).ok()).unwrap();
    assert_eq!((&result["dry_run"], &result["halted"]), (&Value::from(false), &Value::from(false)), "{told}");
    assert!(result["members"].as_u64().unwrap() > 0, "{told}");
    drop(process);
    grants_temporarily(operator);
}
