//! Secrets: their sources, and that they are never printed.

use super::super::SecretUrl;
use super::{ENCRYPTION_KEY, TestSources};

const SECRET: &str = "hunter2-密";

fn production_without_secret() -> TestSources {
    TestSources::production().without_variable("DESKPASS_PLATFORM__SECRET")
}

#[track_caller]
fn secret_of(given: &TestSources) -> String {
    let secret = given.settings().platform.secret;
    secret.map_or_else(String::new, |secret| secret.expose().to_owned())
}

/// All output that could be printed about these settings.
fn all_output(given: &TestSources) -> String {
    let resolved = given.resolve();
    let checked = resolved.check();
    let told = checked.as_ref().map_or_else(ToString::to_string, |_| String::new());
    format!("{resolved:?}\n{resolved:#?}\n{}\n{checked:?}\n{told}", resolved.show())
}

#[test]
fn a_secret_is_read_from_the_file_that_its_variable_names() {
    for (content, secret) in [("hunter2", "hunter2"), ("hunter2\n", "hunter2"), ("hunter2\r\n", "hunter2")] {
        let given = production_without_secret()
            .variable("DESKPASS_PLATFORM__SECRET_FILE", "/run/secret")
            .file("/run/secret", content);
        assert_eq!(secret_of(&given), secret);
        let expected = "platform.secret = ******** # file /run/secret (DESKPASS_PLATFORM__SECRET_FILE)";
        assert_eq!(given.shown("platform.secret"), expected);
    }
}

#[test]
fn a_secrets_file_beats_the_settings_file() {
    let given = production_without_secret()
        .toml("platform.secret = \"weaker\"")
        .variable("DESKPASS_PLATFORM__SECRET_FILE", "/run/secret")
        .file("/run/secret", "stronger");
    assert_eq!(secret_of(&given), "stronger");
}

#[test]
fn only_one_trailing_newline_is_forgiven() {
    let given = production_without_secret()
        .variable("DESKPASS_PLATFORM__SECRET_FILE", "/run/secret")
        .file("/run/secret", "hunter2\n\n");
    let expected = "platform.secret (file /run/secret (DESKPASS_PLATFORM__SECRET_FILE)): it contains \
                    a line break or another control character; expected a string on one line without blanks";
    assert_eq!(given.problems(), expected);
}

#[test]
fn a_secret_with_a_blank_is_refused() {
    for content in [" hunter2", "hunter2 ", "hunter2 \n", "hunter 2", "hunter2\u{3000}"] {
        let given = production_without_secret()
            .variable("DESKPASS_PLATFORM__SECRET_FILE", "/run/secret")
            .file("/run/secret", content);
        let expected = "platform.secret (file /run/secret (DESKPASS_PLATFORM__SECRET_FILE)): it contains \
                        a blank; expected a string on one line without blanks";
        assert_eq!(given.problems(), expected, "{content:?}");
    }
}

#[test]
fn a_secrets_file_must_exist() {
    let given = production_without_secret().variable("DESKPASS_PLATFORM__SECRET_FILE", "/gone");
    let expected = "platform.secret (file /gone (DESKPASS_PLATFORM__SECRET_FILE)): \
                    the file cannot be read: entity not found; check its path and permissions";
    assert_eq!(given.problems(), expected);
}

#[test]
fn a_secret_given_both_ways_is_refused() {
    let given =
        TestSources::production().variable("DESKPASS_PLATFORM__SECRET_FILE", "/run/secret").file("/run/secret", SECRET);
    let expected = "platform.secret (environment DESKPASS_PLATFORM__SECRET): \
                    DESKPASS_PLATFORM__SECRET_FILE is set too; unset one of the two";
    assert_eq!(given.problems(), expected);
    assert_eq!(given.shown("platform.secret"), "platform.secret = (not valid) # environment DESKPASS_PLATFORM__SECRET");
}

#[test]
fn valid_secrets_are_masked_everywhere() {
    let given = production_without_secret().variable("DESKPASS_PLATFORM__SECRET", SECRET);
    let output = all_output(&given);
    assert!(!output.contains(SECRET), "{output}");
    assert!(!output.contains(ENCRYPTION_KEY), "{output}");
    assert!(!output.contains("255, 255"), "{output}");
    let expected = "encryption_key = ******** # environment DESKPASS_ENCRYPTION_KEY";
    assert_eq!(given.shown("encryption_key"), expected);
}

