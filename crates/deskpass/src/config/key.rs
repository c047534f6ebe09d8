//! What a row of the table of settings says.

use std::fmt;

use super::kind::ValueKind;
use super::raw::RawSetting;

/// What every environment variable of ours begins with.
pub(super) const PREFIX: &str = "DESKPASS_";

/// The suffix of a variable that names a file which holds a secret.
pub(super) const FILE_SUFFIX: &str = "_FILE";

/// The two ways of running the service; defaults differ between them.
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

/// What holds when nobody sets a key. Values are written as in the environment.
#[derive(Clone, Copy, Debug)]
pub(super) enum DefaultSpec {
    /// The same in both profiles.
    Same(&'static str),
    /// One for each profile. `{listen}` and `{public_url}` stand for those settings.
    PerProfile { development: &'static str, production: &'static str },
    /// Production must be told.
    RequiredInProduction {
        development: Option<&'static str>,
        /// What the example file shows. Empty for a secret: a published one would get used.
        example: &'static str,
    },
    /// May be left out.
    Optional {
        development: Option<&'static str>,
        /// What the example file shows.
        example: &'static str,
    },
}

/// One setting.
#[derive(Debug)]
pub(super) struct SettingKey {
    /// Its name with the section, such as `session.lifetime`.
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

    /// The environment variable that sets it.
    pub(super) fn variable(&self) -> String {
        let name = self.name.replace('.', "__").to_ascii_uppercase();
        format!("{PREFIX}{name}")
    }

    /// The environment variable that names a file with its value; only secrets have one.
    pub(super) fn file_variable(&self) -> Option<String> {
        let variable = self.variable();
        self.kind.is_secret().then(|| format!("{variable}{FILE_SUFFIX}"))
    }

    /// Its value in this profile when nobody sets it.
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

    /// Writes a value of the table as it stands in the file.
    pub(super) fn toml(&self, text: &str) -> String {
        match self.kind.parse(&RawSetting::Untyped(text.to_owned())) {
            Ok(value) => value.to_string(),
            // Not a value but a stand-in for one: an empty secret, or a text with `{listen}`.
            Err(_) => toml::Value::from(text).to_string(),
        }
    }
}
