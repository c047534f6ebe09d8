//! `deskpass link`: the employees that people of a connected corporation may act as.

use std::path::Path;

use crate::harness::{Process, binary};

/// Runs the program in development mode in a directory; returns whether it succeeded, and its output.
fn run(directory: &Path, arguments: &[&str]) -> (bool, String) {
    let output = binary().current_dir(directory).args(arguments).arg("--dev").output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

/// The columns of the line in `deskpass link list` that begins with this identity.
fn listed(directory: &Path, identity: &str) -> Option<Vec<String>> {
    let (success, text) = run(directory, &["link", "list"]);
    assert!(success, "{text}");
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(identity))?;
    Some(line.split_whitespace().map(str::to_owned).collect())
}

fn is_moment(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00T00:00:00Z"
}

/// Approves, lists, replaces and removes links, on either store.
fn a_links_life(directory: &Path) {
    let (success, text) = run(directory, &["link", "list"]);
    assert!(success && text.contains("no links"), "{text}");
    let (success, text) = run(directory, &["link", "approve", "wwpartner/Partner01", "User01"]);
    assert!(success && text.contains("wwpartner/Partner01 may act as User01"), "{text}");
    let columns = listed(directory, "wwpartner/Partner01").expect("it is on the list");
    assert_eq!((columns[1].as_str(), &columns[3..]), ("user01", &["not".to_owned(), "yet".to_owned()][..]));
    assert!(is_moment(&columns[2]), "{columns:?}");
    assert_eq!(listed(directory, "wwpartner/partner01"), None, "case matters in a connected corporation");

    let (success, text) = run(directory, &["link", "approve", "wwpartner/Partner01", "agent01"]);
    assert!(success, "{text}");
    assert_eq!(listed(directory, "wwpartner/Partner01").unwrap()[1], "agent01", "in place of the former");
    assert!(run(directory, &["employee", "add", "wangwu", "--corp", "wwother"]).0);
    let (success, text) = run(directory, &["link", "approve", "wwpartner/lisi", "wangwu", "--corp", "wwother"]);
    assert!(success, "{text}");
    assert_eq!(listed(directory, "wwpartner/lisi").unwrap()[1], "wwother/wangwu");

    let (success, text) = run(directory, &["link", "remove", "wwpartner/Partner01"]);
    assert!(success && text.contains("may no longer act as an employee"), "{text}");
    assert_eq!(listed(directory, "wwpartner/Partner01"), None);
    let (success, text) = run(directory, &["link", "remove", "wwpartner/Partner01"]);
    assert!(success && text.contains("wwpartner/Partner01 had no link"), "{text}");
    assert!(listed(directory, "wwpartner/lisi").is_some(), "only the named link");
}

fn mistakes(directory: &Path) {
    for (arguments, words) in [
        (&["link", "approve", "partner01", "user01"][..], "partner01 has no slash"),
        (&["link", "approve", "/partner01", "user01"], "CORP in CORP/USER must be 1 to 64 characters"),
        (&["link", "approve", "ww@x/partner01", "user01"], "CORP in CORP/USER must be 1 to 64 characters"),
        (&["link", "approve", "wwpartner/", "user01"], "USER in CORP/USER must be 1 to 64 characters"),
        (&["link", "approve", "wwpartner/a/b", "user01"], "USER in CORP/USER must be 1 to 64 characters"),
        (&["link", "approve", "wwdeskpass/user01", "admin01"], "wwdeskpass is the main corporation"),
        (&["link", "approve", "wwpartner/partner01", "a b"], "EMPLOYEE must be 1 to 64 characters"),
        (&["link", "approve", "wwpartner/partner01", "user01", "--corp", "a/b"], "--corp must be 1 to 64 characters"),
        (&["link", "approve", "wwpartner/partner01", "nobody"], "there is no employee nobody"),
        (&["link", "approve", "wwpartner/partner01", "user01", "--corp", "wwother"], "there is no employee user01"),
        (&["link", "remove", "partner01"], "partner01 has no slash"),
        (&["link", "remove", "wwdeskpass/user01"], "wwdeskpass is the main corporation"),
    ] {
        let (success, text) = run(directory, arguments);
        assert!(!success && text.contains(words), "{arguments:?}\n{text}");
    }
    assert_eq!(listed(directory, "wwpartner/partner01"), None, "nothing was approved");
}

#[test]
fn links_are_kept_where_no_service_runs() {
    let directory = tempfile::tempdir().unwrap();
    let (success, text) = run(directory.path(), &["link", "approve", "wwpartner/partner01", "user01"]);
    assert!(!success && text.contains("there is no deskpass data in ./data"), "{text}");
    assert!(run(directory.path(), &["migrate", "--create"]).0);
    mistakes(directory.path());
    a_links_life(directory.path());
}

#[test]
fn links_are_handed_to_a_running_service() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    mistakes(directory.path());
    a_links_life(directory.path());
    process.kill();
    assert!(listed(directory.path(), "wwpartner/lisi").is_some(), "it was the service's own data");
}

#[test]
fn the_list_says_since_when_a_link_is_used() {
    let directory = tempfile::tempdir().unwrap();
    assert!(run(directory.path(), &["migrate", "--create"]).0);
    assert!(run(directory.path(), &["link", "approve", "wwpartner/partner01", "user01"]).0);
    let connection = rusqlite::Connection::open(directory.path().join("data/deskpass.db")).unwrap();
    assert_eq!(connection.execute("UPDATE link SET bound_at = 1800000000999", []).unwrap(), 1);
    drop(connection);
    let columns = listed(directory.path(), "wwpartner/partner01").unwrap();
    assert_eq!(columns[3..], ["2027-01-15T08:00:00Z"]);
}

#[test]
fn every_help_has_an_example() {
    for command in [&["link"][..], &["link", "approve"], &["link", "list"], &["link", "remove"]] {
        let output = binary().args(command).arg("--help").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Example") && text.contains("  deskpass link "), "{command:?}\n{text}");
    }
}
