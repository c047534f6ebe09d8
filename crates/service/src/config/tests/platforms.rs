//! The settings of each kind of platform.

use deskpass_platform::PlatformKind;

use super::super::keys::KEYS;
use super::super::{ConfigProblem, SimulatedApplication, UserIdKind};
use super::TestSources;

fn development(kind: PlatformKind) -> TestSources {
    TestSources::development().flag("platform.kind", kind.name(), "--platform")
}

/// Production with all settings that this kind requires.
fn production(kind: PlatformKind) -> TestSources {
    let given = TestSources::production().variable("DESKPASS_PLATFORM__KIND", kind.name());
    if kind == PlatformKind::Wecom { given } else { given.variable("DESKPASS_PLATFORM__CLIENT_ID", "cli_example") }
}

#[test]
fn every_platform_runs_in_development_without_other_settings() {
    for kind in PlatformKind::ALL {
        let platform = development(kind).settings().platform;
        let application = SimulatedApplication::of(kind);
        assert_eq!(platform.kind, kind);
        assert_eq!(&*platform.corp_id, application.corp_id, "{kind:?}");
        assert_eq!(platform.client_id.as_deref(), application.client_id, "{kind:?}");
        assert_eq!(platform.agent_id.as_deref(), application.agent_id, "{kind:?}");
        assert_eq!(platform.user_id, UserIdKind::UserId);
        assert!(platform.secret.is_none() && platform.api_url.is_none() && platform.authorize_url.is_none());
    }
    let corporations = PlatformKind::ALL.map(|kind| SimulatedApplication::of(kind).corp_id);
    assert_eq!(corporations, ["wwdeskpass", "dingdeskpass", "tenantdeskpass"]);
    assert_eq!(TestSources::development().settings().platform.kind, PlatformKind::Wecom);
}

