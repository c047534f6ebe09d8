//! Suggestions for unknown names of settings.

use deskpass_platform::PlatformKind;

use super::declaration::{CLIENTS, FILE_SUFFIX, PREFIX, ROLE_RULES};
use super::key::SettingKey;
use super::keys::{KEYS, find, is_section};
use super::nearest_word::{last_word, nearest_word, normalized};
use super::origin::Origin;
use super::problem::ConfigProblem;

/// Names of the platforms' consoles and of other programs, as far as no similarity leads from them to the key. They are compared
/// without underscores.
const SYNONYMS: [(&str, &str); 14] = [
    ("type", "platform.kind"),
    ("provider", "platform.kind"),
    ("tenant", "platform.corp_id"),
    ("tenant_id", "platform.corp_id"),
    ("tenant_key", "platform.corp_id"),
    ("app_id", "platform.client_id"),
    ("app_key", "platform.client_id"),
    ("suite_key", "platform.client_id"),
    ("app_secret", "platform.secret"),
    ("client_secret", "platform.secret"),
    ("corp_secret", "platform.secret"),
    ("encoding_aes_key", "platform.events.aes_key"),
    ("callback_token", "platform.events.token"),
    ("verification_token", "platform.events.token"),
];

pub(super) fn unknown_key(name: &str, origin: &Origin) -> ConfigProblem {
    let (what, fix) = if is_section(name) {
        let what = format!("{name} is a section, not a key");
        (what, format!("its keys are {}", keys_of(name)))
    } else {
        let known = nearest_array(name).or_else(|| nearest(name).map(|key| key.name));
        let fix = known.map_or_else(
            || "`deskpass config example` lists every key".to_owned(),
            |known| format!("the nearest known key is {known}"),
        );
        ("there is no such key".to_owned(), fix)
    };
    ConfigProblem::new(name.escape_debug().to_string(), what, fix).at(origin)
}

/// The array of tables that was meant, which is no key.
fn nearest_array(name: &str) -> Option<&'static str> {
    let given = normalized(name);
    [CLIENTS, ROLE_RULES].into_iter().find(|known| strsim::damerau_levenshtein(&given, known) <= 2)
}

/// The problem for an environment variable with the service's prefix that sets no key.
pub(super) fn unknown_variable(variable: &str) -> ConfigProblem {
    let subject = format!("environment {}", variable.escape_debug());
    let bare = variable.strip_prefix(PREFIX).unwrap_or(variable);
    let (stem, from_file) = bare.strip_suffix(FILE_SUFFIX).map_or((bare, false), |stem| (stem, true));
    let name = stem.replace("__", ".").to_ascii_lowercase();
    if is_section(&name) {
        let what = format!("{name} is a section, not a key");
        return ConfigProblem::new(subject, what, format!("its keys are {}", keys_of(&name)));
    }
    if name == CLIENTS {
        return ConfigProblem::new(
            subject,
            "only the settings file has clients",
            "begin each with [[oidc.clients]] there",
        );
    }
    if name == ROLE_RULES {
        let fix = "begin each with [[role_rules]] there";
        return ConfigProblem::new(subject, "only the settings file has role rules", fix);
    }
    if from_file && let Some(key) = find(&name).filter(|key| !key.value_type.secret) {
        let fix = format!("set {} itself", key.variable());
        return ConfigProblem::new(subject, "only secrets are read from a file", fix);
    }
    let suggested = |key: &SettingKey| key.file_variable().filter(|_| from_file).unwrap_or_else(|| key.variable());
    let hint = nearest(&name).map_or_else(
        || "`deskpass config example` lists every setting".to_owned(),
        |key| format!("the nearest known one is {}", suggested(key)),
    );
    let fix = format!("{hint}; unset it if it is not for deskpass");
    ConfigProblem::new(subject, "there is no such setting", fix)
}

fn keys_of(section: &str) -> String {
    let inside = |name: &&str| name.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
    let names: Vec<_> = KEYS.iter().map(|key| key.name).chain([CLIENTS]).filter(inside).collect();
    names.join(", ")
}

/// The key that was probably meant. A key that is only the least unlike would be an odd hint.
fn nearest(name: &str) -> Option<&'static SettingKey> {
    let given = normalized(name);
    if let Some(key) = synonym(&given) {
        return Some(key);
    }
    let is_near = |known: &&str| few_slips(&given, known) || few_slips(last_word(&given), last_word(known));
    nearest_word(name, KEYS.iter().map(|key| key.name)).filter(is_near).and_then(find)
}

/// The key that has another name at the platform, in the section of the platform, in one that is named after it, or in none.
fn synonym(given: &str) -> Option<&'static SettingKey> {
    let (section, word) = given.rsplit_once('.').unwrap_or(("", given));
    let of_platform = matches!(section, "" | "platform") || PlatformKind::parse(section).is_some();
    let joined = |text: &str| text.replace('_', "");
    let known = SYNONYMS.iter().find(|(synonym, _)| of_platform && joined(synonym) == joined(word));
    known.and_then(|(_, key)| find(key))
}

/// Whether one text becomes the other with few slips for its length: a third of its letters, at least one.
fn few_slips(one: &str, other: &str) -> bool {
    let letters = one.chars().count().max(other.chars().count());
    strsim::damerau_levenshtein(one, other) <= (letters / 3).max(1)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant() {
        let cases = [
            ("sesion.lifetime", "session.lifetime"),
            ("lifetime", "session.lifetime"),
            ("server.lifetime", "session.lifetime"),
            ("session_lifetime", "session.lifetime"),
            ("public-url", "public_url"),
            ("Listen", "listen"),
            ("log.lvl", "log.level"),
            ("platform.corpid", "platform.corp_id"),
            ("corp_id", "platform.corp_id"),
            ("platform.tenant_key", "platform.corp_id"),
            ("platform.app_id", "platform.client_id"),
            ("platform.appid", "platform.client_id"),
            ("platform.app_key", "platform.client_id"),
            ("platform.appkey", "platform.client_id"),
            ("platform.clientid", "platform.client_id"),
            ("feishu.app_id", "platform.client_id"),
            ("dingtalk.client_id", "platform.client_id"),
            ("App-Key", "platform.client_id"),
            ("platform.app_secret", "platform.secret"),
            ("platform.client_secret", "platform.secret"),
            ("platform.agentid", "platform.agent_id"),
            ("platform.type", "platform.kind"),
            ("trusted_proxy", "trusted_proxies"),
        ];
        for (given, meant) in cases {
            assert_eq!(nearest(given).map(|key| key.name), Some(meant), "{given}");
        }
    }

    #[test]
    fn suggests_nothing_that_was_hardly_meant() {
        for given in
            ["", ".", "密", "a.b.c.d", "\u{1f511}.\u{301}", "colour_scheme", "smtp.server", "ldap.bind_dn", "ldap.type"]
        {
            assert_eq!(nearest(given).map(|key| key.name), None, "{given:?}");
        }
    }
}
