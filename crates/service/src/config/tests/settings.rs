//! The values in the resulting settings.

use std::time::Duration;

use deskpass_core::Rate;

use super::super::keys::KEYS;
use super::super::{BindMode, Language, LogFormat, LogLevel, PasswordFallback, SecretUrl};
use super::{ENCRYPTION_KEY, TestSources};

#[test]
fn development_runs_without_any_setting() {
    let settings = TestSources::development().settings();
    assert!(settings.development.enabled);
    assert_eq!(&*settings.public_url, "http://127.0.0.1:8080");
    assert_eq!(settings.default_language, Language::En);
    assert_eq!(settings.trusted_proxies.len(), 7);
    assert_eq!(&*settings.platform.corp_id, "wwdeskpass");
    assert!(settings.platform.secret.is_none());
    assert_eq!(settings.session.lifetime, Duration::from_hours(8));
    assert_eq!(settings.session.max_per_employee, None);
    assert_eq!(settings.session.cache_entries, 1_000_000);
    assert_eq!(settings.bind.mode, BindMode::Auto);
    assert_eq!(settings.agents.password_fallback, PasswordFallback::Always);
    assert!(!settings.limits.enabled);
    assert_eq!(settings.server.max_body.bytes(), 65_536);
    assert_eq!(settings.server.settle, Duration::ZERO);
    assert!(settings.server.operator_networks.iter().all(|network| network.addr().is_loopback()));
    assert_eq!(settings.log.level, LogLevel::Info);
    assert_eq!(settings.log.format, LogFormat::Text);
}

#[test]
fn production_has_its_own_defaults() {
    let settings = TestSources::production().settings();
    assert_eq!(settings.session.max_per_employee.map(usize::from), Some(20));
    assert_eq!(settings.bind.mode, BindMode::Auto);
    assert_eq!(settings.agents.password_fallback, PasswordFallback::Outage);
    assert!(settings.limits.enabled);
    let trusted: Vec<_> = settings.trusted_proxies.iter().map(ToString::to_string).collect();
    assert_eq!(trusted, ["127.0.0.0/8", "::1/128"], "no network in which clients are");
    let ten_a_minute = Rate::new(10, Duration::from_mins(1));
    assert_eq!((settings.limits.agents_login, settings.limits.otp), (ten_a_minute, ten_a_minute));
    assert_eq!(settings.server.settle, Duration::from_secs(5));
    assert_eq!(settings.log.format, LogFormat::Json);
}

#[test]
fn weak_settings_are_told_in_production() {
    let networks = [("bind.mode", "open"), ("bind.networks", "192.0.2.0/24"), ("trusted_proxies", "192.0.2.9")];
    let open =
        |given: TestSources| networks.into_iter().fold(given, |given, (key, value)| given.flag(key, value, "--flag"));
    let always = |given: TestSources| given.flag("agents.password_fallback", "always", "--flag");
    let keys = |given: TestSources| -> Vec<_> {
        let warnings = given.settings().warnings();
        warnings.iter().filter_map(|caution| caution.split(' ').next().map(str::to_owned)).collect()
    };
    assert_eq!(keys(TestSources::production()), [""; 0]);
    assert_eq!(keys(open(TestSources::production())), ["bind.mode"]);
    assert_eq!(keys(always(TestSources::production())), ["agents.password_fallback"]);
    assert_eq!(keys(always(open(TestSources::production()))), ["bind.mode", "agents.password_fallback"]);
    let trusting = |networks: &str| keys(TestSources::production().flag("trusted_proxies", networks, "--flag"));
    for narrow in ["10.0.0.5", "10.0.0.4/30", "127.0.0.0/8", "2001:db8::4/126", "10.0.0.5,10.0.0.6,::1"] {
        assert_eq!(trusting(narrow), [""; 0], "{narrow}");
    }
    for wide in ["10.0.0.0/8", "10.0.0.5,192.168.0.0/16", "fc00::/7", "10.0.0.0/29", "2001:db8::/64", "2001:db8::/125"]
    {
        assert_eq!(trusting(wide), ["trusted_proxies"], "{wide}");
    }
    let listening = |given: TestSources| keys(given.flag("listen", "0.0.0.0:8080", "--listen"));
    assert_eq!(listening(TestSources::production()), ["trusted_proxies"], "the proxy is probably on another machine");
    assert_eq!(listening(TestSources::production().flag("trusted_proxies", "10.0.0.5", "--flag")), [""; 0]);
    assert_eq!(listening(TestSources::production().flag("trusted_proxies", "", "--flag")), [""; 0], "there is none");
    assert_eq!(keys(TestSources::development()), [""; 0]);
}