#[test]
fn the_kind_and_its_defaults_are_shown() {
    let given = development(PlatformKind::Dingtalk);
    assert_eq!(given.shown("platform.kind"), r#"platform.kind = "dingtalk" # --platform"#);
    assert_eq!(given.shown("platform.corp_id"), r#"platform.corp_id = "dingdeskpass" # default (development)"#);
    assert_eq!(given.shown("platform.api_url"), "platform.api_url = (not set) # default");
    let given = development(PlatformKind::Wecom);
    assert_eq!(given.shown("platform.client_id"), "platform.client_id = (not set) # default");
}

#[test]
fn an_application_of_your_own_can_be_simulated() {
    let given = development(PlatformKind::Feishu).toml("platform.client_id = \"cli_own\"\nplatform.corp_id = \"own\"");
    let platform = given.settings().platform;
    assert_eq!((&*platform.corp_id, platform.client_id.as_deref()), ("own", Some("cli_own")));
}

#[test]
fn production_requires_what_its_platform_needs() {
    let missing = |kind: PlatformKind| {
        let given = TestSources::default().variable("DESKPASS_PLATFORM__KIND", kind.name());
        let problems = given.problems();
        let names = problems.lines().filter_map(|line| line.split(": it is not set, and production needs it").next());
        names.filter(|name| name.starts_with("platform.")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(missing(PlatformKind::Wecom), ["platform.corp_id", "platform.secret"]);
    for kind in [PlatformKind::Dingtalk, PlatformKind::Feishu] {
        assert_eq!(missing(kind), ["platform.corp_id", "platform.client_id", "platform.secret"], "{kind:?}");
        let lacking = production(kind).without_variable("DESKPASS_PLATFORM__CLIENT_ID").check();
        assert!(lacking.is_err_and(|error| error.only_missing()), "{kind:?}");
    }
    for kind in PlatformKind::ALL {
        assert_eq!(production(kind).problems(), "", "{kind:?}");
    }
}

/// The keys that this kind refuses, each with what is said about it.
fn refused(kind: PlatformKind) -> Vec<(&'static str, String)> {
    let values = ["other", "9", "open_id", "https://other.example.com", "/verify.txt"];
    // Those of events need each other, and have a test of their own.
    let is_of_kind = |name: &&str| {
        name.starts_with("platform.") && !name.starts_with("platform.events.") && *name != "platform.kind"
    };
    let keys = KEYS.iter().map(|key| key.name).filter(is_of_kind);
    let problem = |name: &'static str| {
        // Some value fits the key; what is wrong then is that the key does not belong to the platform.
        let told = values.map(|value| production(kind).flag(name, value, "--flag").problems());
        let belongs = told.iter().any(String::is_empty);
        let told = told.into_iter().find(|told| told.contains("does not belong") && told.lines().count() == 1);
        (!belongs).then(|| (name, told.unwrap_or_else(|| panic!("{name} is refused for another reason"))))
    };
    keys.filter_map(problem).collect()
}

#[test]
fn keys_of_other_platforms_are_refused_with_the_nearest() {
    let wecom = "it does not belong to platform.kind = \"wecom\"; the nearest key of wecom is";
    let names = |kind: PlatformKind| refused(kind).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let foreign = refused(PlatformKind::Wecom);
    let told = |name: &str| foreign.iter().find(|(key, _)| *key == name).map(|(_, told)| told.as_str());
    assert_eq!(
        told("platform.client_id"),
        Some(&*format!(
            "platform.client_id (--flag): {wecom} platform.agent_id; remove this one, or set another platform.kind"
        ))
    );
    assert_eq!(
        told("platform.user_id"),
        Some(
            "platform.user_id (--flag): it does not belong to platform.kind = \"wecom\"; remove it, or set another \
             platform.kind"
        )
    );
    assert_eq!(
        names(PlatformKind::Wecom),
        [
            "platform.client_id",
            "platform.user_id",
            "platform.legacy_api_url",
            "platform.token_url",
            "platform.script_url"
        ]
    );
    assert_eq!(
        names(PlatformKind::Dingtalk),
        ["platform.user_id", "platform.web_login_url", "platform.token_url", "platform.verify_file"]
    );
    assert_eq!(
        names(PlatformKind::Feishu),
        [
            "platform.agent_id",
            "platform.web_login_url",
            "platform.legacy_api_url",
            "platform.script_url",
            "platform.verify_file"
        ]
    );
    let foreign = refused(PlatformKind::Feishu);
    let agent_id = foreign.iter().find(|(key, _)| *key == "platform.agent_id").map(|(_, told)| told);
    assert!(
        agent_id.is_some_and(|told| told.contains("; feishu has no AgentId; remove it, or set another platform.kind")),
        "{foreign:?}"
    );
}

#[test]
fn a_forgotten_kind_is_named() {
    let told = |key: &str| {
        let given = TestSources::production().toml(&format!("platform.{key}"));
        let problems = given.check().map_or_else(|error| error.problems, |_| Vec::new());
        problems.iter().flat_map(|problem| [problem.to_string(), problem.in_chinese()]).collect::<Vec<_>>()
    };
    assert_eq!(
        told("client_id = \"dingabc\""),
        [
            "platform.client_id (deskpass.toml:1): it does not belong to platform.kind = \"wecom\"; platform.kind is not \
             set, so it is \"wecom\"; set it to one of \"dingtalk\", \"feishu\", or remove this key",
            "platform.client_id（deskpass.toml:1）：不属于 platform.kind = \"wecom\"；platform.kind 未设置，因此为 \"wecom\"；\
             请将其设为下列之一：\"dingtalk\", \"feishu\"，或删除此项",
        ]
    );
    let ending = "; set it to \"feishu\", or remove this key";
    assert!(told("user_id = \"open_id\"").iter().any(|told| told.ends_with(ending)));
}

#[test]
fn examples_look_as_in_the_console_of_the_platform() {
    for (kind, corp_id, client_id) in [
        (PlatformKind::Dingtalk, "ding0123456789abcdef", "dingabcdef0123456789"),
        (PlatformKind::Feishu, "0123456789abcdef", "cli_0123456789abcdef"),
    ] {
        let missing = TestSources::default().variable("DESKPASS_PLATFORM__KIND", kind.name()).problems();
        let bad = production(kind).flag("platform.corp_id", "a b", "--flag").flag("platform.client_id", "?", "--flag");
        for text in [missing, bad.problems()] {
            for example in [corp_id, client_id] {
                assert!(text.contains(&format!("such as \"{example}\"")), "{example}: {text}");
            }
        }
    }
}

#[test]
fn a_default_is_not_taken_for_a_key_of_another_platform() {
    for kind in PlatformKind::ALL {
        assert_eq!(production(kind).settings().platform.user_id, UserIdKind::UserId);
    }
    let given = production(PlatformKind::Feishu).toml("platform.user_id = \"open_id\"");
    let platform = given.settings().platform;
    assert_eq!((platform.user_id, platform.user_id.name()), (UserIdKind::OpenId, "open_id"));
    assert_eq!(UserIdKind::UserId.name(), UserIdKind::UserId.to_string());
}

#[test]
fn an_unknown_kind_is_one_problem() {
    let given = TestSources::development().toml("platform.kind = \"slack\"");
    assert_eq!(
        given.problems(),
        "platform.kind (deskpass.toml:1): \"slack\" is not one of the choices; expected one of \"wecom\", \
         \"dingtalk\", \"feishu\""
    );
    let given = TestSources::development().toml("platform.kind = \"lark\"");
    let told =
        "\"lark\" has no kind of its own: use \"feishu\" with platform.api_url = Lark's API address; expected one of";
    assert!(given.problems().contains(told), "{}", given.problems());
    let given = production(PlatformKind::Wecom).flag("platform.kind", "WECOM", "--platform");
    assert!(given.problems().starts_with("platform.kind (--platform): \"WECOM\" is not"), "{}", given.problems());
}

#[test]
fn names_of_the_consoles_lead_to_the_key() {
    for (name, meant) in [
        ("app_id", "client_id"),
        ("app_key", "client_id"),
        ("appkey", "client_id"),
        ("app_secret", "secret"),
        ("client_secret", "secret"),
        ("tenant_key", "corp_id"),
        ("corpid", "corp_id"),
        ("type", "kind"),
        ("encoding_aes_key", "events.aes_key"),
        ("aes_key", "events.aes_key"),
        ("encrypt_key", "events.encrypt_key"),
        ("verification_token", "events.token"),
    ] {
        let problems = TestSources::development().toml(&format!("[platform]\n{name} = \"x\"")).problems();
        let expected = format!(
            "platform.{name} (deskpass.toml:2): there is no such key; the nearest known key is platform.{meant}"
        );
        assert_eq!(problems, expected);
    }
    let given = TestSources::development().variable("DESKPASS_PLATFORM__APP_SECRET_FILE", "/run/secret");
    let meant = "the nearest known one is DESKPASS_PLATFORM__SECRET_FILE;";
    assert!(given.problems().contains(meant), "{}", given.problems());
}

#[test]
fn every_address_of_a_platform_is_encrypted() {
    for (kind, key) in [
        (PlatformKind::Wecom, "platform.api_url"),
        (PlatformKind::Wecom, "platform.web_login_url"),
        (PlatformKind::Dingtalk, "platform.legacy_api_url"),
        (PlatformKind::Dingtalk, "platform.script_url"),
        (PlatformKind::Feishu, "platform.token_url"),
        (PlatformKind::Feishu, "platform.authorize_url"),
    ] {
        let problems = production(kind).flag(key, "http://platform.example.com", "--flag").problems();
        let expected = format!(
            "{key} (--flag): secrets and codes would travel unencrypted; use https (http only for a platform \
             simulated on this machine)"
        );
        assert_eq!(problems, expected);
        assert_eq!(production(kind).flag(key, "http://127.0.0.1:8090/sim", "--flag").problems(), "");
    }
}

#[test]
fn another_platform_needs_a_restart_and_a_reload_is_not_refused_for_it() {
    let (running, new) = (production(PlatformKind::Wecom), production(PlatformKind::Feishu));
    let (merged, diff) = running.settings().reload(new.settings());
    assert_eq!(diff.need_restart, ["platform.kind", "platform.client_id"]);
    assert_eq!((merged.platform.kind, merged.platform.client_id), (PlatformKind::Wecom, None));
    for (running, new) in [(&running, &new), (&new, &running)] {
        assert!(new.resolve().keep_fixed(&running.resolve()).is_ok());
    }
}

#[test]
fn problems_of_a_platform_are_told_in_chinese() {
    let given = production(PlatformKind::Feishu).toml("platform.agent_id = 1\nplatform.verify_file = \"/v.txt\"");
    let problems = given.check().map_or_else(|error| error.problems, |_| Vec::new());
    let told: Vec<_> = problems.iter().map(ConfigProblem::in_chinese).collect();
    assert_eq!(
        told,
        [
            "platform.agent_id（deskpass.toml:1）：不属于 platform.kind = \"feishu\"；feishu 没有 AgentId；请删除此项，\
             或更改 platform.kind",
            "platform.verify_file（deskpass.toml:2）：不属于 platform.kind = \"feishu\"；请删除此项，或更改 platform.kind",
        ]
    );
}