#[test]
fn passwords_in_addresses_are_masked_everywhere_and_may_come_from_a_file() {
    let given = TestSources::production()
        .variable("DESKPASS_STORE__URL_FILE", "/run/store")
        .file("/run/store", &format!("postgres://desk:{SECRET}@db.example.com/desk\n"))
        .variable("DESKPASS_SHARED__URL", &format!("rediss://:{SECRET}@redis.example.com"));
    let url = given.settings().store.url;
    assert_eq!(
        url.as_deref().map(SecretUrl::expose),
        Some(format!("postgres://desk:{SECRET}@db.example.com/desk").as_str())
    );
    let output = all_output(&given);
    assert!(!output.contains(SECRET), "{output}");
    assert_eq!(
        given.shown("store.url"),
        "store.url = \"postgres://desk:***@db.example.com/desk\" # file /run/store (DESKPASS_STORE__URL_FILE)"
    );
    let expected = "shared.url = \"rediss://:***@redis.example.com\" # environment DESKPASS_SHARED__URL";
    assert_eq!(given.shown("shared.url"), expected);
}

#[test]
fn bad_secrets_are_not_repeated() {
    let broken = [
        "encryption_key = \"hunter2\"",
        "platform.secret = \"hunter2\\u0007\"",
        "platform.secret = \"hunter2 \"",
        "encryption_key = [\"hunter2\"]",
        "platform.secret = \"hunter2",
        "platform.secret = hunter2",
        "platform.secret = \"hunter2\" \"hunter2\"",
        "platform.secrets = \"hunter2\"",
        "platform.secret.hunter = \"hunter2\"",
        "public_url = \"https://me:hunter2@desk.example.com\"",
        "store.url = \"postgres://desk:hunter2@\"",
        "store.url = \"hunter2\"",
        "shared.url = \"redis://hunter2@redis\"",
        "shared.url = [\"redis://:hunter2@redis\"]",
    ];
    for text in broken {
        let given = TestSources::default().toml(text);
        assert!(!given.problems().is_empty(), "{text}");
        let output = all_output(&given);
        assert!(!output.contains("hunter2"), "{output}");
    }
    let given = TestSources::default().variable("DESKPASS_ENCRYPTION_KEY", "hunter2");
    assert!(!all_output(&given).contains("hunter2"));
}

#[test]
fn the_encryption_key_arrives_whole() {
    let key = TestSources::production().settings().encryption_key;
    assert_eq!(key.map(|list| *list.keys().first()), Some([0xff; 32]));
}

#[test]
fn several_keys_are_a_list_in_the_file_and_lines_or_commas_elsewhere() {
    let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let base = || TestSources::production().without_variable("DESKPASS_ENCRYPTION_KEY");
    let in_file = |text: &str| base().variable("DESKPASS_ENCRYPTION_KEY_FILE", "/run/keys").file("/run/keys", text);
    for given in [
        base().toml(&format!("encryption_key = [\"{ENCRYPTION_KEY}\", \"{other}\"]")),
        base().variable("DESKPASS_ENCRYPTION_KEY", &format!("{ENCRYPTION_KEY}, {other}")),
        in_file(&format!("{ENCRYPTION_KEY}\n{other}\n")),
    ] {
        let keys = given.settings().sealing_keys();
        assert_eq!((keys.first(), keys.others()), (&[0xff; 32], &[[0; 32]][..]));
        assert!(!all_output(&given).contains(other));
    }
    let twice = base().variable("DESKPASS_ENCRYPTION_KEY", &format!("{other},{other}"));
    assert!(twice.problems().contains("it has the same key twice"), "{}", twice.problems());
}

#[test]
fn the_files_that_hold_secrets_are_known() {
    let files = |given: &TestSources| {
        let files = given.settings().secret_files;
        files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
    };
    let in_file = |text: &str| production_without_secret().toml(text);
    assert_eq!(files(&TestSources::production()), [""; 0], "the environment is no file");
    assert_eq!(files(&in_file("listen = \"127.0.0.1:9\"\nplatform.secret = \"hunter2\"")), ["deskpass.toml"]);
    let own = in_file("listen = \"127.0.0.1:9\"").variable("DESKPASS_PLATFORM__SECRET_FILE", "/run/secret");
    assert_eq!(files(&own.file("/run/secret", "hunter2")), ["/run/secret"]);
    let pair = |store: &str| {
        TestSources::production().toml(&format!("store.url = \"{store}\"\nshared.url = \"redis://redis\""))
    };
    assert_eq!(files(&pair("postgres://desk@db/desk")), [""; 0], "there is no password in it");
    assert_eq!(files(&pair("postgres://desk:hunter2@db/desk")), ["deskpass.toml"]);
}
