//! Times on the command line.

use deskpass_core::{Clock, Timestamp};
use jiff::{Span, SpanRelativeTo};

const EXPECTED: &str = "a date such as 2026-07-01, which is UTC, or a time such as 2026-07-01T08:00:00+08:00; \
                        a time needs an offset: add one such as +08:00";
const EXPECTED_OR_AGO: &str = "a time such as 2026-07-01T08:00:00+08:00, a date such as 2026-07-01, which is UTC, \
                               or how long ago, such as 2h; a time needs an offset: add one such as +08:00";

/// Parses a time; a date stands for its midnight UTC.
pub(super) fn moment(text: &str) -> Result<Timestamp, String> {
    let read = |text: &str| text.parse::<jiff::Timestamp>();
    let moment = read(text).or_else(|_| read(&format!("{text}T00:00:00Z")));
    let moment = moment.map_err(|_| EXPECTED.to_owned());
    moment.map(|moment| Timestamp::from_millis(moment.as_millisecond()))
}

/// Parses a time, or a duration such as `2h` or `1h30m`, which counts back from now by this machine's clock.
pub(super) fn moment_or_ago(text: &str) -> Result<Timestamp, String> {
    moment(text).or_else(|_| {
        let ago = duration(text).ok_or_else(|| EXPECTED_OR_AGO.to_owned())?;
        Ok(Clock::steady(Timestamp::from_millis(0)).now() - ago)
    })
}

/// Parses a duration such as `2h` or `1h30m`.
pub(super) fn lifetime(text: &str) -> Result<std::time::Duration, String> {
    duration(text).ok_or_else(|| "expected a duration such as 30m, 2h or 7d".to_owned())
}

fn duration(text: &str) -> Option<std::time::Duration> {
    let span: Span = text.parse().ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_may_be_a_date() {
        for (text, millis) in [
            ("2025-06-15", Some(1_749_945_600_000)),
            ("2025-06-15T15:06:40Z", Some(1_750_000_000_000)),
            ("2025-06-15T23:06:40.5+08:00", Some(1_750_000_000_500)),
            ("yesterday", None),
            ("2025-06-15T15:06:40", None),
            ("2025-13-01", None),
            ("2h", None),
        ] {
            assert_eq!(moment(text).ok(), millis.map(Timestamp::from_millis), "{text}");
        }
    }

    #[test]
    fn a_time_may_be_a_while_ago() {
        let now = Clock::steady(Timestamp::from_millis(0)).now();
        for (text, minutes) in [("2h", 120), ("1h30m", 90), ("1d", 1_440), ("0s", 0)] {
            let ago = moment_or_ago(text).map(|moment| now.since(moment).as_secs().div_ceil(60));
            assert_eq!(ago, Ok(minutes), "{text}");
        }
        assert_eq!(moment_or_ago("2025-06-15"), moment("2025-06-15"));
        for text in ["", "-2h", "2", "yesterday", "1y"] {
            assert!(moment_or_ago(text).is_err(), "{text}");
        }
    }
}
