//! When employees arrive: few at first, most in the middle of the period, few at its end.

use std::time::Duration;

use crate::stats::float;

/// The time of each arrival after the start, in order. The rate is a triangle: it rises evenly until the middle of the
/// period and falls evenly after it.
pub(crate) fn arrivals(count: usize, period: Duration) -> impl Iterator<Item = Duration> {
    let at = move |number: usize| period.mul_f64(place((float(number) + 0.5) / float(count)));
    (0..count).map(at)
}

/// The highest rate, in arrivals per second: twice the average.
pub(crate) fn peak_rate(count: usize, period: Duration) -> f64 {
    2.0 * float(count) / period.as_secs_f64()
}

/// The share of the period after which this share of all has arrived.
fn place(share: f64) -> f64 {
    if share < 0.5 { (share / 2.0).sqrt() } else { 1.0 - ((1.0 - share) / 2.0).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_arrive_in_the_middle_and_none_outside_of_the_period() {
        let period = Duration::from_mins(2);
        let all: Vec<_> = arrivals(10_000, period).collect();
        assert!(all.is_sorted() && all.len() == 10_000 && all.iter().all(|at| *at < period));
        let within = |from: u64, to: u64| all.iter().filter(|at| (from..to).contains(&at.as_secs())).count();
        // A tenth of the period has a fiftieth of the arrivals, at either end.
        assert_eq!([within(0, 12), within(108, 120), within(0, 60)], [200, 200, 5_000]);
        let peak = peak_rate(10_000, period);
        assert!((peak - 166.7).abs() < 0.1, "{peak}");
        assert!((float(within(59, 61)) - 2.0 * peak).abs() < 5.0, "{}", within(59, 61));
    }

    #[test]
    fn nobody_and_one_employee_have_times_too() {
        assert_eq!(arrivals(0, Duration::from_secs(1)).count(), 0);
        let one: Vec<_> = arrivals(1, Duration::from_secs(2)).collect();
        assert_eq!(one, [Duration::from_secs(1)]);
    }
}
