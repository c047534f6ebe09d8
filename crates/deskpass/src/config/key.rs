//! The rows of the table of settings.

use std::fmt;

use super::kind::ValueKind;
use super::raw::RawSetting;

/// The prefix of all environment variables of the service.
pub(super) const PREFIX: &str = "DESKPASS_";

/// The suffix of a variable that names a file with a secret.
pub(super) const FILE_SUFFIX: &str = "_FILE";

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

/// The default of a key. Values are written as in the environment.
#[derive(Clone, Copy, Debug)]
pub(super) enum DefaultSpec {
    /// The same value in both profiles.
    Same(&'static str),
    /// One value per profile. `{listen}` and `{public_url}` stand for those settings.
    PerProfile { development: &'static str, production: &'static str },
    /// Production requires an explicit value.
    RequiredInProduction {
        development: Option<&'static str>,
        /// The value in the example file. Empty for a secret: a published secret would get used.
        example: &'static str,
    },
    /// The key is optional.
    Optional {
        development: Option<&'static str>,
        /// The value in the example file.
        example: &'static str,
    },
}

/// A setting.
#[derive(Debug)]
pub(super) struct SettingKey {
    /// The name with the section, such as `session.lifetime`.
    pub(super) name: &'static str,
    pub(super) kind: ValueKind,
    pub(super) default_spec: DefaultSpec,
    pub(super) help: &'static str,
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
        self.kind.is_secret().then(|| format!("{variable}{FILE_SUFFIX}"))
    }

    /// The key's default in this profile.
    pub(super) fn default(&self, profile: Profile) -> Option<&'static str> {
        match (self.default_spec, profile) {
            (DefaultSpec::Same(text), _) => Some(text),
            (DefaultSpec::PerProfile { development, .. }, Profile::Development) => Some(development),
            (DefaultSpec::PerProfile { production, .. }, Profile::Production) => Some(production),
            (
                DefaultSpec::RequiredInProduction { development, .. } | DefaultSpec::Optional { development, .. },
                Profile::Development,
            ) => development,
            (DefaultSpec::RequiredInProduction { .. } | DefaultSpec::Optional { .. }, Profile::Production) => None,
        }
    }

    /// Formats a value of the table as it appears in the file.
    pub(super) fn toml(&self, text: &str) -> String {
        match self.kind.parse(&RawSetting::Untyped(text.to_owned())) {
            Ok(value) => value.to_string(),
            // The text is a placeholder and not a value: an empty secret, or a text with `{listen}`.
            Err(_) => toml::Value::from(text).to_string(),
        }
    }
}