#[test]
fn the_log_is_kept_for_a_day_at_least() {
    assert_eq!(TestSources::production().settings().audit.retention, Duration::from_hours(400 * 24));
    for (text, kept) in [("1d", 1), ("3650d", 3650), ("48h", 2)] {
        let given = TestSources::production().variable("DESKPASS_AUDIT__RETENTION", text);
        assert_eq!(given.settings().audit.retention, Duration::from_hours(kept * 24));
    }
    for text in ["0d", "0s", "23h", "3651d"] {
        let problems = TestSources::production().variable("DESKPASS_AUDIT__RETENTION", text).problems();
        assert!(
            problems.ends_with("is out of range; expected a duration from 1d to 3650d such as \"90d\""),
            "{problems}"
        );
    }
}

/// Values of every type. Each key accepts one that is the default of neither profile.
const VALUES: &[&str] = &[
    "true",
    "false",
    "9",
    "9000",
    "9s",
    "9d",
    "9/min",
    "9KiB",
    "off",
    "none",
    "zh",
    "trace",
    "text",
    "192.0.2.0/24",
    "127.0.0.1:9",
    "desk.test",
    "https://other.example.com",
    "#123456",
    "Asia/Tokyo",
    "other",
];

/// Keys that have tests of their own, because they are secrets or depend on other settings.
const TESTED_ELSEWHERE: &[&str] = &[
    "encryption_key",
    "store.url",
    "shared.url",
    "platform.kind",
    "platform.client_id",
    "platform.secret",
    "platform.events.token",
    "platform.events.aes_key",
    "platform.events.encrypt_key",
    "platform.user_id",
    "platform.legacy_api_url",
    "platform.token_url",
    "platform.script_url",
    "approval.methods",
    "access.matrix_file",
    "messages.reply_url",
    "messages.reply_secret",
    "server.tls.certificate",
    "server.tls.key",
    "development.enabled",
    "development.allow_remote",
];

#[test]
fn every_key_reaches_the_settings() {
    let mut seen = vec![format!("{:?}", TestSources::production().settings())];
    for key in KEYS.iter().filter(|key| !TESTED_ELSEWHERE.contains(&key.name)) {
        let with = |value: &&str| TestSources::production().flag(key.name, value, "--flag").check().ok();
        let mut changed = VALUES.iter().filter_map(with).map(|settings| format!("{settings:?}"));
        let changed = changed.find(|settings| !seen.contains(settings));
        seen.push(changed.unwrap_or_else(|| panic!("{} changes nothing of its own", key.name)));
    }
}

#[test]
fn the_pair_arrives_whole_in_both_modes() {
    let urls = ["postgres://desk:hunter2@db/desk", "redis://:hunter2@redis:6379"];
    for given in [TestSources::development(), TestSources::production()] {
        let [store, shared] = urls;
        let settings = given.variable("DESKPASS_STORE__URL", store).variable("DESKPASS_SHARED__URL", shared).settings();
        assert_eq!(settings.store.url.as_deref().map(SecretUrl::expose), Some(store));
        assert_eq!(settings.shared.url.as_deref().map(SecretUrl::expose), Some(shared));
        assert_eq!((settings.store.connections, &*settings.shared.prefix), (10, "deskpass"));
        assert_eq!(settings.data_location(), "postgres://desk:***@db/desk");
    }
    assert_eq!(TestSources::development().settings().data_location(), "./data");
}

#[test]
fn what_is_left_in_redis_is_sealed_with_the_encryption_key() {
    assert_eq!(TestSources::production().settings().sealing_key(), [0xff; 32]);
    let development = TestSources::development();
    assert_eq!(development.settings().sealing_key(), *b"deskpass in development: no key!");
    let given = development.variable("DESKPASS_ENCRYPTION_KEY", ENCRYPTION_KEY);
    assert_eq!(given.settings().sealing_key(), [0xff; 32]);
}

#[test]
fn choices_are_written_as_they_are_read() {
    assert_eq!(Language::Zh.to_string(), "zh");
    assert_eq!(LogLevel::Trace.to_string(), "trace");
    assert_eq!(LogFormat::Json.to_string(), "json");
}
