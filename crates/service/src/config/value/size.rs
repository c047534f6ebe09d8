//! Sizes in their written form: `64KiB`, `1MiB`, or plain bytes.
//!
//! They are parsed by hand because the known crates print rounded sizes (`64.0 KiB`), and read `64K` and `64KB` in
//! different ways.

use super::setting_value::SettingValue;
use crate::config::declaration::Declaration;
use crate::config::raw::{RawSetting, quoted};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(usize);

impl Size {
    /// The number of bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.0
    }
}

impl SettingValue for Size {
    /// A plain number is a number of bytes, so the file may contain `65536` without quotes.
    fn parse(raw: &RawSetting, declared: &Declaration) -> Result<Self, String> {
        let written = raw.text_or_integer()?;
        let size = parse(&written).ok_or_else(|| format!("{} is not a size", quoted(&written)))?;
        if declared.allows(&size, parse) {
            Ok(Self(size))
        } else {
            Err(format!("{} is out of range", quoted(&written)))
        }
    }

    fn expected(declared: &Declaration) -> String {
        format!(r#"a size from {} to {} such as "64KiB" or 65536 (bytes)"#, declared.min, declared.max)
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(format(self.0).into())
    }
}

/// Units in bytes, largest first.
const UNITS: [(&str, usize); 2] = [("MiB", 1 << 20), ("KiB", 1 << 10)];

/// Parses a number with a unit, or a number of bytes.
fn parse(text: &str) -> Option<usize> {
    let (number, unit) =
        UNITS.iter().find_map(|(name, size)| Some((text.strip_suffix(name)?, *size))).unwrap_or((text, 1));
    // `parse` alone would accept a leading plus sign.
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    number.parse::<usize>().ok()?.checked_mul(unit)
}

/// Formats a size in the largest unit that divides it.
fn format(size: usize) -> String {
    UNITS
        .iter()
        .find(|(_, unit)| size > 0 && size.is_multiple_of(*unit))
        .map_or_else(|| size.to_string(), |(name, unit)| format!("{}{name}", size / unit))
}

#[cfg(test)]
mod tests {
    use super::{format, parse};

    #[test]
    fn reads_what_people_write() {
        let cases = [("64KiB", 65_536), ("1MiB", 1_048_576), ("65536", 65_536), ("0", 0)];
        for (text, bytes) in cases {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else_without_panicking() {
        let cases = [
            "",
            " ",
            "KiB",
            "64 KiB",
            "64kib",
            "64KB",
            "64K",
            "-1",
            "+1",
            "1.5MiB",
            "1e3",
            "六十四KiB",
            "６４",
            "64Kiб",
            "1MiBKiB",
            "18446744073709551616",
            "18446744073709551615KiB",
            "é",
            "\u{1f4be}",
        ];
        for text in cases {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["64KiB", "1MiB", "1000", "0", "1025"] {
            assert_eq!(parse(text).map(format).as_deref(), Some(text));
        }
    }
}
