//! Durations in their written form: `8h`, `45s`, `1h30m`.

use std::time::Duration;

use jiff::fmt::friendly::{Designator, Spacing, SpanPrinter};
use jiff::{SignedDuration, Span, SpanRelativeTo, SpanRound, Unit};

use super::setting_value::SettingValue;
use crate::config::declaration::Declaration;
use crate::config::raw::{RawSetting, quoted};

const DAY: Duration = Duration::from_hours(24);

/// A period that never ends.
const OFF: &str = "0";

const PRINTER: SpanPrinter = SpanPrinter::new().designator(Designator::Compact).spacing(Spacing::None);

impl SettingValue for Duration {
    fn parse(raw: &RawSetting, declared: &Declaration) -> Result<Self, String> {
        let text = raw.text()?;
        let duration = parse(text).ok_or_else(|| format!("{} is not a duration", quoted(text)))?;
        if declared.allows(&duration, parse) { Ok(duration) } else { Err(format!("{} is out of range", quoted(text))) }
    }

    fn expected(declared: &Declaration) -> String {
        let short = parse(declared.min).is_some_and(|min| min < DAY);
        let example = if short { r#""30m" or "1m30s""# } else { r#""90d""# };
        format!("a duration from {} to {} such as {example}", declared.min, declared.max)
    }

    fn to_toml(&self) -> Option<toml::Value> {
        format(*self).map(Into::into)
    }
}

/// A period; 0 is off.
impl SettingValue for Option<Duration> {
    fn parse(raw: &RawSetting, declared: &Declaration) -> Result<Self, String> {
        let is_off = match raw {
            RawSetting::Integer(number) => *number == 0,
            other => matches!(other.text()?, OFF | "0s"),
        };
        if is_off { Ok(None) } else { Duration::parse(raw, declared).map(Some) }
    }

    fn expected(declared: &Declaration) -> String {
        format!(r#"{}, or "{OFF}" for off"#, Duration::expected(declared))
    }

    fn to_toml(&self) -> Option<toml::Value> {
        self.map_or_else(|| Some(OFF.into()), |period| period.to_toml())
    }
}

/// Parses numbers with units, the larger unit first and each at most once. A day has 24 hours.
fn parse(text: &str) -> Option<Duration> {
    let span: Span = text.parse().ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok()
}

/// Formats a duration in its shortest form, which [`parse`] reads as the same value.
fn format(duration: Duration) -> Option<String> {
    let span = Span::try_from(SignedDuration::try_from(duration).ok()?).ok()?;
    let in_days = span.round(SpanRound::new().largest(Unit::Day).days_are_24_hours()).ok()?;
    Some(PRINTER.span_to_string(&in_days))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{format, parse};

    #[test]
    fn reads_what_people_write() {
        let cases = [
            ("8h", 28_800_000),
            ("30m", 1_800_000),
            ("45s", 45_000),
            ("1h30m", 5_400_000),
            ("1h 30min", 5_400_000),
            ("8 hours", 28_800_000),
            ("30d", 2_592_000_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("250ms", 250),
            ("0s", 0),
            ("90m", 5_400_000),
        ];
        for (text, millis) in cases {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else_without_panicking() {
        let cases = [
            "",
            " ",
            "8",
            "h",
            "-8h",
            "8h ago",
            "30m1h",
            "1h1h",
            "8h30",
            "1mo",
            "1y",
            "8時",
            "８h",
            "8h\u{301}",
            "é",
            "99999999999999999999s",
            "18446744073709551615d",
            "18446744073709551615ms1",
            "\u{1f550}1h",
        ];
        for text in cases {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["8h", "1h30m", "30d", "0s", "1m", "250ms", "1d1ms", "3650d", "1d2h3m4s5ms"] {
            assert_eq!(parse(text).and_then(format).as_deref(), Some(text));
        }
    }
}
