//! How many requests of each route succeeded, and how long all of them took.
//!
//! They are counted here, because every request is: the metrics recorder keeps each duration, in 24 bytes, until the
//! next scrape. Here a route takes thirteen numbers, however many requests it serves between two scrapes.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::Counter;

use super::catalogue::Metric;

/// The upper limits of the buckets: in seconds as Prometheus has them, and in nanoseconds.
const LIMITS: [(&str, u64); 10] = [
    ("0.0001", 100_000),
    ("0.0005", 500_000),
    ("0.001", 1_000_000),
    ("0.005", 5_000_000),
    ("0.01", 10_000_000),
    ("0.05", 50_000_000),
    ("0.1", 100_000_000),
    ("0.5", 500_000_000),
    ("1", 1_000_000_000),
    ("5", 5_000_000_000),
];

/// The figures of a route.
#[derive(Debug)]
pub(super) struct ResponseTimes {
    pub(super) method: String,
    pub(super) path: &'static str,
    /// Shows the number of successes.
    ok: Counter,
    counts: Counts,
}

/// What was counted.
#[derive(Debug, Default)]
struct Counts {
    ok: AtomicU64,
    nanos: AtomicU64,
    /// One for each bucket, and one for what took longer.
    buckets: [AtomicU64; LIMITS.len() + 1],
}

/// The counts at one moment.
#[derive(Debug)]
struct Totals {
    ok: u64,
    nanos: u64,
    buckets: [u64; LIMITS.len() + 1],
}

impl ResponseTimes {
    pub(super) fn new(method: &str, path: &'static str, ok: Counter) -> Self {
        Self { method: method.to_owned(), path, ok, counts: Counts::default() }
    }

    pub(super) fn record(&self, succeeded: bool, elapsed: Duration) {
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let bucket = LIMITS.iter().position(|(_, limit)| nanos <= *limit).unwrap_or(LIMITS.len());
        if let Some(count) = self.counts.buckets.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.counts.nanos.fetch_add(nanos, Ordering::Relaxed);
        if succeeded {
            self.counts.ok.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn totals(&self) -> Totals {
        let Counts { ok, nanos, buckets } = &self.counts;
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Totals { ok: load(ok), nanos: load(nanos), buckets: buckets.each_ref().map(load) }
    }

    /// Shows the number of successes to the recorder.
    pub(super) fn publish(&self) {
        self.ok.absolute(self.totals().ok);
    }
}

/// Writes the times as a histogram in Prometheus' text format.
pub(super) fn write(text: &mut String, metric: Metric, routes: &[Arc<ResponseTimes>]) {
    let Metric { name, help, .. } = metric;
    // Writing to a string does not fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} histogram");
    for route in routes {
        let (labels, totals) = (format!("method=\"{}\",route=\"{}\"", route.method, route.path), route.totals());
        let mut count = 0;
        let limits = LIMITS.iter().map(|(seconds, _)| *seconds).chain(["+Inf"]);
        for (limit, in_bucket) in limits.zip(totals.buckets) {
            count += in_bucket;
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{limit}\"}} {count}");
        }
        let sum = Duration::from_nanos(totals.nanos).as_secs_f64();
        let _ = writeln!(text, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::telemetry::catalogue::REQUEST_DURATION;

    /// Up to ten seconds, and often at the limit of a bucket, or a nanosecond off.
    fn nanos() -> impl Strategy<Value = u64> {
        let limit = select(LIMITS.map(|(_, limit)| limit).to_vec());
        prop_oneof![0..10_000_000_000_u64, (limit, 0..3_u64).prop_map(|(limit, more)| limit - 1 + more)]
    }

    proptest! {
        /// Each inner list is what one thread records: whether a request succeeded, and how long it took.
        #[test]
        fn threads_together_count_what_a_sorted_list_has(
            threads in vec(vec((any::<bool>(), nanos()), 0..20), 1..5),
        ) {
            let times = &ResponseTimes::new("GET", "/a", Counter::noop());
            std::thread::scope(|scope| {
                for requests in &threads {
                    scope.spawn(move || {
                        for (succeeded, nanos) in requests {
                            times.record(*succeeded, Duration::from_nanos(*nanos));
                        }
                    });
                }
            });
            let (succeeded, mut sorted): (Vec<bool>, Vec<u64>) = threads.into_iter().flatten().unzip();
            sorted.sort_unstable();
            let (totals, mut counted) = (times.totals(), 0);
            for ((_, limit), in_bucket) in LIMITS.iter().zip(totals.buckets) {
                counted += in_bucket;
                prop_assert_eq!(usize::try_from(counted), Ok(sorted.partition_point(|nanos| nanos <= limit)));
            }
            let all = totals.buckets.iter().sum::<u64>();
            prop_assert_eq!(usize::try_from(all), Ok(sorted.len()), "the last bucket has the rest");
            prop_assert_eq!(totals.nanos, sorted.iter().sum::<u64>());
            prop_assert_eq!(usize::try_from(totals.ok), Ok(succeeded.iter().filter(|succeeded| **succeeded).count()));
        }
    }

    #[test]
    fn the_limits_are_the_same_in_seconds_and_in_nanoseconds() {
        for (seconds, nanos) in LIMITS {
            assert_eq!(seconds.parse().map(Duration::from_secs_f64), Ok(Duration::from_nanos(nanos)));
        }
    }

    #[test]
    fn each_duration_counts_in_its_bucket_and_in_all_larger_ones() {
        let times = Arc::new(ResponseTimes::new("GET", "/a", Counter::noop()));
        for (succeeded, nanos) in [(true, 0), (true, 100_000), (false, 100_001), (true, 6_000_000_000)] {
            times.record(succeeded, Duration::from_nanos(nanos));
        }
        assert_eq!(times.totals().ok, 3);
        let mut text = String::new();
        write(&mut text, REQUEST_DURATION, &[times]);
        let name = REQUEST_DURATION.name;
        let expected = [
            ("_bucket", ",le=\"0.0001\"", "2"),
            ("_bucket", ",le=\"0.0005\"", "3"),
            ("_bucket", ",le=\"5\"", "3"),
            ("_bucket", ",le=\"+Inf\"", "4"),
            ("_count", "", "4"),
            ("_sum", "", "6.000200001"),
        ];
        for (suffix, limit, value) in expected {
            let line = format!("{name}{suffix}{{method=\"GET\",route=\"/a\"{limit}}} {value}\n");
            assert!(text.contains(&line), "{line} is not in {text}");
        }
    }
}
