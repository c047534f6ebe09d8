//! The settings of the platform's events, of periods and of approvals.

use std::time::Duration;

use deskpass_platform::PlatformKind;

use super::super::value::{EventKey, SecretText};
use super::super::{ApprovalMethod, ConfigProblem, NumberMatching};
use super::TestSources;

const KEY: &str = "kWxPEV2UEDyxWpmPdKC3F4dgPDmOvfKX1HGnEUDS1aR";

/// Development mode with a platform of this kind and these lines of its section.
fn platform(kind: PlatformKind, lines: &str) -> TestSources {
    let text = format!("[platform]\n{lines}");
    TestSources::development().flag("platform.kind", kind.name(), "--platform").toml(&text)
}

#[test]
fn each_platform_has_its_own_secrets_of_events() {
    for kind in [PlatformKind::Wecom, PlatformKind::Dingtalk] {
        let settings = platform(kind, &format!("events.token = \"t0ken\"\nevents.aes_key = \"{KEY}\"")).settings();
        let (token, key) = (settings.platform.events_token, settings.platform.events_aes_key);
        assert_eq!(token.as_ref().map(SecretText::expose), Some("t0ken"), "{kind:?}");
        assert_eq!(key.as_ref().map(EventKey::expose), Some(KEY), "{kind:?}");
        assert!(!format!("{token:?} {key:?}").contains("t0ken"));
    }
    for lines in ["events.encrypt_key = \"test-key\"", "events.encrypt_key = \"test-key\"\nevents.token = \"v_token\""]
    {
        assert_eq!(platform(PlatformKind::Feishu, lines).problems(), "");
    }
    let given = platform(PlatformKind::Wecom, &format!("events.token = \"t0ken\"\nevents.aes_key = \"{KEY}\""));
    assert_eq!(given.shown("platform.events.aes_key"), "platform.events.aes_key = ******** # deskpass.toml:3");
    assert_eq!(given.settings().secret_files, [std::path::PathBuf::from("deskpass.toml")]);
}

#[test]
fn what_is_missing_or_belongs_to_another_platform_is_named_in_both_languages() {
    let (token, key) = ("events.token = \"t0ken\"", format!("events.aes_key = \"{KEY}\""));
    let (secret, long) = ("events.encrypt_key = \"test-key\"", format!("events.token = \"{}\"", "a".repeat(33)));
    for (kind, lines, english, chinese) in [
        (
            PlatformKind::Wecom,
            token.to_owned(),
            "set platform.events.aes_key too",
            "请同时设置 platform.events.aes_key",
        ),
        (PlatformKind::Dingtalk, key.clone(), "set platform.events.token too", "请同时设置 platform.events.token"),
        (PlatformKind::Feishu, token.to_owned(), "the platform signs nothing", "平台不签名"),
        (PlatformKind::Wecom, format!("{long}\n{key}"), "it is not 1 to 32 letters", "不是 1 到 32 位字母和数字"),
        (
            PlatformKind::Dingtalk,
            format!("events.token = \"a-b\"\n{key}"),
            "openssl rand -hex 16",
            "openssl rand -hex 16",
        ),
        (PlatformKind::Wecom, format!("{token}\nevents.aes_key = \"short\""), "5 characters instead of 43", "5 个字符"),
        (PlatformKind::Wecom, secret.to_owned(), "of wecom is platform.events.aes_key", "platform.events.aes_key"),
        (PlatformKind::Feishu, key, "of feishu is platform.events.encrypt_key", "platform.events.encrypt_key"),
    ] {
        let problems = platform(kind, &lines).check().map_or_else(|error| error.problems, |_| Vec::new());
        let told = |text: fn(&ConfigProblem) -> String| problems.iter().map(text).collect::<Vec<_>>().join("\n");
        let (in_english, in_chinese) = (told(ConfigProblem::to_string), told(ConfigProblem::in_chinese));
        assert_eq!(problems.len(), 1, "{in_english}");
        assert!(in_english.contains(english) && in_chinese.contains(chinese), "{in_english}\n{in_chinese}");
    }
}

#[test]
fn a_period_can_be_off() {
    let defaults = TestSources::development().settings();
    assert_eq!(defaults.recheck.period, Some(Duration::from_hours(1)));
    assert_eq!(defaults.sync.period, Some(Duration::from_hours(24)));
    for off in ["0", "\"0\"", "\"0s\""] {
        let given = TestSources::development().toml(&format!("[recheck]\nperiod = {off}"));
        assert_eq!(given.settings().recheck.period, None, "{off}");
        assert_eq!(given.shown("recheck.period"), "recheck.period = \"0\" # deskpass.toml:2");
    }
    let given = TestSources::development().variable("DESKPASS_SYNC__PERIOD", "30s");
    assert_eq!(
        given.problems(),
        "sync.period (environment DESKPASS_SYNC__PERIOD): \"30s\" is out of range; expected a duration from 10m to 30d \
         such as \"30m\" or \"1m30s\", or \"0\" for off"
    );
}

#[test]
fn changes_can_be_confirmed_in_at_least_one_way() {
    let methods = |list: &str| TestSources::production().toml(&format!("[approval]\nmethods = {list}"));
    let both = [ApprovalMethod::Otp, ApprovalMethod::Phone];
    assert_eq!(TestSources::development().settings().approval.methods, both);
    // An account at the platform does not become the second factor by an upgrade.
    assert_eq!(TestSources::production().settings().approval.methods, [ApprovalMethod::Otp]);
    assert_eq!(methods("[\"otp\"]").settings().approval.methods, [ApprovalMethod::Otp]);
    assert!(methods("[]").problems().contains("nobody could confirm a high-risk change; list"));
    assert!(methods("[\"sms\"]").problems().contains("\"sms\" is not one of the choices"));
    let only_phone = methods("[\"phone\"]");
    assert!(
        only_phone.problems().contains("without platform.agent_id no phone can be asked"),
        "{}",
        only_phone.problems()
    );
    assert_eq!(only_phone.variable("DESKPASS_PLATFORM__AGENT_ID", "1000002").problems(), "");
}

#[test]
fn numbers_are_matched_in_production() {
    assert_eq!(TestSources::production().settings().qr.number_match, NumberMatching::On);
    assert_eq!(TestSources::development().settings().qr.number_match, NumberMatching::Off);
    let always = TestSources::production().toml("[qr]\nnumber_match = \"always\"");
    assert_eq!(always.settings().qr.number_match, NumberMatching::Always);
    assert!(!TestSources::production().settings().verification.before_resets);
}
