//! Data of one platform is not opened with the settings of another: people are known by the identifiers of one platform.

use std::path::Path;
use std::process::Command;

use crate::harness::{Servers, StoreBackend, TestApp, binary, finished, query, settings, with_settings};

const RECORDED: &str = "SELECT platform_kind, person_id FROM desk";
const DEVELOPMENT: (&str, &str) = ("development.enabled", "true");
const FEISHU: (&str, &str) = ("platform.kind", "feishu");
const OPEN_ID: (&str, &str) = ("platform.user_id", "open_id");

/// What an operator on this store is told to change.
fn elsewhere() -> &'static str {
    if StoreBackend::current() == StoreBackend::Embedded { "--data" } else { "store.url" }
}

on_every_store! {
    async fn data_of_one_platform_does_not_open_under_another() {
        let app = TestApp::start().await;
        assert_eq!(app.query(RECORDED), ["wecom|userid"]);
        app.client().await.sign_in("admin01").await;
        let mut app = app.restart().await;
        app.client().await.sign_in("admin01").await;
        app.stop().await;
        let why = app.reopen_error(&[DEVELOPMENT, FEISHU]).await;
        for words in [
            r#"its data belongs to platform.kind = "wecom", and the settings have platform.kind = "feishu""#,
            r#"set platform.kind = "wecom" (with every command: --platform wecom), or begin with new data: "#,
            elsewhere(),
        ] {
            assert!(why.contains(words), "{why}");
        }
        assert_eq!(why.lines().count(), 1, "{why}");
    }

    async fn people_stay_known_by_the_identifier_of_the_first_start() {
        let mut app = TestApp::with(settings(&[DEVELOPMENT, FEISHU])).await;
        assert_eq!(app.query(RECORDED), ["feishu|user_id"]);
        app.stop().await;
        let why = app.reopen_error(&[DEVELOPMENT, FEISHU, OPEN_ID]).await;
        for words in [
            r#"its employees are known by platform.user_id = "user_id", and the settings have platform.user_id = "open_id""#,
            "roles, agents, passwords and devices belong to the former identifiers",
            r#"set platform.user_id = "user_id", or begin with new data: "#,
            elsewhere(),
        ] {
            assert!(why.contains(words), "{why}");
        }
    }
}

/// A command in development mode, with these settings besides.
fn command(directory: &Path, arguments: &[&str], given: &[(&str, &str)]) -> Command {
    let mut command = binary();
    command.current_dir(directory).args(arguments).arg("--dev").env_remove("LC_ALL").env_remove("LANG");
    with_settings(&mut command, given.iter().copied());
    command
}

/// Runs a command to its end; returns whether it succeeded, and its output.
fn run(directory: &Path, arguments: &[&str], given: &[(&str, &str)]) -> (bool, String) {
    let output = finished(&mut command(directory, arguments, given));
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), text)
}

fn succeed(directory: &Path, arguments: &[&str], given: &[(&str, &str)]) {
    let (success, text) = run(directory, arguments, given);
    assert!(success, "{arguments:?}: {text}");
}

const OTHER: &str =
    r#"its data belongs to platform.kind = "feishu", and the settings have platform.kind = "wecom", where no employee"#;

#[test]
fn every_command_that_writes_refuses_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    succeed(at, &["migrate", "--create"], &[FEISHU]);
    let people = || query(&at.join("data/deskpass.db"), "SELECT corp_id, employee_key FROM employee ORDER BY 2");
    let before = people();
    for arguments in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["migrate"],
        &["employee", "add", "lisi", "--role", "user"],
        &["role", "grant", "user01", "admin"],
        &["session", "end-all", "--yes"],
        &["key", "rotate"],
        &["clock", "repair", "--yes"],
        &["audit", "restart", "--key-is-lost"],
    ] {
        let (success, text) = run(at, arguments, &[]);
        assert!(!success && text.contains(OTHER), "{arguments:?}: {text}");
    }
    assert_eq!(people(), before);
    assert_eq!(query(&at.join("data/deskpass.db"), RECORDED), ["feishu|user_id"]);
    succeed(at, &["employee", "add", "lisi", "--role", "user"], &[FEISHU]);
}

