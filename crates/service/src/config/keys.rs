//! All keys of the settings.

use std::sync::LazyLock;

use super::key::SettingKey;
use super::section::Section;
use super::settings::Settings;

/// Every key, in the order of `config show` and of the example file: top-level keys first, as TOML requires.
pub(super) static KEYS: LazyLock<Vec<&'static SettingKey>> = LazyLock::new(Settings::keys);

pub(super) fn find(name: &str) -> Option<&'static SettingKey> {
    KEYS.iter().find(|key| key.name == name).copied()
}

pub(super) fn is_section(name: &str) -> bool {
    // A section may have one of its own, such as `server.tls`.
    KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}
