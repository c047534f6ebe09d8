//! `deskpass copy`: what it refuses before it touches anything.

use std::path::Path;

use crate::harness::binary;

/// Copies in development mode; returns whether it succeeded, and all it wrote, which never includes a password.
fn copy(directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> (bool, String) {
    let mut command = binary();
    command.current_dir(directory).args(["copy", "--dev"]).args(arguments).envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("canary"), "{text}");
    (output.status.success(), text)
}

const NOWHERE: &str = "postgres://desk:canary-password@127.0.0.1:1/desk";

#[test]
fn a_source_that_is_missing_is_told() {
    let directory = tempfile::tempdir().unwrap();
    for (from, words) in [
        ("sqlite:data", "there is no deskpass data in data; check --from"),
        ("sqlite:", "--from is sqlite: and the directory"),
        (NOWHERE, "--from is sqlite: and the directory"),
    ] {
        let (success, text) = copy(directory.path(), &["--from", from, "--to", NOWHERE], &[]);
        assert!(!success && text.contains(words), "{text}");
    }
    assert!(!directory.path().join("data").exists(), "nothing was made");
    std::fs::create_dir(directory.path().join("data")).unwrap();
    std::fs::write(directory.path().join("data/deskpass.db"), "").unwrap();
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data/deskpass.db", "--to", NOWHERE], &[]);
    assert!(!success && text.contains("--from names the directory that it is in"), "{text}");
}

#[test]
fn a_target_must_be_named_and_be_postgresql() {
    let directory = tempfile::tempdir().unwrap();
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data"], &[]);
    assert!(!success && text.contains("name it with --to, or set store.url"), "{text}");
    let mysql = "mysql://desk:canary-password@db/desk";
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data", "--to", mysql], &[]);
    assert!(!success && text.contains("store.url (--to): it begins with neither postgres://"), "{text}");
}

#[test]
fn the_target_may_come_from_the_settings_without_the_other_half_of_the_pair() {
    let directory = tempfile::tempdir().unwrap();
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data"], &[("DESKPASS_STORE__URL", NOWHERE)]);
    assert!(!success && text.contains("there is no deskpass data in data") && !text.contains("half a pair"), "{text}");
}

#[test]
fn a_target_that_is_not_there_is_told_without_its_password() {
    let directory = tempfile::tempdir().unwrap();
    let made = binary().current_dir(directory.path()).args(["migrate", "--dev"]).output().unwrap();
    assert!(made.status.success());
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data", "--to", NOWHERE], &[]);
    assert!(!success && text.contains("cannot use postgres://desk:***@127.0.0.1:1/desk: "), "{text}");
    assert!(text.contains("deskpass doctor"), "{text}");
}