/// A command may run with other settings than the service will, so it does not decide for it.
#[test]
fn a_command_does_not_decide_the_platform_of_new_data() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    succeed(at, &["employee", "add", "lisi", "--role", "user"], &[]);
    succeed(at, &["migrate"], &[]);
    assert_eq!(query(&at.join("data/deskpass.db"), "SELECT count(*) FROM desk WHERE platform_kind IS NULL"), ["1"]);
    succeed(at, &["migrate", "--create"], &[FEISHU]);
    assert_eq!(query(&at.join("data/deskpass.db"), RECORDED), ["feishu|user_id"]);
}

#[test]
fn the_doctor_reports_the_other_platform_in_both_languages() {
    let directory = tempfile::tempdir().unwrap();
    succeed(directory.path(), &["migrate", "--create"], &[FEISHU]);
    let (success, text) = run(directory.path(), &["doctor"], &[]);
    assert!(!success && text.contains(&format!("✗ data: ./data cannot be used: {OTHER}")), "{text}");
    assert!(text.contains(r#"set platform.kind = "feishu", or begin with new data"#), "{text}");
    let (_, text) = run(directory.path(), &["doctor", "--language", "zh"], &[]);
    assert!(text.contains(r#"✗ 数据：无法使用 ./data：数据属于 platform.kind = "feishu""#), "{text}");
    let (_, text) = run(directory.path(), &["doctor"], &[FEISHU]);
    assert!(text.contains("✓ data: ./data can be opened and written"), "{text}");
}

#[test]
fn the_doctor_reports_people_of_another_corporation_than_that_of_the_settings() {
    let directory = tempfile::tempdir().unwrap();
    let corporation = |id| [FEISHU, ("platform.corp_id", id)];
    succeed(directory.path(), &["employee", "add", "lisi", "--role", "admin"], &corporation("guessed"));
    let doctor = |language, id| run(directory.path(), &["doctor", "--language", language], &corporation(id)).1;
    let text = doctor("en", "right");
    let warning =
        r#"! corporation: all roles belong to people of guessed, and none to people of platform.corp_id = "right""#;
    assert!(text.contains(warning) && text.contains("`deskpass employee add`"), "{text}");
    assert!(doctor("zh", "right").contains("! 企业：所有角色都属于 guessed 的人员"), "{text}");
    let text = doctor("en", "guessed");
    assert!(!text.contains("corporation: "), "{text}");
}

#[test]
fn a_backup_is_restored_with_settings_of_its_platform_alone() {
    let [source, target] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    succeed(source.path(), &["migrate", "--create"], &[FEISHU, OPEN_ID]);
    let file = source.path().join("all");
    let file = file.to_str().unwrap();
    // A backup only reads, so the settings need not fit.
    succeed(source.path(), &["backup", file], &[]);
    let (success, text) = run(target.path(), &["restore", file], &[]);
    assert!(!success && text.contains("nothing was restored: ") && text.contains(OTHER), "{text}");
    assert!(text.contains(r#"set platform.kind = "feishu""#), "{text}");
    let (success, text) = run(target.path(), &["restore", file], &[FEISHU]);
    assert!(!success && text.contains(r#"set platform.user_id = "open_id""#), "{text}");
    assert!(!target.path().join("data/deskpass.db").exists(), "nothing was made");
    succeed(target.path(), &["restore", file], &[FEISHU, OPEN_ID]);
    assert_eq!(query(&target.path().join("data/deskpass.db"), RECORDED), ["feishu|open_id:cli_deskpass"]);
    // Another application has other identifiers for the same people.
    let (success, text) = run(target.path(), &["migrate"], &[FEISHU, OPEN_ID, ("platform.client_id", "cli_other")]);
    assert!(!success && text.contains(r#"set platform.client_id = "cli_deskpass", or begin with new data"#), "{text}");
}

#[test]
fn a_copy_keeps_its_platform() {
    let directory = tempfile::tempdir().unwrap();
    succeed(directory.path(), &["migrate", "--create"], &[FEISHU]);
    let place = Servers::shared().cluster_store();
    succeed(directory.path(), &["copy", "--from", "sqlite:data", "--to", &place.store], &[]);
    assert_eq!(place.query(RECORDED), ["feishu|user_id"]);
    let (success, text) = run(directory.path(), &["migrate"], &place.settings());
    assert!(!success && text.contains(OTHER) && text.contains("choose another database with store.url"), "{text}");
    succeed(directory.path(), &["migrate"], &[&place.settings()[..], &[FEISHU]].concat());
}
