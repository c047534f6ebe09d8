//! The registry of the metrics of one service. It is not global: tests run several services in one process.

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder as _, SharedString};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use super::catalogue::{ALL, Metric, MetricKind};

const BUCKETS: [f64; 10] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// The origin of the metrics, which the recorder requires.
const METADATA: Metadata<'static> = Metadata::new("deskpass", Level::INFO, None);

/// Registers metrics, which Prometheus then finds with their help.
#[derive(Debug)]
pub(super) struct MetricRegistry {
    recorder: PrometheusRecorder,
    pub(super) handle: PrometheusHandle,
}

impl MetricRegistry {
    pub(super) fn new() -> Self {
        // The builder fails only for an empty list of buckets.
        let recorder = PrometheusBuilder::new().set_buckets(&BUCKETS).unwrap_or_default().build_recorder();
        for Metric { name, kind, unit, help, .. } in ALL.iter().copied() {
            let (key, unit, help) = (KeyName::from(name), unit.recorded(), SharedString::from(help));
            match kind {
                MetricKind::Counter => recorder.describe_counter(key, unit, help),
                MetricKind::Gauge => recorder.describe_gauge(key, unit, help),
                MetricKind::Histogram => recorder.describe_histogram(key, unit, help),
            }
        }
        Self { handle: recorder.handle(), recorder }
    }

    /// The counter with these values of its labels.
    pub(super) fn counter<const N: usize>(&self, metric: Metric, values: [&str; N]) -> Counter {
        self.recorder.register_counter(&key(metric, values), &METADATA)
    }

    /// The gauge with these values of its labels.
    pub(super) fn gauge<const N: usize>(&self, metric: Metric, values: [&str; N]) -> Gauge {
        self.recorder.register_gauge(&key(metric, values), &METADATA)
    }

    /// The histogram with these values of its labels.
    pub(super) fn histogram<const N: usize>(&self, metric: Metric, values: [&str; N]) -> Histogram {
        self.recorder.register_histogram(&key(metric, values), &METADATA)
    }
}

fn key<const N: usize>(metric: Metric, values: [&str; N]) -> Key {
    debug_assert_eq!(metric.labels.len(), N, "the labels of {}", metric.name);
    let labels = metric.labels.iter().zip(values).map(|(label, value)| Label::new(*label, value.to_owned()));
    Key::from_parts(metric.name, labels.collect::<Vec<_>>())
}
