//! Whole numbers.

use std::num::NonZeroUsize;

use super::setting_value::SettingValue;
use crate::config::declaration::Declaration;
use crate::config::raw::RawSetting;

impl SettingValue for usize {
    fn parse(raw: &RawSetting, declared: &Declaration) -> Result<Self, String> {
        let number = raw.integer()?;
        let count = Self::try_from(number).ok().filter(|count| declared.allows(count, |text| text.parse().ok()));
        count.ok_or_else(|| format!("{number} is out of range"))
    }

    fn expected(declared: &Declaration) -> String {
        format!("a whole number from {} to {}", declared.min, declared.max)
    }

    fn to_toml(&self) -> Option<toml::Value> {
        i64::try_from(*self).ok().map(toml::Value::Integer)
    }
}

/// A limit; 0 is unlimited.
impl SettingValue for Option<NonZeroUsize> {
    fn parse(raw: &RawSetting, declared: &Declaration) -> Result<Self, String> {
        usize::parse(raw, declared).map(NonZeroUsize::new)
    }

    fn expected(declared: &Declaration) -> String {
        usize::expected(declared)
    }

    fn to_toml(&self) -> Option<toml::Value> {
        self.map_or(0, NonZeroUsize::get).to_toml()
    }
}
