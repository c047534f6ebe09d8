//! Which settings of the platform belong to which kind of platform.

use deskpass_platform::PlatformKind;

use super::origin::Origin;
use super::problem::ConfigProblem;
use super::section::SettingEntry;
use super::settings::PlatformEntries;

/// A key that not every kind of platform has.
struct KindKey {
    name: &'static str,
    kinds: &'static [PlatformKind],
    /// The key that all other kinds have instead.
    nearest: Option<&'static str>,
}

const AGENT_ID: &str = "platform.agent_id";
const CLIENT_ID: &str = "platform.client_id";

/// The kinds that sign events with a token and encrypt them with a key.
const WITH_AES_KEY: &[PlatformKind] = &[PlatformKind::Wecom, PlatformKind::Dingtalk];

const AES_KEY: &str = "platform.events.aes_key";
const ENCRYPT_KEY: &str = "platform.events.encrypt_key";

const KIND_KEYS: [KindKey; 10] = [
    KindKey { name: CLIENT_ID, kinds: &[PlatformKind::Dingtalk, PlatformKind::Feishu], nearest: Some(AGENT_ID) },
    KindKey { name: AGENT_ID, kinds: &[PlatformKind::Wecom, PlatformKind::Dingtalk], nearest: None },
    KindKey { name: "platform.user_id", kinds: &[PlatformKind::Feishu], nearest: None },
    KindKey { name: "platform.web_login_url", kinds: &[PlatformKind::Wecom], nearest: Some("platform.authorize_url") },
    KindKey { name: "platform.legacy_api_url", kinds: &[PlatformKind::Dingtalk], nearest: Some("platform.api_url") },
    KindKey { name: "platform.token_url", kinds: &[PlatformKind::Feishu], nearest: Some("platform.api_url") },
    KindKey { name: "platform.script_url", kinds: &[PlatformKind::Dingtalk], nearest: None },
    KindKey { name: "platform.verify_file", kinds: &[PlatformKind::Wecom], nearest: None },
    KindKey { name: AES_KEY, kinds: WITH_AES_KEY, nearest: Some(ENCRYPT_KEY) },
    KindKey { name: ENCRYPT_KEY, kinds: &[PlatformKind::Feishu], nearest: Some(AES_KEY) },
];

/// The keys that not every kind of platform has, with their origins.
fn kind_entries(platform: &PlatformEntries) -> [&SettingEntry; 10] {
    [
        &platform.client_id.entry,
        &platform.agent_id.entry,
        &platform.user_id.entry,
        &platform.web_login_url.entry,
        &platform.legacy_api_url.entry,
        &platform.token_url.entry,
        &platform.script_url.entry,
        &platform.verify_file.entry,
        &platform.events_aes_key.entry,
        &platform.events_encrypt_key.entry,
    ]
}

/// The problems of settings that belong to another kind of platform than the chosen one.
pub(super) fn foreign(platform: &PlatformEntries) -> Vec<ConfigProblem> {
    let Some(kind) = platform.kind.value else { return Vec::new() };
    let problem = |entry: &&SettingEntry| {
        let key = KIND_KEYS.iter().find(|key| key.name == entry.key.name)?;
        (is_given(entry) && !key.kinds.contains(&kind)).then(|| {
            let describe = if is_given(&platform.kind.entry) { foreign_key } else { key_without_kind };
            describe(entry, key, kind)
        })
    };
    kind_entries(platform).iter().filter_map(problem).collect()
}

fn foreign_key(entry: &SettingEntry, key: &KindKey, kind: PlatformKind) -> ConfigProblem {
    let kind = kind.name();
    let fix = match key.nearest {
        Some(nearest) => {
            format!("the nearest key of {kind} is {nearest}; remove this one, or set another platform.kind")
        }
        None if key.name == AGENT_ID => format!("{kind} has no AgentId; remove it, or set another platform.kind"),
        None => "remove it, or set another platform.kind".to_owned(),
    };
    entry.problem(format!("it does not belong to platform.kind = {kind:?}"), fix)
}

/// The problem of a key where the kind of the platform was probably forgotten.
fn key_without_kind(entry: &SettingEntry, key: &KindKey, kind: PlatformKind) -> ConfigProblem {
    let named: Vec<_> = key.kinds.iter().map(|kind| format!("{:?}", kind.name())).collect();
    let (several, kinds, kind) = (if named.len() > 1 { "one of " } else { "" }, named.join(", "), kind.name());
    entry.problem(
        format!("it does not belong to platform.kind = {kind:?}"),
        format!("platform.kind is not set, so it is {kind:?}; set it to {several}{kinds}, or remove this key"),
    )
}

/// Whether a source sets the key; a default is none.
fn is_given(entry: &SettingEntry) -> bool {
    !matches!(entry.origin, Origin::Default | Origin::ProfileDefault(_) | Origin::Missing(_))
}

/// Whether production lacks this key, which only some kinds of platforms require.
pub(super) fn is_missing(platform: &PlatformEntries, name: &str) -> bool {
    let has_client_id = |kind: PlatformKind| kind != PlatformKind::Wecom;
    name == CLIENT_ID && platform.kind.value.is_some_and(has_client_id) && !platform.client_id.entry.is_set()
}
