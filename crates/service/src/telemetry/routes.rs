//! The metrics of the rows of the route table.

use std::time::Duration;

use hyper::StatusCode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use super::catalogue as metric;
use super::metrics::Metrics;

/// The metrics of the rows of a route table: an entry for each row, and the last for requests that match no row.
#[derive(Debug)]
pub(crate) struct RouteMetrics(Vec<RequestMetrics>);

/// The labels of a row of a route table.
#[derive(Debug)]
pub(crate) struct RouteLabels {
    pub(crate) method: String,
    pub(crate) path: &'static str,
    /// Whether the row has a rate limit.
    pub(crate) is_limited: bool,
}

#[derive(Debug)]
struct RequestMetrics {
    ok: Counter,
    refused: Counter,
    failed: Counter,
    seconds: Histogram,
    /// `None` for rows without a rate limit.
    limited: Option<Counter>,
}

impl Metrics {
    /// The metrics of the rows of a route table, registered here.
    pub(crate) fn for_routes(&self, rows: impl IntoIterator<Item = RouteLabels>) -> RouteMetrics {
        let other = RouteLabels { method: "other".into(), path: "other", is_limited: false };
        RouteMetrics(rows.into_iter().chain([other]).map(|row| self.request_metrics(&row)).collect())
    }

    fn request_metrics(&self, RouteLabels { method, path, is_limited }: &RouteLabels) -> RequestMetrics {
        let counter = |outcome: &str| self.registry.counter(metric::REQUESTS, [method.as_str(), *path, outcome]);
        RequestMetrics {
            ok: counter("ok"),
            refused: counter("refused"),
            failed: counter("failed"),
            seconds: self.registry.histogram(metric::REQUEST_DURATION, [method.as_str(), *path]),
            limited: is_limited.then(|| self.registry.counter(metric::RATE_LIMITED, [*path])),
        }
    }
}

impl RouteMetrics {
    /// Counts a response under its row of the table; `None` is a request that matches no row.
    pub(crate) fn record_response(&self, row: Option<usize>, status: StatusCode, elapsed: Duration) {
        let Some(figures) = row.map_or_else(|| self.0.last(), |row| self.0.get(row)) else { return };
        let outcome = match status.as_u16() {
            ..400 => &figures.ok,
            400..500 => &figures.refused,
            500.. => &figures.failed,
        };
        outcome.inc();
        figures.seconds.observe(elapsed.as_secs_f64());
    }

    /// Counts a request that exceeded the rate limit of its row.
    pub(crate) fn count_rate_limited(&self, row: usize) {
        if let Some(RequestMetrics { limited: Some(counter), .. }) = self.0.get(row) {
            counter.inc();
        }
    }
}
