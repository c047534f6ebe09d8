//! How long the steps of many sign-ins took.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::stats::{nanoseconds, now, share};

/// A step that an employee waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Loading the sign-in page.
    Page,
    /// Getting a QR code and the stream of its events.
    QrCode,
    /// The phone's way from the QR code through the platform to the page with the question.
    Scan,
    /// From the phone's confirmation to the browser's token.
    Confirm,
    /// A browser's way through the platform and back to its token.
    Redirect,
    /// Opening a socket, with its first frame.
    Socket,
    /// A check of the token.
    Verify,
}

impl Step {
    pub(crate) const ALL: [Self; 7] =
        [Self::Page, Self::QrCode, Self::Scan, Self::Confirm, Self::Redirect, Self::Socket, Self::Verify];

    /// The steps that end with a token.
    pub(crate) const SIGN_IN: [Self; 2] = [Self::Confirm, Self::Redirect];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Page => "load the sign-in page",
            Self::QrCode => "get a QR code and its event stream",
            Self::Scan => "scan: through the platform to the phone's page",
            Self::Confirm => "confirm on the phone until the browser has its token",
            Self::Redirect => "in the messenger: through the platform until the page has its token",
            Self::Socket => "open a socket until its first frame",
            Self::Verify => "verify",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct StepTime {
    step: Step,
    ended: Instant,
    /// In nanoseconds.
    took: u32,
}

/// The times of many steps.
#[derive(Debug, Default)]
pub(crate) struct StepTimes(Vec<StepTime>);

/// The figures of some steps; times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepFigures {
    pub(crate) count: usize,
    /// The most of them that ended within one second.
    pub(crate) busiest: usize,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl StepTimes {
    /// Records a step that began at this time and ends now; returns the present time, at which the next step begins.
    pub(crate) fn finish(&mut self, step: Step, began: Instant) -> Instant {
        let ended = now();
        self.0.push(StepTime { step, ended, took: nanoseconds(ended.saturating_duration_since(began)) });
        ended
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The figures of these steps; seconds are counted from `start`.
    pub(crate) fn of(&self, steps: &[Step], start: Instant) -> StepFigures {
        let (mut times, mut seconds) = (Vec::new(), BTreeMap::new());
        for time in self.0.iter().filter(|time| steps.contains(&time.step)) {
            times.push(time.took);
            *seconds.entry(time.ended.saturating_duration_since(start).as_secs()).or_insert(0) += 1;
        }
        times.sort_unstable();
        let (count, busiest) = (times.len(), seconds.into_values().max().unwrap_or(0));
        StepFigures { count, busiest, p50: share(&times, 50), p99: share(&times, 99) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn steps_are_counted_by_kind_and_by_second() {
        let start = now();
        let time = |step, millis, took| StepTime { step, ended: start + Duration::from_millis(millis), took };
        let mut times = StepTimes(vec![time(Step::Page, 100, 1_000), time(Step::Verify, 1_100, 2_000)]);
        times.add(StepTimes(vec![time(Step::Verify, 1_900, 4_000), time(Step::Verify, 2_000, 3_000)]));
        let figures = times.of(&[Step::Verify], start);
        assert_eq!((figures.count, figures.busiest), (3, 2));
        assert!((figures.p50 - 3e-6).abs() < 1e-9 && (figures.p99 - 4e-6).abs() < 1e-9, "{figures:?}");
        assert_eq!(times.of(&[Step::Page, Step::Verify], start).count, 4);
        let none = times.of(&[Step::Socket], start);
        assert!(none.count == 0 && none.busiest == 0 && none.p50.is_nan());
    }
}
