//! The registry of the metrics of one service. It is not global: tests run several services in one process.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric, gauge};
use prometheus_client::registry::Registry;

use super::catalogue::{ALL, Metric, MetricKind};
use super::process::ProcessMetrics;

/// A number that rises and falls.
pub(crate) type Gauge = gauge::Gauge<f64, AtomicU64>;

/// The values of the labels of a series, with their names.
type Labels = Vec<(&'static str, String)>;

const BUCKETS: [f64; 10] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// The metrics of the catalogue by their names, and those of the process.
#[derive(Debug, Default)]
pub(super) struct MetricRegistry {
    all: Registry,
    counters: HashMap<&'static str, Series<Counter>>,
    gauges: HashMap<&'static str, Series<Gauge>>,
    histograms: HashMap<&'static str, Series<Histogram>>,
}

/// The series of a metric, in the order of their labels. A metric without series is not shown, and one without labels has no braces, which
/// the library's `Family` writes.
#[derive(Clone, Debug)]
struct Series<M>(Arc<RwLock<BTreeMap<Labels, M>>>);

impl MetricRegistry {
    pub(super) fn new() -> Self {
        let mut registry = Self::default();
        for metric in ALL {
            match metric.kind {
                MetricKind::Counter => registry.counters.extend([register(&mut registry.all, metric)]),
                MetricKind::Gauge => registry.gauges.extend([register(&mut registry.all, metric)]),
                MetricKind::Histogram => registry.histograms.extend([register(&mut registry.all, metric)]),
            }
        }
        registry.all.register_collector(Box::new(ProcessMetrics));
        registry
    }

    /// The counter with these values of its labels.
    pub(super) fn counter<const N: usize>(&self, metric: Metric, values: [&str; N]) -> Counter {
        series(&self.counters, metric, values, Counter::default)
    }

    /// The gauge with these values of its labels.
    pub(super) fn gauge<const N: usize>(&self, metric: Metric, values: [&str; N]) -> Gauge {
        series(&self.gauges, metric, values, Gauge::default)
    }

    /// The histogram with these values of its labels.
    pub(super) fn histogram<const N: usize>(&self, metric: Metric, values: [&str; N]) -> Histogram {
        series(&self.histograms, metric, values, || Histogram::new(BUCKETS))
    }

    /// All metrics in the text format of OpenMetrics.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.all);
        text
    }
}

/// Registers a metric. The library adds the suffixes of counters and units, and the dot of the help.
fn register<M>(registry: &mut Registry, metric: &Metric) -> (&'static str, Series<M>)
where
    M: Clone + TypedMetric + prometheus_client::registry::Metric,
{
    let series = Series(Arc::default());
    let name = metric.name.trim_end_matches("_total");
    let help = metric.help.trim_end_matches('.');
    match metric.unit.suffix() {
        Some(unit) => {
            let name = name.trim_end_matches(unit.as_str()).trim_end_matches('_');
            registry.register_with_unit(name, help, unit, series.clone());
        }
        None => registry.register(name, help, series.clone()),
    }
    (metric.name, series)
}

/// The series with these values of its labels.
fn series<M: Clone, const N: usize>(
    known: &HashMap<&'static str, Series<M>>,
    metric: Metric,
    values: [&str; N],
    new: fn() -> M,
) -> M {
    debug_assert_eq!(metric.labels.len(), N, "the labels of {}", metric.name);
    let labels = metric.labels.iter().zip(values).map(|(label, value)| (*label, value.to_owned()));
    // Every metric of the catalogue is known by its kind.
    known.get(metric.name).map_or_else(new, |series| series.get_or_create(labels.collect(), new))
}

impl<M: Clone> Series<M> {
    fn get_or_create(&self, labels: Labels, new: fn() -> M) -> M {
        self.0.write().unwrap_or_else(PoisonError::into_inner).entry(labels).or_insert_with(new).clone()
    }
}

impl<M: EncodeMetric + TypedMetric> EncodeMetric for Series<M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let series = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(only) = series.get(&Labels::new()) {
            return only.encode(encoder);
        }
        series.iter().try_for_each(|(labels, metric)| metric.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }

    fn is_empty(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::catalogue::{DISK_FREE, REPLIES, REQUEST_DURATION, SOCKETS};

    #[test]
    fn metrics_have_the_names_of_the_catalogue_in_the_format_of_openmetrics() {
        let registry = MetricRegistry::new();
        registry.counter(REPLIES, ["refused"]).inc();
        registry.counter(REPLIES, ["delivered"]).inc_by(2);
        registry.counter(REPLIES, ["delivered"]).inc();
        registry.gauge(SOCKETS, []).set(f64::NAN);
        registry.gauge(DISK_FREE, []).set(1024.0);
        registry.histogram(REQUEST_DURATION, ["GET", "/a"]).observe(0.25);
        let text = registry.render();
        for lines in [
            "# TYPE deskpass_replies counter\n\
             deskpass_replies_total{outcome=\"delivered\"} 3\n\
             deskpass_replies_total{outcome=\"refused\"} 1\n",
            "# HELP deskpass_sockets Open WebSockets.\n\
             # TYPE deskpass_sockets gauge\n\
             deskpass_sockets NaN\n",
            "# UNIT deskpass_disk_free_bytes bytes\n\
             deskpass_disk_free_bytes 1024.0\n",
            "# UNIT deskpass_http_request_duration_seconds seconds\n\
             deskpass_http_request_duration_seconds_sum{method=\"GET\",route=\"/a\"} 0.25\n\
             deskpass_http_request_duration_seconds_count{method=\"GET\",route=\"/a\"} 1\n\
             deskpass_http_request_duration_seconds_bucket{le=\"0.0001\",method=\"GET\",route=\"/a\"} 0\n",
            "deskpass_http_request_duration_seconds_bucket{le=\"+Inf\",method=\"GET\",route=\"/a\"} 1\n",
        ] {
            assert!(text.contains(lines), "{lines} is missing in\n{text}");
        }
        assert!(text.ends_with("\n# EOF\n"), "{text}");
        assert!(!text.contains("deskpass_connections"), "what has no value is not shown:\n{text}");
    }
}
