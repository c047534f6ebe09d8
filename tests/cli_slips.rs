//! Slips of the hand at the command line: a pipe that closes, a mistyped directory, a placeholder that was pasted.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::run;
use crate::harness::{Operator, PRODUCTION, binary, free_address, query, with_settings};

/// Runs a command whose reader is gone before it writes; returns its exit code and standard error.
fn unread(command: &mut Command) -> (Option<i32>, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["employee", "add", "lisi", "--role", "user"]);
    for arguments in [
        &["config", "example"][..],
        &["config", "show", "--dev"],
        &["config", "check", "--dev"],
        &["config", "matrix", "--dev"],
        &["employee", "list", "--dev"],
        &["service-key", "create", "billing", "--scope", "introspect", "--dev"],
        &["explain", "login", "lisi", "--dev"],
        &["audit", "export", "--format", "csv", "--dev"],
        &["audit", "verify", "--dev"],
        &["migrate", "--dev"],
        &["clock", "repair", "--dev"],
        &["--help"],
        &["--version"],
    ] {
        let (code, error) = unread(binary().current_dir(directory.path()).args(arguments));
        assert_eq!((code, &*error), (Some(0), ""), "{arguments:?}");
    }
    // Also where the messages go.
    let mut failing = binary();
    failing.current_dir(directory.path()).args(["employee", "enable", "nobody", "--dev"]).stderr(Stdio::piped());
    let mut child = failing.spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn the_first_line_of_a_new_key_is_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    for (scope, path) in [("introspect", "/api/auth/introspect"), ("messages", "/api/messages")] {
        let made = operator.succeed(&["service-key", "create", "billing", "--scope", scope]);
        assert!(made.lines().next().unwrap().starts_with("service key: dpk_"), "{made}");
        assert!(made.contains(&format!("POST http://127.0.0.1:8080{path}\n")), "{made}");
    }
}

#[test]
fn a_full_disk_is_reported() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = binary().args(["config", "example"]).stdout(full).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("cannot write to standard output"), "{error}");
}

#[test]
fn a_mistyped_directory_does_not_become_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let existing = directory.path().join("existing");
    std::fs::create_dir(&existing).unwrap();
    for data in ["dta", "existing"] {
        let (success, text) = run(directory.path(), &["migrate", "--dev", "--data", data]);
        assert!(
            !success && text.contains(&format!("no deskpass data in {data}")) && text.contains("--create"),
            "{text}"
        );
        assert!(!directory.path().join(data).join("deskpass.db").exists(), "{data}");
    }
    assert!(!directory.path().join("dta").exists());
    assert!(run(directory.path(), &["migrate", "--dev", "--data", "dta", "--create"]).0);
    assert!(run(directory.path(), &["migrate", "--dev", "--data", "dta"]).0, "there is one now");
}

/// Checks a settings file; returns the problems.
fn problems(directory: &Path, text: &str) -> String {
    std::fs::File::create(directory.join("deskpass.toml")).unwrap().write_all(text.as_bytes()).unwrap();
    let (success, text) = run(directory, &["config", "check"]);
    assert!(!success, "{text}");
    text
}

#[test]
fn the_settings_of_the_handbook_need_their_secrets_filled_in() {
    let handbook = include_str!("../docs/operations.md");
    let settings = handbook.split("```toml\n").find(|block| block.contains("corp_id = ")).unwrap();
    let settings = settings.split_once("```").unwrap().0;
    let directory = tempfile::tempdir().unwrap();
    let text = problems(directory.path(), settings);
    assert!(text.contains("platform.secret (deskpass.toml:8): it is a placeholder, not a secret"), "{text}");
    assert!(text.contains("encryption_key (deskpass.toml:4): it is not base64"), "{text}");
    // Filled in, they are good as they stand.
    let filled =
        settings.replacen("\"…\"", &format!("\"{}\"", PRODUCTION[3].1), 1).replacen('…', "0123456789abcdef", 1);
    std::fs::write(directory.path().join("deskpass.toml"), filled).unwrap();
    let (success, text) = run(directory.path(), &["config", "check"]);
    assert!(success && text.contains("valid (production mode)"), "{text}");
}

#[test]
fn a_key_that_stands_twice_is_named_without_its_value() {
    let directory = tempfile::tempdir().unwrap();
    for (text, name) in [
        ("[platform]\nsecret = \"canary-one\"\ncorp_id = \"ww\"\nsecret = \"canary-two\"\n", "secret"),
        ("platform.secret = \"canary-one\"\nplatform.secret = \"canary-two\"\n", "platform.secret"),
        ("[log]\nlevel = \"info\"\n[log]\nformat = \"json\"\n", "log"),
    ] {
        let found = problems(directory.path(), text);
        assert!(found.contains(&format!("{name} stands in the file twice")), "{found}");
        assert!(!found.contains("canary"), "{found}");
    }
}

#[test]
fn an_unknown_time_zone_is_refused_with_near_ones() {
    let check = |zone: &str| {
        let mut command = binary();
        command.args(["config", "check", "--dev"]).current_dir(std::env::temp_dir());
        with_settings(&mut command, [("notices.time_zone", zone)]);
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(check("Asia/Shanghai"), (true, String::new()));
    let (success, text) = check("Asia/Shangai");
    assert!(!success && text.contains("notices.time_zone (environment DESKPASS_NOTICES__TIME_ZONE)"), "{text}");
    assert!(text.contains("\"Asia/Shangai\" is not a time zone; near it are Asia/Shanghai"), "{text}");
}

/// The value by which the service checks its key may be removed by anyone who can write to the database.
#[test]
fn a_missing_or_changed_key_check_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let silent = free_address();
    let production = |arguments: &[&str]| {
        let mut command = binary();
        command.current_dir(directory.path()).args(arguments);
        let platform = format!("http://{silent}");
        with_settings(&mut command, PRODUCTION.into_iter().chain([("platform.api_url", &*platform)]));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(production(&["migrate", "--create"]).contains("is up to date"));
    assert!(production(&["doctor"]).contains("✓ encryption key: encryption_key is the key"));
    for (value, english, chinese) in [
        (
            "NULL",
            "! encryption key: encryption_key is right, but the database has no value",
            "! 加密密钥：encryption_key 正确，但数据库中没有",
        ),
        ("'x'", "(key_check) was changed", "（key_check）被修改过"),
    ] {
        query(&directory.path().join("data/deskpass.db"), &format!("UPDATE desk SET key_check = {value}"));
        assert!(production(&["doctor"]).contains(english), "{value}");
        assert!(production(&["doctor", "--language", "zh"]).contains(chinese), "{value}");
    }
}
