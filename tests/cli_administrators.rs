//! The command line for administrators: the last one is not removed by mistake, and those who are no agents have a device too.

use crate::harness::{Operator, Process, Servers};

/// The roles and the state that the list of employees shows.
fn listed(operator: Operator<'_>, employee: &str) -> String {
    let text = operator.succeed(&["employee", "list"]);
    let line = text.lines().find(|line| line.split_whitespace().nth(1) == Some(employee)).expect("the employee");
    line.to_owned()
}

/// The cells of the list of agents, without times.
fn agent(operator: Operator<'_>, employee: &str) -> Option<Vec<String>> {
    let text = operator.succeed(&["agent", "list"]);
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let (shape, employee) = (shape.replace("0000-00-00T00:00:00Z", "TIME"), employee.replace(char::is_numeric, "0"));
    let rows = shape.lines().map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()));
    let mut rows = rows.map(|cells| cells.map(str::to_owned).collect::<Vec<_>>());
    rows.find(|row| row[1] == employee).map(|row| row[3..].to_vec())
}

/// On either store, with a running service or without.
fn the_last_administrator_is_removed_only_on_purpose(operator: Operator<'_>) {
    let removals = [&["role", "revoke", "admin01", "admin"][..], &["employee", "disable", "Admin01"]];
    for removal in removals {
        let text = operator.fail(removal, "is the last administrator, nothing was changed");
        assert!(text.contains("deskpass role grant EMPLOYEE admin") && text.contains("add --yes"), "{text}");
    }
    assert!(listed(operator, "admin01").contains("enabled") && listed(operator, "admin01").contains("admin,"));
    // A role that is not held, and an administrator who is disabled, leave nobody behind.
    operator.succeed(&["role", "revoke", "user01", "admin"]);
    operator.succeed(&["role", "grant", "user01", "admin"]);
    operator.succeed(&["employee", "disable", "user01"]);
    operator.fail(&["role", "revoke", "admin01", "admin"], "is the last administrator");
    operator.succeed(&["role", "revoke", "user01", "admin"]);
    operator.succeed(&["employee", "enable", "user01"]);
    operator.succeed(&["role", "grant", "user01", "admin"]);
    operator.succeed(&["role", "revoke", "admin01", "admin"]);
    operator.fail(&["employee", "disable", "user01"], "is the last administrator");
    assert!(operator.succeed(&["employee", "disable", "user01", "--yes"]).contains("user01 is disabled"));
    operator.succeed(&["employee", "enable", "user01"]);
    let report = operator.succeed(&["role", "revoke", "user01", "admin", "--yes"]);
    assert!(report.contains("user01 no longer holds the role admin"), "{report}");
    // The main corporation can appoint another administrator of a connected one.
    operator.succeed(&["employee", "add", "boss", "--corp", "wwother", "--role", "admin"]);
    operator.succeed(&["role", "revoke", "boss", "admin", "--corp", "wwother"]);
}

/// An administrator who is no agent gets a setup code, and is listed as what they are.
fn the_device_of_an_administrator_is_seen_and_reset(operator: Operator<'_>) {
    operator.succeed(&["role", "grant", "security01", "admin"]);
    assert_eq!(agent(operator, "security01"), None);
    assert!(operator.succeed(&["agent", "unlock", "security01"]).contains("was not locked"));
    let report = operator.succeed(&["agent", "reset-otp", "security01"]);
    assert!(report.contains("security01 had no authenticator") && report.contains("setup code: "), "{report}");
    let shown = ["-", "no agent", "-", "none, code until TIME", "never"].map(str::to_owned);
    assert_eq!(agent(operator, "security01"), Some(shown.to_vec()));
    for command in
        [&["set-role", "security01", "agent"][..], &["disable", "security01"], &["reset-password", "security01"]]
    {
        operator.fail(
            &[&["agent"], command].concat(),
            "security01 is not an agent; to add one: deskpass agent add security01",
        );
    }
    let explained = operator.succeed(&["explain", "login", "security01"]);
    assert!(explained.contains("no record; authenticator: none"), "{explained}");
    operator.succeed(&["agent", "add", "security01"]);
    let shown = ["agent", "enabled", "not set", "none, code until TIME", "never"].map(str::to_owned);
    assert_eq!(agent(operator, "security01"), Some(shown.to_vec()));
}

#[test]
fn administrators_are_looked_after_where_no_service_runs() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    the_device_of_an_administrator_is_seen_and_reset(operator);
    operator.succeed(&["role", "revoke", "security01", "admin"]);
    the_last_administrator_is_removed_only_on_purpose(operator);
}

#[test]
fn administrators_are_looked_after_by_a_running_service() {
    let directory = tempfile::tempdir().unwrap();
    let _process = Process::serve(&directory.path().join("data"), &[]);
    the_last_administrator_is_removed_only_on_purpose(Operator::In(directory.path()));
}

#[test]
fn administrators_are_looked_after_on_the_pair() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate", "--create"]);
    the_device_of_an_administrator_is_seen_and_reset(operator);
    operator.succeed(&["role", "revoke", "security01", "admin"]);
    the_last_administrator_is_removed_only_on_purpose(operator);
}
