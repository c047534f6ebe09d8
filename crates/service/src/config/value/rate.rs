//! Rates in their written form: `30/min`, `2/s`, or `off`.

use std::time::Duration;

use deskpass_core::Rate;

use super::setting_value::SettingValue;
use crate::config::declaration::Declaration;
use crate::config::raw::{RawSetting, quoted};

const UNITS: [(&str, Duration); 3] =
    [("s", Duration::from_secs(1)), ("min", Duration::from_mins(1)), ("h", Duration::from_hours(1))];

/// Larger than any intended count, and still a valid rate with every unit.
const MAX_RATE_COUNT: u32 = 1_000_000;

/// A rate limit; `None` is unlimited.
impl SettingValue for Option<Rate> {
    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        parse(raw.text()?)
    }

    fn expected(_: &Declaration) -> String {
        r#"a rate such as "30/min" or "2/s" (1 to 1000000 per s, min or h), or "off""#.to_owned()
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(format(*self).into())
    }
}

/// Parses a rate; `off` is `None`.
fn parse(text: &str) -> Result<Option<Rate>, String> {
    if text == "off" {
        return Ok(None);
    }
    let (count, per) = split(text).ok_or_else(|| format!("{} is not a rate", quoted(text)))?;
    let count = Some(count).filter(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
    let count = count.and_then(|count| count.parse().ok()).filter(|count| (1..=MAX_RATE_COUNT).contains(count));
    count.and_then(|count| Rate::new(count, per)).map(Some).ok_or_else(|| format!("{} is out of range", quoted(text)))
}

/// The digits, and the duration of the unit.
fn split(text: &str) -> Option<(&str, Duration)> {
    let (count, unit) = text.split_once('/')?;
    let (_, per) = UNITS.iter().find(|(name, _)| *name == unit)?;
    // `parse` alone would accept a leading plus sign.
    let digits = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    digits.then_some((count, *per))
}

/// Formats a rate so that [`parse`] returns the same value.
fn format(rate: Option<Rate>) -> String {
    let Some(rate) = rate else { return "off".to_owned() };
    let unit = UNITS.iter().find(|(_, per)| *per == rate.per()).map_or("s", |(name, _)| name);
    format!("{}/{unit}", rate.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, count, secs) in [("30/min", 30, 60), ("2/s", 2, 1), ("1000000/h", 1_000_000, 3_600)] {
            assert_eq!(parse(text), Ok(Rate::new(count, Duration::from_secs(secs))), "{text}");
        }
        assert_eq!(parse("off"), Ok(None));
    }

    #[test]
    fn refuses_everything_else_without_panicking() {
        for text in [
            "",
            " ",
            "/",
            "30",
            "30/",
            "/min",
            "30/m",
            "30/minute",
            "30 / min",
            " 30/min",
            "30/min ",
            "30/MIN",
            "-1/s",
            "+1/s",
            "1.5/s",
            "1e3/s",
            "30/min/s",
            "３/s",
            "Off",
            "none",
            "é/s",
            "1/\u{1f550}",
        ] {
            assert_eq!(parse(text), Err(format!("{text:?} is not a rate")), "{text:?}");
        }
        for text in ["0/s", "1000001/h", "99999999999999999999/s"] {
            assert_eq!(parse(text), Err(format!("{text:?} is out of range")), "{text:?}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["30/min", "2/s", "5/h", "off"] {
            assert_eq!(parse(text).map(format).as_deref(), Ok(text));
        }
    }
}
