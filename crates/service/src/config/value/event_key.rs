//! The key with which some platforms encrypt events.

use std::fmt;

use super::secret::MASK;
use super::setting_value::SettingValue;
use crate::config::declaration::Declaration;
use crate::config::raw::RawSetting;

/// The number of characters of a key: 32 bytes in base64, without the padding.
const KEY_CHARS: usize = 43;

/// The key with which the platform encrypts events: 43 letters and digits, as its console generates them.
#[derive(Clone, PartialEq, Eq)]
pub struct EventKey(String);

impl EventKey {
    /// Returns the key, for the single place that decrypts.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        // All keys that the consoles generate are letters and digits; the other two of base64 would work as well.
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/') {
            return Err("it contains other characters than letters and digits".to_owned());
        }
        if text.len() != KEY_CHARS {
            return Err(format!("it has {} characters instead of {KEY_CHARS}", text.len()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl SettingValue for EventKey {
    const SECRET: bool = true;

    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        Self::read(raw.text()?)
    }

    fn expected(_: &Declaration) -> String {
        "the 43 letters and digits that the platform's console generates".to_owned()
    }
}

impl fmt::Debug for EventKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "EventKey({MASK})")
    }
}

#[cfg(test)]
mod tests {
    use super::EventKey;

    #[test]
    fn a_key_is_what_the_console_generates() {
        // The last character of this one has bits that belong to no byte.
        assert!(EventKey::read("kWxPEV2UEDyxWpmPdKC3F4dgPDmOvfKX1HGnEUDS1aR").is_ok());
        for (text, problem) in [
            ("", "it is empty"),
            ("kWxPEV2UEDyxWpmPdKC3F4dgPDmOvfKX1HGnEUDS1a", "it has 42 characters instead of 43"),
            ("kWxPEV2UEDyxWpmPdKC3F4dgPDmOvfKX1HGnEUDS1aR=", "it contains other characters than letters and digits"),
            ("kWxPEV2UEDyxWpmPdKC3F4dgPDmOvfKX1HGnEUDS1a ", "it contains other characters than letters and digits"),
        ] {
            assert_eq!(EventKey::read(text).err().as_deref(), Some(problem), "{text}");
        }
    }
}
