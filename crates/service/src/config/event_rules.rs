//! What the platform's events need together, which depends on the kind of platform.

use deskpass_platform::PlatformKind;

use super::problem::ConfigProblem;
use super::settings::SettingsEntries;

/// The most characters of a token, where it signs.
const MAX_TOKEN_CHARS: usize = 32;

/// With one of the two alone every event would be refused.
pub(super) fn event_secrets_are_set_together(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let platform = &settings.platform;
    let (token, key) = (&platform.events_token.entry, &platform.events_aes_key.entry);
    let encrypt_key = &platform.events_encrypt_key.entry;
    match platform.kind.value? {
        PlatformKind::Feishu if token.is_set() && !encrypt_key.is_set() => Some(token.problem(
            "without an Encrypt Key the platform signs nothing, and anyone could send events",
            "set platform.events.encrypt_key too: 开发者后台 → 事件与回调 → 加密策略 → Encrypt Key",
        )),
        PlatformKind::Feishu => None,
        PlatformKind::Wecom | PlatformKind::Dingtalk => match (token.is_set(), key.is_set()) {
            (true, false) => Some(token.problem(
                "events are encrypted, and the key is missing",
                "set platform.events.aes_key too, or remove this key",
            )),
            (false, true) => Some(key.problem(
                "events are signed, and the token is missing",
                "set platform.events.token too, or remove this key",
            )),
            _ => None,
        },
    }
}

/// Where the token signs, the consoles accept no other, so another one is a slip.
pub(super) fn event_token_fits_the_platform(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let token = &settings.platform.events_token;
    let text = token.value.as_ref()?.expose();
    let fits = text.len() <= MAX_TOKEN_CHARS && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if settings.platform.kind.value? == PlatformKind::Feishu || fits {
        return None;
    }
    Some(token.entry.problem(
        "it is not 1 to 32 letters and digits",
        "enter the same token here and in the platform's console; make one with: openssl rand -hex 16",
    ))
}
