//! The command line and the data directory: damaged, missing, newer, or readable for others.

use std::path::Path;

use deskpass_store::newest_version;

use crate::cli::run;
use crate::harness::Process;

#[test]
fn damaged_data_is_not_replaced_by_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    assert!(run(directory.path(), &["migrate", "--create", "--dev"]).0);
    std::fs::write(data.join("deskpass.db"), "this is not a database, and never was one".repeat(200)).unwrap();
    let (success, text) = run(directory.path(), &["serve", "--dev", "--listen", "127.0.0.1:0"]);
    assert!(!success && text.contains("restore it from a backup"), "{text}");
    assert!(std::fs::read_to_string(data.join("deskpass.db")).unwrap().starts_with("this is not"), "left as it was");
}

#[test]
fn data_that_cannot_be_written_is_not_called_damaged() {
    let directory = tempfile::tempdir().unwrap();
    assert!(run(directory.path(), &["migrate", "--create", "--dev"]).0);
    // The directory blocks the file that the database writes to first.
    std::fs::create_dir(directory.path().join("data/deskpass.db-wal")).unwrap();
    let (success, text) = run(directory.path(), &["migrate", "--dev"]);
    assert!(!success && text.contains("check the free space and the permissions of the disk"), "{text}");
    assert!(!text.contains("backup"), "{text}");
}

#[test]
fn data_that_cannot_be_looked_for_is_not_called_missing() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "").unwrap();
    let (success, text) = run(directory.path(), &["employee", "list", "--dev", "--data", "file/data"]);
    assert!(!success && text.contains("cannot read file/data: Not a directory"), "{text}");
    assert!(!text.contains("there is no deskpass data"), "{text}");
}

#[test]
fn data_that_has_vanished_is_not_replaced_by_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("data/deskpass.db");
    assert!(run(directory.path(), &["migrate", "--create", "--dev"]).0);
    std::fs::write(&database, "").unwrap();
    let (success, text) = run(directory.path(), &["migrate", "--create", "--dev"]);
    assert!(!success && text.contains("missing or empty") && text.contains("backup"), "{text}");
    std::fs::remove_file(&database).unwrap();
    let (success, text) = run(directory.path(), &["serve", "--dev", "--listen", "127.0.0.1:0"]);
    assert!(!success && text.contains("missing or empty"), "{text}");
    assert!(!database.exists());
}

#[test]
fn data_of_a_later_version_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    assert!(run(directory.path(), &["migrate", "--create", "--dev"]).0);
    let change = |text: &str| {
        let connection = rusqlite::Connection::open(directory.path().join("data/deskpass.db")).unwrap();
        connection.execute(text, []).unwrap();
    };
    change("INSERT INTO migration (id, applied_at) VALUES (999, 0)");
    let (success, text) = run(directory.path(), &["migrate", "--dev"]);
    assert!(!success && text.contains("version 999") && text.contains("newer deskpass"), "{text}");
    // Unless that version says that this program can use it. It is not copied, since it may have more tables.
    change(&format!("UPDATE migration SET oldest = {} WHERE id = 999", newest_version()));
    let (success, text) = run(directory.path(), &["migrate", "--dev"]);
    assert!(success && text.contains("has the later version 999"), "{text}");
    let to = "postgres://desk@127.0.0.1:1/desk";
    let (success, text) = run(directory.path(), &["copy", "--dev", "--from", "sqlite:data", "--to", to]);
    assert!(!success && text.contains("version 999") && text.contains("newer deskpass"), "{text}");
}

#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory.path().join("data")), 0o700);
    for entry in std::fs::read_dir(directory.path().join("data")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{path:?}");
    }
    process.kill();
}

#[test]
fn files_that_others_may_read_are_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let log = || Process::serve(&data, &[]).terminate().1;
    let quiet = log();
    assert!(!quiet.contains("chmod"), "{quiet}");
    let database = data.join("deskpass.db");
    for (path, open, closed, wanted) in [(&data, 0o710, 0o700, "chmod 700"), (&database, 0o604, 0o600, "chmod 600")] {
        let allow = |mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        allow(open);
        let report = log();
        assert_eq!(report.matches("chmod").count(), 1, "{report}");
        assert!(report.contains("WARN") && report.contains(&format!("{wanted} {}", path.display())), "{report}");
        allow(closed);
    }
}
