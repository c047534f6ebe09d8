//! Durations in their written form: `8h`, `45s`, `1h30m`.

use std::time::Duration;

/// Units in milliseconds, largest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses numbers with units, the larger unit first and each at most once.
pub(super) fn parse(text: &str) -> Option<Duration> {
    if text.is_empty() {
        return None;
    }
    let mut rest = text;
    let mut total: u64 = 0;
    let mut previous = u64::MAX;
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| !c.is_ascii_digit())?;
        let (unit, next) = split(after, |c| c.is_ascii_digit()).unwrap_or((after, ""));
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        if *size >= previous {
            return None;
        }
        let amount = number.parse::<u64>().ok()?.checked_mul(*size)?;
        total = total.checked_add(amount)?;
        previous = *size;
        rest = next;
    }
    Some(Duration::from_millis(total))
}

/// Formats a duration so that [`parse`] returns the same value.
pub(super) fn format(duration: Duration) -> String {
    let mut left = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if left == 0 {
        return "0s".to_owned();
    }
    let part = |(name, size): (&str, u64)| {
        let amount = left / size;
        left %= size;
        (amount > 0).then(|| format!("{amount}{name}"))
    };
    UNITS.into_iter().filter_map(part).collect()
}

/// Splits before the first character that matches.
fn split(text: &str, ends: impl Fn(char) -> bool) -> Option<(&str, &str)> {
    text.split_at_checked(text.find(ends)?)
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
            "8 h",
            " 8h",
            "8h ",
            "8H",
            "-8h",
            "+8h",
            "1.5h",
            "30m1h",
            "1h1h",
            "8h30",
            "8時",
            "８h",
            "8h\u{301}",
            "é",
            "8hours",
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
        for text in ["8h", "1h30m", "30d", "0s", "1m", "250ms", "1d1ms"] {
            assert_eq!(parse(text).map(format).as_deref(), Some(text));
        }
    }
}
