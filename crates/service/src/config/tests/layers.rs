//! The precedence of the sources, and the name of each.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::super::{Sources, load};
use super::TestSources;

const FILE: &str = "# comment\nlisten = \"127.0.0.1:1\"\n\n[session]\nlifetime = \"1h\"\n";

#[test]
fn each_source_beats_the_weaker_ones_and_is_named() {
    let given = TestSources::development();
    assert_eq!(given.shown("listen"), r#"listen = "127.0.0.1:8080" # default"#);

    let given = given.toml(FILE);
    let expected = r#"listen = "127.0.0.1:1" # deskpass.toml:2"#;
    assert_eq!(given.shown("listen"), expected);

    let given = given.variable("DESKPASS_LISTEN", "127.0.0.1:2");
    let expected = r#"listen = "127.0.0.1:2" # environment DESKPASS_LISTEN"#;
    assert_eq!(given.shown("listen"), expected);

    let given = given.flag("listen", "127.0.0.1:3", "--listen");
    assert_eq!(given.shown("listen"), r#"listen = "127.0.0.1:3" # --listen"#);
    assert_eq!(given.settings().listen.port(), 3);
}

#[test]
fn keys_in_sections_are_found_in_the_file_and_the_environment() {
    let given = TestSources::development().toml(FILE);
    let expected = r#"session.lifetime = "1h" # deskpass.toml:5"#;
    assert_eq!(given.shown("session.lifetime"), expected);

    let given = given.variable("DESKPASS_SESSION__MAX_PER_EMPLOYEE", "7");
    let expected = "session.max_per_employee = 7 # environment DESKPASS_SESSION__MAX_PER_EMPLOYEE";
    assert_eq!(given.shown("session.max_per_employee"), expected);
}

#[test]
fn dotted_and_inline_keys_are_the_same_keys() {
    let text = "log = { level = \"debug\" }\nsession.lifetime = \"2h\"";
    let given = TestSources::development().toml(text);
    assert_eq!(given.shown("log.level"), r#"log.level = "debug" # deskpass.toml:1"#);
    let expected = r#"session.lifetime = "2h" # deskpass.toml:2"#;
    assert_eq!(given.shown("session.lifetime"), expected);
}

#[test]
fn defaults_follow_the_profile() {
    let development = TestSources::development();
    let expected = "session.max_per_employee = 0 # default (development)";
    assert_eq!(development.shown("session.max_per_employee"), expected);
    let expected = r#"public_url = "http://127.0.0.1:8080" # default (development)"#;
    assert_eq!(development.shown("public_url"), expected);
    assert_eq!(development.shown("encryption_key"), "encryption_key = (not set) # default");

    let production = TestSources::production();
    let expected = "session.max_per_employee = 20 # default (production)";
    assert_eq!(production.shown("session.max_per_employee"), expected);
    let expected = r#"session.lifetime = "8h" # default"#;
    assert_eq!(production.shown("session.lifetime"), expected);
}

#[test]
fn the_profile_itself_may_come_from_any_source() {
    let by_file = TestSources::default().toml("development.enabled = true");
    assert!(by_file.settings().development.enabled);
    let by_variable = TestSources::default().variable("DESKPASS_DEVELOPMENT__ENABLED", "true");
    assert!(by_variable.settings().development.enabled);
    let overruled =
        TestSources::production().toml("development.enabled = true").variable("DESKPASS_DEVELOPMENT__ENABLED", "false");
    assert!(!overruled.settings().development.enabled);
}

#[test]
fn a_given_file_replaces_the_default_file() {
    let given =
        TestSources::development().toml(FILE).file("/etc/desk.toml", "data = \"/srv\"").config("/etc/desk.toml");
    assert_eq!(given.shown("data"), r#"data = "/srv" # /etc/desk.toml:1"#);
    assert_eq!(given.shown("listen"), r#"listen = "127.0.0.1:8080" # default"#);
}

#[test]
fn a_named_file_must_exist_and_nothing_else_is_said_to_be_missing() {
    let problems = TestSources::default().config("/etc/desk.toml").problems();
    let expected = "/etc/desk.toml: the settings file cannot be read: entity not found; \
                    see that it is there and readable, or name another with --config";
    assert_eq!(problems, expected);
}

#[test]
fn a_list_is_separated_by_commas_in_the_environment() {
    let given = TestSources::development().variable("DESKPASS_TRUSTED_PROXIES", "10.0.0.0/8, ::1");
    let expected = r#"trusted_proxies = ["10.0.0.0/8", "::1/128"] # environment DESKPASS_TRUSTED_PROXIES"#;
    assert_eq!(given.shown("trusted_proxies"), expected);

    let given = TestSources::development().variable("DESKPASS_TRUSTED_PROXIES", "");
    assert!(given.settings().trusted_proxies.is_empty());
}

#[test]
fn the_table_is_aligned_and_shows_what_is_missing_or_bad() {
    let table = TestSources::default().toml("log.level = \"loud\"").resolve().show();
    let expected = "\
log.level                          = (not valid)                  # deskpass.toml:1
log.format                         = \"json\"                       # default (production)
";
    assert!(table.ends_with(expected), "{table}");
    let line = "platform.secret                    = (not set)                    # required in production\n";
    assert!(table.contains(line), "{table}");
}

#[test]
fn loading_is_resolving_and_checking() {
    let read = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
    let mut sources = Sources { file: None, environment: Vec::new(), overrides: Vec::new(), read: &read };
    assert_eq!(load(&sources).map_err(|error| error.problems.len()).err(), Some(4));

    let name = OsString::from("DESKPASS_DEVELOPMENT__ENABLED");
    sources.environment.push((name, OsString::from("true")));
    assert!(load(&sources).is_ok_and(|settings| settings.development.enabled));
}

#[cfg(unix)]
#[test]
fn only_our_own_variables_have_to_be_text() {
    use std::os::unix::ffi::OsStringExt as _;

    let read = |_: &Path| Ok("development.enabled = true".to_owned());
    let odd = |name: &str| (OsString::from(name), OsString::from_vec(vec![0xff]));
    let mut sources = Sources { file: None, environment: vec![odd("LESSOPEN")], overrides: Vec::new(), read: &read };
    assert!(load(&sources).is_ok());

    sources.environment.push(odd("DESKPASS_DATA"));
    let problems = load(&sources).map_err(|error| error.to_string()).err();
    let expected = "environment DESKPASS_DATA: its value is not UTF-8; set it to plain text";
    assert_eq!(problems.as_deref(), Some(expected));
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_absent() {
    let read = |_: &Path| Err(io::Error::from(io::ErrorKind::PermissionDenied));
    let sources = Sources { file: None, environment: Vec::new(), overrides: Vec::new(), read: &read };
    let problems = load(&sources).map_err(|error| error.to_string()).err();
    let told = problems.unwrap_or_default();
    assert!(told.starts_with("deskpass.toml: the settings file cannot be read"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}
