//! A key of the settings: its declaration, and what is known about its type.

use std::ops::Deref;

use deskpass_platform::PlatformKind;

use super::declaration::{Declaration, FILE_SUFFIX, Profile};
use super::origin::Origin;
use super::raw::RawSetting;
use super::simulated::example_id;
use super::value::SettingValue;

/// A key of the settings. Dereferences to its declaration.
#[derive(Debug)]
pub(super) struct SettingKey {
    pub(super) declaration: Declaration,
    pub(super) value_type: ValueType,
}

impl Deref for SettingKey {
    type Target = Declaration;

    fn deref(&self) -> &Declaration {
        &self.declaration
    }
}

/// What is known about a setting's type where the type itself is not.
#[derive(Debug)]
pub(super) struct ValueType {
    /// Whether its values are secrets.
    pub(super) secret: bool,
    expected: fn(&Declaration) -> String,
    pub(super) to_toml: fn(&RawSetting, &Declaration) -> Result<Option<toml::Value>, String>,
}

impl ValueType {
    pub(super) const fn of<T: SettingValue>() -> Self {
        Self {
            secret: T::SECRET,
            expected: T::expected,
            to_toml: |raw, declared| Ok(T::parse(raw, declared)?.to_toml()),
        }
    }
}

impl SettingKey {
    /// The environment variable that names a file with the key's value; only secrets have one.
    pub(super) fn file_variable(&self) -> Option<String> {
        let variable = self.variable();
        self.value_type.secret.then(|| format!("{variable}{FILE_SUFFIX}"))
    }

    /// The expected form of a value, with an example; it ends a sentence.
    pub(super) fn expected(&self) -> String {
        (self.value_type.expected)(self)
    }

    /// The same, with an example of this platform.
    pub(super) fn expected_by(&self, kind: Option<PlatformKind>) -> String {
        let expected = self.expected();
        match kind.and_then(|kind| example_id(kind, self.name)) {
            Some(example) => expected.replace(self.sample(), example),
            None => expected,
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

    /// Formats a value of the declaration as it appears in the file.
    pub(super) fn toml(&self, text: &str) -> String {
        match (self.value_type.to_toml)(&RawSetting::Untyped(text.to_owned()), self) {
            Ok(Some(value)) => value.to_string(),
            // The text is a placeholder and not a value: an empty secret, or a text with `{listen}`.
            Ok(None) | Err(_) => toml::Value::from(text).to_string(),
        }
    }
}
