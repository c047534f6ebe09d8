//! What is refused, before anything is changed.

use std::path::Path;
use std::process::Output;

use crate::harness::{Operator, PRODUCTION, Process, StoreBackend, binary, finished, with_settings};

use super::{Place, text};

/// Runs a command in production mode, with other settings besides; returns its exit code and output.
fn production(directory: &Path, arguments: &[&str], more: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = binary();
    command.current_dir(directory).args(arguments);
    with_settings(&mut command, PRODUCTION.into_iter().chain(more.iter().copied()));
    let Output { status, stdout, stderr } = finished(&mut command);
    (status.code(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

/// A place with data of development mode, and its backup in `all`.
fn backed_up() -> Place {
    let place = Place::new(StoreBackend::Embedded);
    place.operator().succeed(&["employee", "add", "lisi", "--role", "user"]);
    place.backup("all", &[]);
    place
}

fn is_untouched(place: &Place) -> bool {
    !place.file("data/deskpass.db").exists() && !place.file("data/restore.partial").exists()
}

#[test]
fn a_file_is_not_replaced_unless_asked_and_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = backed_up();
    let before = std::fs::read(place.file("all")).unwrap();
    place
        .operator()
        .fail(&["backup", text(&place.file("all"))], "exists; choose another name, or replace it with --force");
    assert_eq!(std::fs::read(place.file("all")).unwrap(), before);
    place.operator().fail(&["backup", text(&place.file("data"))], "is a directory; name a file");
    place.backup("all", &["--force"]);
    assert_eq!(std::fs::metadata(place.file("all")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!place.file("all.partial").exists());
    place.operator().fail(&["backup", text(&place.file("missing/all"))], "cannot write ");
    let empty = Place::new(StoreBackend::Embedded);
    empty.operator().fail(&["backup", text(&empty.file("all"))], "there is no deskpass data in ./data");
}

#[test]
fn a_link_under_the_temporary_name_is_not_followed() {
    use std::os::unix::fs::symlink;
    let place = backed_up();
    let (other, partial) = (place.file("other"), place.file("next.partial"));
    std::fs::write(&other, "of another program").unwrap();
    symlink(&other, &partial).unwrap();
    place.operator().fail(&["backup", text(&place.file("next"))], "is no file of this user; remove it");
    assert!(partial.is_symlink() && !place.file("next").exists());
    let target = Place::new(StoreBackend::Embedded);
    std::fs::create_dir(target.file("data")).unwrap();
    symlink(&other, target.file("data/restore.partial")).unwrap();
    target.restore(&place.file("all"), &[]);
    assert_eq!(std::fs::read_to_string(other).unwrap(), "of another program");
}

#[test]
fn a_database_with_running_nodes_is_refused() {
    let place = backed_up();
    let target = Place::new(StoreBackend::ScaledOut);
    let node = target.serve();
    let output = target.operator().fail(&["restore", text(&place.file("all"))], "stop all nodes first");
    assert!(output.contains("nothing was restored: nodes run on "), "{output}");
    node.terminate();
    target.operator().fail(&["restore", text(&place.file("all"))], "already contains data");
}

#[test]
fn wrong_usage_has_an_exit_code_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["backup"][..], &["restore"], &["session"], &["session", "end-all", "--before", "yesterday"]] {
        let output = finished(binary().current_dir(directory.path()).args(arguments));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    let output = finished(binary().current_dir(directory.path()).args(["restore", "missing", "--dev"]));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_backup_passes_through_pipes() {
    let place = backed_up();
    let written = binary().current_dir(place.file(".")).args(["backup", "-", "--dev"]).output().unwrap();
    assert!(written.status.success(), "{written:?}");
    assert!(written.stdout.starts_with(b"deskpass-backup 1\n"));
    assert!(String::from_utf8_lossy(&written.stderr).contains("backed up "));
    std::fs::write(place.file("piped"), &written.stdout).unwrap();
    Place::new(StoreBackend::Embedded).restore(&place.file("piped"), &[]);
}

#[test]
fn damaged_and_foreign_files_leave_nothing_behind() {
    let place = backed_up();
    let good = std::fs::read(place.file("all")).unwrap();
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let header = good.split_inclusive(|byte| *byte == b'\n').take(2).collect::<Vec<_>>().concat();
    let later = String::from_utf8(header).unwrap().replacen("\"schema\":", "\"schema\":9", 1);
    for (content, words) in [
        (&good[..good.len() - 1], "it is incomplete"),
        (&good[..300], "it is incomplete"),
        (&flipped[..], "it is damaged"),
        (&b"PK\x03\x04"[..], "it is not a backup of deskpass"),
        (&b""[..], "cannot be restored"),
        (later.as_bytes(), "needs a later deskpass"),
    ] {
        std::fs::write(place.file("bad"), content).unwrap();
        let target = Place::new(StoreBackend::Embedded);
        let output = target.operator().fail(&["restore", text(&place.file("bad"))], words);
        assert!(output.contains("nothing was restored") && is_untouched(&target), "{output}");
    }
}

#[test]
fn an_encrypted_backup_needs_its_password() {
    let place = backed_up();
    for (name, password) in
        [("right", "correct horse battery\n"), ("wrong", "correct horse batterz\n"), ("short", "abc\n")]
    {
        std::fs::write(place.file(name), password).unwrap();
    }
    let [right, wrong, short] = ["right", "wrong", "short"].map(|name| place.file(name));
    place.operator().fail(&["backup", "x", "--password-file", text(&short)], "is too short");
    let file = place.backup("sealed", &["--password-file", text(&right)]);
    let content = std::fs::read(&file).unwrap();
    assert!(!content.windows(8).any(|part| part == b"employee"));
    let target = Place::new(StoreBackend::Embedded);
    target.operator().fail(&["restore", text(&file)], "is encrypted; name the file with its password");
    target.operator().fail(&["restore", text(&file), "--password-file", text(&wrong)], "the password is wrong");
    let plain = ["restore", text(&place.file("all")), "--password-file", text(&right)].map(str::to_owned);
    target.operator().fail(&plain.each_ref().map(|part| &**part), "is not encrypted");
    assert!(is_untouched(&target));
    target.restore(&file, &["--password-file", text(&right)]);
    assert_eq!(target.query("SELECT employee_id FROM employee WHERE employee_key = 'lisi'"), ["lisi"]);
}

#[test]
fn a_place_that_is_in_use_or_has_data_is_refused() {
    let place = backed_up();
    place.operator().fail(&["restore", text(&place.file("all"))], "already contains data (./data/deskpass.db)");
    let process = Process::serve(&place.file("data"), &[]);
    place.operator().fail(&["restore", text(&place.file("all"))], "a service runs on ./data; stop it first");
    drop(process);
    // What is left of a lost database would be mixed with the restored one.
    let target = Place::new(StoreBackend::Embedded);
    std::fs::create_dir(target.file("data")).unwrap();
    std::fs::write(target.file("data/deskpass.db-wal"), "changes").unwrap();
    target.operator().fail(&["restore", text(&place.file("all"))], "deskpass.db-wal");
    // The database itself may be lost, that is what a backup is for.
    std::fs::write(target.file("data/deskpass.db-wal"), "").unwrap();
    std::fs::write(target.file("data/deskpass.lock"), "deskpass\n").unwrap();
    target.restore(&place.file("all"), &[]);

    let target = Place::new(StoreBackend::ScaledOut);
    target.operator().succeed(&["migrate"]);
    target.query("DELETE FROM employee_term");
    target.query("DELETE FROM user_role");
    target.query("DELETE FROM agent");
    let output = target.operator().fail(&["restore", text(&place.file("all"))], "already contains data (employee has ");
    assert!(output.contains("nothing was restored"), "{output}");
    target.query("DELETE FROM employee");
    target.query("INSERT INTO migration (id, applied_at) VALUES (99, 0)");
    target.operator().fail(&["restore", text(&place.file("all"))], "it has tables of version 99");
    target.query("DELETE FROM migration WHERE id = 99");
    target.restore(&place.file("all"), &[]);
    target.operator().succeed(&["audit", "verify"]);
}

#[test]
fn the_mode_and_the_key_must_be_those_of_the_data() {
    let place = Place::new(StoreBackend::Embedded);
    let (code, output) = production(&place.file("."), &["migrate", "--create"], &[]);
    assert_eq!(code, Some(0), "{output}");
    let (code, output) = production(&place.file("."), &["backup", "all"], &[]);
    assert_eq!(code, Some(0), "{output}");
    let target = Place::new(StoreBackend::Embedded);
    let all = place.file("all");
    Operator::In(&target.file(".")).fail(&["restore", text(&all)], "leave out --dev");
    let other = [("encryption_key", "//////////////////////////////////////////8=")];
    let (code, output) = production(&target.file("."), &["restore", text(&all)], &other);
    let words = "encryption_key is not the key that the data in ";
    assert!(code == Some(1) && output.contains(words) && output.contains("put that key into the settings"), "{output}");
    assert!(!target.file("data").exists(), "nothing is left");
    let lost = Place::new(StoreBackend::Embedded);
    let (code, output) = production(&lost.file("."), &["restore", text(&all), "--key-is-lost"], &other);
    assert!(code == Some(0) && output.contains("deskpass agent reset-password EMPLOYEE"), "{output}");
    let (code, output) = production(&lost.file("."), &["audit", "verify"], &other);
    assert_eq!(code, Some(0), "{output}");
    let (code, output) = production(&target.file("."), &["restore", text(&all)], &[]);
    assert!(code == Some(0) && output.contains("restored ") && output.contains("0 session(s) ended"), "{output}");
    let (code, output) = production(&target.file("."), &["audit", "verify"], &[]);
    assert_eq!(code, Some(0), "{output}");
}
