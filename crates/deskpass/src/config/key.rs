//! The keys of the settings, as the fields of [`Settings`] declare them.

use std::fmt;
use std::sync::LazyLock;

use super::origin::Origin;
use super::raw::RawSetting;
use super::section::Section;
use super::settings::Settings;
use super::value::SettingValue;

/// The prefix of all environment variables of the service.
pub(super) const PREFIX: &str = "DESKPASS_";

/// The suffix of a variable that names a file with a secret.
pub(super) const FILE_SUFFIX: &str = "_FILE";

/// Every key, in the order of `config show` and of the example file: top-level keys first, as TOML requires.
pub(super) static KEYS: LazyLock<Vec<&'static SettingKey>> = LazyLock::new(Settings::keys);

/// The key with exactly this name.
pub(super) fn find(name: &str) -> Option<&'static SettingKey> {
    KEYS.iter().find(|key| key.name == name).copied()
}

/// Whether this is the name of a section.
pub(super) fn is_section(name: &str) -> bool {
    KEYS.iter().any(|key| key.parts().0 == Some(name))
}

/// The two modes of the service; defaults differ between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    Development,
    Production,
}

impl fmt::Display for Profile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Development => "development",
            Self::Production => "production",
        })
    }
}

/// The declaration of a setting. Values are written as in the environment.
#[derive(Debug)]
pub(super) struct SettingKey {
    /// The name with the section, such as `session.lifetime`.
    pub(super) name: &'static str,
    /// The documentation of the field.
    pub(super) help: &'static str,
    /// The default in development. `{listen}` and `{public_url}` stand for those settings.
    pub(super) development: Option<&'static str>,
    /// The default in production.
    pub(super) production: Option<&'static str>,
    /// Whether production requires an explicit value.
    pub(super) required: bool,
    /// The value in the example file if production has no default. Empty for a secret: a published secret would get used.
    pub(super) example: &'static str,
    /// The smallest value; empty if the type has no order.
    pub(super) min: &'static str,
    /// The largest value; empty if the type has no order.
    pub(super) max: &'static str,
    pub(super) value_type: ValueType,
}

/// What is known about a setting's type where the type itself is not.
#[derive(Debug)]
pub(super) struct ValueType {
    /// Whether its values are secrets.
    pub(super) secret: bool,
    expected: fn(&SettingKey) -> String,
    pub(super) to_toml: fn(&RawSetting, &SettingKey) -> Result<Option<toml::Value>, String>,
}

impl ValueType {
    pub(super) const fn of<T: SettingValue>() -> Self {
        Self { secret: T::SECRET, expected: T::expected, to_toml: |raw, key| Ok(T::parse(raw, key)?.to_toml()) }
    }
}

impl SettingKey {
    /// The section and the name within it; top-level keys have no section.
    pub(super) fn parts(&self) -> (Option<&'static str>, &'static str) {
        match self.name.split_once('.') {
            Some((section, name)) => (Some(section), name),
            None => (None, self.name),
        }
    }

    /// The environment variable that sets the key.
    pub(super) fn variable(&self) -> String {
        let name = self.name.replace('.', "__").to_ascii_uppercase();
        format!("{PREFIX}{name}")
    }

    /// The environment variable that names a file with the key's value; only secrets have one.
    pub(super) fn file_variable(&self) -> Option<String> {
        let variable = self.variable();
        self.value_type.secret.then(|| format!("{variable}{FILE_SUFFIX}"))
    }

    /// The expected form of a value, with an example; it ends a sentence.
    pub(super) fn expected(&self) -> String {
        (self.value_type.expected)(self)
    }

    /// The key's default in this profile.
    pub(super) fn default(&self, profile: Profile) -> Option<&'static str> {
        match profile {
            Profile::Development => self.development,
            Profile::Production => self.production,
        }
    }

    /// The origin of the default, or of its absence, in this profile.
    pub(super) fn default_origin(&self, profile: Profile, has_value: bool) -> Origin {
        if has_value && self.development != self.production {
            Origin::ProfileDefault(profile)
        } else if !has_value && self.required && profile == Profile::Production {
            Origin::Missing(profile)
        } else {
            Origin::Default
        }
    }

    /// The value in the example file: production's, because a settings file is mostly for production.
    pub(super) fn sample(&self) -> &'static str {
        self.production.unwrap_or(self.example)
    }

    /// Whether a value is within the declared range, whose ends `parse` reads.
    pub(super) fn allows<T: PartialOrd>(&self, value: &T, parse: impl Fn(&str) -> Option<T>) -> bool {
        parse(self.min).is_some_and(|min| min <= *value) && parse(self.max).is_some_and(|max| *value <= max)
    }

    /// Formats a value of the declaration as it appears in the file.
    pub(super) fn toml(&self, text: &str) -> String {
        match (self.value_type.to_toml)(&RawSetting::Untyped(text.to_owned()), self) {
            Ok(Some(value)) => value.to_string(),
            // The text is a placeholder and not a value: an empty secret, or a text with `{listen}`.
            Ok(None) | Err(_) => toml::Value::from(text).to_string(),
        }
    }
}
