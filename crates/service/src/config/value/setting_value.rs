//! What a type of settings provides.

use std::fmt::Debug;

use crate::config::declaration::Declaration;
use crate::config::raw::RawSetting;

/// A type of a setting.
pub(in crate::config) trait SettingValue: Clone + Debug {
    /// Whether values are masked, wholly or in part, and may be read from a separate file.
    const SECRET: bool = false;

    /// Parses a value, or returns what is wrong with it. The message never repeats a secret.
    fn parse(raw: &RawSetting, declared: &Declaration) -> Result<Self, String>;

    /// The expected form of a value, with an example; it ends a sentence.
    fn expected(declared: &Declaration) -> String;

    /// The value as in the file; `None` if it must not be shown.
    fn to_toml(&self) -> Option<toml::Value> {
        None
    }
}
