//! Time measurement and statistics.

use std::time::{Duration, Instant};

/// The results of a round; times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// The number of operations per second.
    pub(crate) rate: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// CPU time of the measured process per operation.
    pub(crate) cpu: f64,
    /// The share of a core that the benchmark itself used.
    pub(crate) own: f64,
}

/// The cost of a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) elapsed: Duration,
    /// CPU time of the measured process.
    pub(crate) cpu: Duration,
    /// CPU time of the benchmark.
    pub(crate) own: Duration,
}

impl Round {
    /// The results of `done` operations; `latencies` are in nanoseconds, per operation or per group of operations.
    pub(crate) fn of(done: usize, cost: Cost, mut latencies: Vec<u32>) -> Self {
        latencies.sort_unstable();
        let done = float(done.max(1));
        Self {
            rate: done / cost.elapsed.as_secs_f64(),
            p50: share(&latencies, 50),
            p99: share(&latencies, 99),
            cpu: cost.cpu.as_secs_f64() / done,
            own: cost.own.as_secs_f64() / cost.elapsed.as_secs_f64(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds in four bytes; more than four seconds count as the maximum.
pub(crate) fn nanoseconds(span: Duration) -> u32 {
    u32::try_from(span.as_nanos()).unwrap_or(u32::MAX)
}

/// The latency in seconds that `percent` of the sorted latencies do not exceed.
pub(crate) fn share(sorted: &[u32], percent: usize) -> f64 {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(f64::NAN, |nanoseconds| f64::from(*nanoseconds) / 1e9)
}

/// The median of the values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().saturating_sub(1) / 2), values.get(values.len() / 2));
    low.zip(high).map_or(f64::NAN, |(low, high)| f64::midpoint(*low, *high))
}

#[expect(clippy::cast_precision_loss, reason = "nothing counted here comes near 2^52")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_found_whatever_the_order() {
        assert!((median([3.0, 1.0, 2.0].into_iter()) - 2.0).abs() < 1e-9);
        assert!((median([4.0, 1.0, 2.0, 3.0].into_iter()) - 2.5).abs() < 1e-9);
        assert!(median(std::iter::empty()).is_nan());
    }

    #[test]
    fn a_round_is_counted_by_the_second() {
        let latencies = (1..=100).rev().map(|millis| millis * 1_000_000).collect();
        let cost = Cost { elapsed: Duration::from_secs(2), cpu: Duration::from_secs(1), own: Duration::from_secs(1) };
        let round = Round::of(100, cost, latencies);
        assert!((round.own - 0.5).abs() < 1e-9);
        assert!((round.rate - 50.0).abs() < 1e-9 && (round.cpu - 0.01).abs() < 1e-9);
        assert!((round.p50 - 0.051).abs() < 1e-9 && (round.p99 - 0.1).abs() < 1e-9);
    }
}
