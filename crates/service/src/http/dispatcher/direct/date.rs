//! The `Date` header of direct answers. Its text changes once a second, and so often the machine's time is read.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use deskpass_core::{Clock, Timestamp};
use jiff::fmt::rfc2822::DateTimePrinter;

/// The text of a second.
#[derive(Debug, Default)]
struct DateText {
    /// The end of the second. If the machine's time is set, the text stays until then.
    until: Option<Instant>,
    text: String,
}

thread_local! {
    static DATE: RefCell<DateText> = RefCell::default();
}

/// Calls `write` with the text of the header at `now`.
pub(super) fn with_date<T>(clock: &Clock, now: Instant, write: impl FnOnce(&str) -> T) -> T {
    DATE.with_borrow_mut(|date| {
        if date.until.is_none_or(|until| until <= now) {
            *date = DateText::new(clock.machine(), now);
        }
        write(&date.text)
    })
}

impl DateText {
    /// The text at the time `machine`, which is read just after `now`.
    fn new(machine: Timestamp, now: Instant) -> Self {
        let (second, passed) = (machine.millis().div_euclid(1_000), machine.millis().rem_euclid(1_000));
        let left = Duration::from_millis(passed.abs_diff(1_000));
        Self { until: now.checked_add(left), text: date_text(second).unwrap_or_default() }
    }
}

fn date_text(second: i64) -> Option<String> {
    let moment = jiff::Timestamp::from_second(second).ok()?;
    DateTimePrinter::new().timestamp_to_rfc9110_string(&moment).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text at an instant.
    fn text_at(clock: &Clock, now: Instant) -> String {
        with_date(clock, now, str::to_owned)
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any instant will do; the test moves on from it")]
    fn a_text_lasts_until_the_end_of_its_second() {
        // Of another test on this thread.
        drop(DATE.take());
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let clock = Clock::manual(Timestamp::from_millis(784_111_777_400));
        assert_eq!(text_at(&clock, start), "Sun, 06 Nov 1994 08:49:37 GMT");
        clock.advance(Duration::from_millis(600));
        // The time is not read before.
        assert_eq!(text_at(&clock, at(599)), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(text_at(&clock, at(600)), "Sun, 06 Nov 1994 08:49:38 GMT");
        clock.advance(Duration::from_secs(1));
        assert_eq!(text_at(&clock, at(1_599)), "Sun, 06 Nov 1994 08:49:38 GMT");
        assert_eq!(text_at(&clock, at(1_600)), "Sun, 06 Nov 1994 08:49:39 GMT");
    }
}
