//! The example file matches the declared settings, and its values are valid.

use deskpass_core::PermissionMatrix;

use super::super::keys::KEYS;
use super::super::{example, matrix_file};
use super::{ENCRYPTION_KEY, TestSources};

const CHECKED_IN: &str = include_str!("../../../../../deskpass.example.toml");

/// Uncomments every setting; prose has a blank after its mark.
fn uncommented(text: &str) -> String {
    let lines = text.lines().map(|line| match line.strip_prefix('#') {
        Some(setting) if !setting.starts_with(' ') => setting,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The same, without the keys that belong to other platforms than the default one.
fn uncommented_for_one_platform(text: &str) -> String {
    let foreign = ["client_id", "user_id", "legacy_api_url", "token_url", "script_url", "events.encrypt_key"];
    let text = uncommented(text);
    let name = |line: &str| line.split(" = ").next().unwrap_or_default().to_owned();
    let lines = text.lines().filter(|line| !foreign.contains(&name(line).as_str()));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_checked_in_file_is_what_the_settings_render() {
    assert_eq!(CHECKED_IN, example(), "write it anew from config::example()");
}

#[test]
fn the_file_as_it_stands_sets_nothing() {
    let given = TestSources::development().toml(&example());
    assert_eq!(given.problems(), "");
    assert_eq!(given.resolve().show(), TestSources::development().resolve().show());
}

/// Adds the files that the example names and that are read with the settings.
fn with_its_files(given: TestSources) -> TestSources {
    given
        .file("/etc/deskpass/matrix.toml", &matrix_file(&PermissionMatrix::built_in()))
        .file("/etc/deskpass/wiki.secret", "6f1d0c2b9a8e7f5d4c3b2a190817263544\n")
}

#[test]
fn every_key_can_be_uncommented() {
    let given = with_its_files(TestSources::default().toml(&uncommented(&example())));
    for key in KEYS.iter() {
        let shown = given.shown(key.name);
        assert!(shown.contains("# deskpass.toml:"), "{shown}");
    }
    // Secrets stay empty, so that no published secret gets used; all other values are valid as written, but not all of them
    // belong to the same platform.
    let expected = "encryption_key (deskpass.toml:LINE): it is empty; expected 32 random bytes in \
                    base64; make them with: openssl rand -base64 32\n\
                    platform.secret (deskpass.toml:LINE): it is empty; expected a string on one line without blanks\n\
                    platform.events.token (deskpass.toml:LINE): it is empty; expected a string on one line without blanks\n\
                    platform.events.aes_key (deskpass.toml:LINE): it is empty; expected the 43 letters and digits that the \
                    platform's console generates\n\
                    platform.events.encrypt_key (deskpass.toml:LINE): it is empty; expected a string on one line without \
                    blanks\n\
                    messages.reply_secret (deskpass.toml:LINE): it is empty; expected at least 32 characters on one \
                    line without blanks; make them with: openssl rand -hex 32\n\
                    platform.client_id (deskpass.toml:LINE): it does not belong to platform.kind = \"wecom\"; the \
                    nearest key of wecom is platform.agent_id; remove this one, or set another platform.kind\n\
                    platform.user_id (deskpass.toml:LINE): it does not belong to platform.kind = \"wecom\"; remove \
                    it, or set another platform.kind\n\
                    platform.legacy_api_url (deskpass.toml:LINE): it does not belong to platform.kind = \"wecom\"; the \
                    nearest key of wecom is platform.api_url; remove this one, or set another platform.kind\n\
                    platform.token_url (deskpass.toml:LINE): it does not belong to platform.kind = \"wecom\"; the \
                    nearest key of wecom is platform.api_url; remove this one, or set another platform.kind\n\
                    platform.script_url (deskpass.toml:LINE): it does not belong to platform.kind = \"wecom\"; remove \
                    it, or set another platform.kind\n\
                    platform.events.encrypt_key (deskpass.toml:LINE): it does not belong to platform.kind = \"wecom\"; the \
                    nearest key of wecom is platform.events.aes_key; remove this one, or set another platform.kind";
    let problems = given.problems();
    let digits = |c: char| c.is_ascii_digit();
    let without_lines: Vec<_> = problems
        .lines()
        .map(|line| {
            let (before, after) = line.split_once("toml:").unwrap_or_default();
            format!("{before}toml:LINE{}", after.trim_start_matches(digits))
        })
        .collect();
    assert_eq!(without_lines.join("\n"), expected);
}

#[test]
fn uncommented_and_with_secrets_it_is_productions_default() {
    let secrets = |given: TestSources| {
        given
            .variable("DESKPASS_ENCRYPTION_KEY", ENCRYPTION_KEY)
            .variable("DESKPASS_PLATFORM__SECRET", "secret")
            .variable("DESKPASS_PLATFORM__EVENTS__TOKEN", "token")
            .variable("DESKPASS_PLATFORM__EVENTS__AES_KEY", &"k".repeat(43))
            .variable("DESKPASS_MESSAGES__REPLY_SECRET", &"k".repeat(32))
    };
    let written = with_its_files(secrets(TestSources::default().toml(&uncommented_for_one_platform(&example()))));
    // No environment variable sets a client or a role rule.
    let client = "[[oidc.clients]]\nid = \"wiki\"\nname = \"Wiki\"\nsecret_file = \"/etc/deskpass/wiki.secret\"\n\
                  redirect_uris = [\"https://wiki.example.com/callback\"]\n\
                  post_logout_redirect_uris = [\"https://wiki.example.com/\"]\n\
                  backchannel_logout_uri = \"https://wiki.example.com/backchannel-logout\"\n\
                  groups = { admin = \"wiki-admins\" }\n\
                  [[role_rules]]\nrole = \"agent\"\ndepartment = \"7\"";
    let usual = secrets(TestSources::default().toml(client))
        .variable("DESKPASS_PUBLIC_URL", "https://desk.example.com")
        .variable("DESKPASS_PLATFORM__CORP_ID", "ww0123456789abcdef")
        // These keys are optional, so the example's values are not their defaults.
        .variable("DESKPASS_PLATFORM__AGENT_ID", "1000002")
        .variable("DESKPASS_PLATFORM__API_URL", "https://platform.example.com")
        .variable("DESKPASS_PLATFORM__AUTHORIZE_URL", "https://platform.example.com/authorize")
        .variable("DESKPASS_PLATFORM__WEB_LOGIN_URL", "https://platform.example.com/login")
        .variable("DESKPASS_STORE__URL", "postgres://desk@db.example.com:5432/desk")
        .variable("DESKPASS_SHARED__URL", "redis://redis.example.com:6379")
        .variable("DESKPASS_TLS__CA_FILE", "/etc/deskpass/authority.pem")
        .variable("DESKPASS_SERVER__TLS__CERTIFICATE", "/etc/deskpass/certificate.pem")
        .variable("DESKPASS_SERVER__TLS__KEY", "/etc/deskpass/certificate.key")
        .variable("DESKPASS_PLATFORM__PROXY", "http://proxy.example.com:3128")
        .variable("DESKPASS_PLATFORM__VERIFY_FILE", "/etc/deskpass/WW_verify_0123456789abcdef.txt")
        .variable("DESKPASS_OIDC__EMAIL_DOMAIN", "example.com")
        .variable("DESKPASS_ACCESS__MATRIX_FILE", "/etc/deskpass/matrix.toml")
        .variable("DESKPASS_BRANDING__NAME", "Example Ltd")
        .variable("DESKPASS_BRANDING__LOGO", "/etc/deskpass/logo.svg")
        .variable("DESKPASS_BRANDING__ACCENT", "#0d6b5c")
        .variable("DESKPASS_NOTICES__TIME_ZONE", "Asia/Shanghai")
        .variable("DESKPASS_MESSAGES__REPLY_URL", "https://helpdesk.example.com/replies")
        .variable("DESKPASS_PAGES__DIRECTORY", "/srv/deskpass/app");
    let usual = with_its_files(usual);
    assert_eq!(format!("{:?}", written.settings()), format!("{:?}", usual.settings()));
}
