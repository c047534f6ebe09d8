//! Which settings a reload changes.

use super::super::keys::KEYS;
use super::TestSources;

#[test]
fn what_needs_a_restart_is_decided_for_every_key() {
    let fixed: Vec<_> = KEYS.iter().filter(|key| key.restart).map(|key| key.name).collect();
    // What a new setting needs is decided where it is declared; this list shows a decision that was not meant.
    let expected = [
        "listen",
        "data",
        "public_url",
        "encryption_key",
        "development.enabled",
        "development.allow_remote",
        "development.hosts",
        "store.url",
        "store.connections",
        "store.timeout",
        "shared.url",
        "shared.prefix",
        "shared.timeout",
        "shared.max_sign_ins",
        "tls.ca_file",
        "platform.kind",
        "platform.corp_id",
        "platform.client_id",
        "platform.agent_id",
        "platform.user_id",
        "platform.api_url",
        "platform.authorize_url",
        "platform.web_login_url",
        "platform.legacy_api_url",
        "platform.token_url",
        "platform.script_url",
        "session.cache_entries",
        "log.format",
    ];
    assert_eq!(fixed, expected);
}

#[test]
fn a_reload_takes_what_may_change_and_keeps_the_rest() {
    let running = TestSources::production().settings();
    let new = TestSources::production()
        .toml(
            "listen = \"127.0.0.1:9090\"\nsession.lifetime = \"1h\"\nlimits.qrcode = \"1/min\"\nlog.format = \"text\"",
        )
        .variable("DESKPASS_PLATFORM__SECRET", "another-secret")
        .settings();
    let (merged, diff) = running.reload(new.clone());
    assert_eq!(diff.reloaded, ["platform.secret", "session.lifetime", "limits.qrcode"]);
    assert_eq!(diff.need_restart, ["listen", "log.format"]);
    assert_eq!((merged.listen, merged.log.format), (running.listen, running.log.format));
    assert_eq!((merged.session.lifetime, merged.limits.qrcode), (new.session.lifetime, new.limits.qrcode));
    // What needs a restart is named again, what was taken is not.
    let (_, again) = merged.reload(new);
    assert!(again.reloaded.is_empty(), "{again:?}");
    assert_eq!(again.need_restart, ["listen", "log.format"]);
}

#[test]
fn a_reload_that_fits_only_after_a_restart_is_refused() {
    let local = TestSources::production().without_variable("DESKPASS_PUBLIC_URL");
    let plain = local.toml("public_url = \"http://localhost\"").resolve();
    let pair = "server.tls.certificate = \"/c.pem\"\nserver.tls.key = \"/k.pem\"";
    let encrypted = TestSources::production().toml(pair).resolve();
    assert!(plain.check().is_ok() && encrypted.check().is_ok());
    // The address would stay http, and the service would speak TLS.
    let problems = encrypted.clone().keep_fixed(&plain).map_or_else(|error| error.to_string(), |_| String::new());
    assert!(problems.contains("public_url") && problems.contains("begin it with https://"), "{problems}");
    assert!(encrypted.clone().keep_fixed(&encrypted).is_ok());
    let behind_a_proxy = TestSources::production().resolve();
    assert!(encrypted.keep_fixed(&behind_a_proxy).is_ok());
}

#[test]
fn a_certificate_and_its_key_are_set_together_and_need_https() {
    let certificate = "server.tls.certificate = \"/c.pem\"";
    let problems = TestSources::production().toml(certificate).problems();
    assert!(problems.contains("server.tls.certificate") && problems.contains("set server.tls.key too"), "{problems}");
    let both = TestSources::production().toml("[server.tls]\ncertificate = \"/c.pem\"\nkey = \"/k.pem\"");
    let settings = both.settings();
    assert_eq!(settings.server.tls_key.as_deref(), Some(std::path::Path::new("/k.pem")));
    assert!(settings.secret_files.contains(&"/k.pem".into()));
}
