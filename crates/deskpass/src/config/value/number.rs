//! Whole numbers.

use std::num::NonZeroUsize;

use super::SettingValue;
use crate::config::key::SettingKey;
use crate::config::raw::RawSetting;

impl SettingValue for usize {
    fn parse(raw: &RawSetting, key: &SettingKey) -> Result<Self, String> {
        let number = raw.integer()?;
        let count = Self::try_from(number).ok().filter(|count| key.allows(count, |text| text.parse().ok()));
        count.ok_or_else(|| format!("{number} is out of range"))
    }

    fn expected(key: &SettingKey) -> String {
        format!("a whole number from {} to {}", key.min, key.max)
    }

    fn to_toml(&self) -> Option<toml::Value> {
        i64::try_from(*self).ok().map(toml::Value::Integer)
    }
}

/// A limit; 0 is unlimited.
impl SettingValue for Option<NonZeroUsize> {
    fn parse(raw: &RawSetting, key: &SettingKey) -> Result<Self, String> {
        usize::parse(raw, key).map(NonZeroUsize::new)
    }

    fn expected(key: &SettingKey) -> String {
        usize::expected(key)
    }

    fn to_toml(&self) -> Option<toml::Value> {
        self.map_or(0, NonZeroUsize::get).to_toml()
    }
}
