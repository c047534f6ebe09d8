//! Logs and metrics. Neither contains tokens, query strings or bodies.

use std::io;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use metrics::{Counter, Histogram, Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat, LogLevel};

/// The log of this process.
pub(crate) struct Logging {
    /// The log is written until this is dropped.
    pub(crate) guard: WorkerGuard,
    /// Changes the level.
    pub(crate) set_level: Box<dyn Fn(LogLevel) + Send + Sync>,
}

/// Logs to standard error. Lines are lost when the reader is slow: a full pipe must not stop sign-ins.
pub(crate) fn start_logging(log: &Log) -> Logging {
    let (writer, guard) = tracing_appender::non_blocking(io::stderr());
    let logs = tracing_subscriber::fmt().with_env_filter(filter(log.level)).with_writer(writer).with_target(false);
    // `try_init` fails only when logging was initialized before; then that logging stays in use.
    let set_level: Box<dyn Fn(LogLevel) + Send + Sync> = match log.format {
        LogFormat::Text => {
            let logs = logs.with_ansi(false).with_filter_reloading();
            let handle = logs.reload_handle();
            let _ = logs.try_init();
            Box::new(move |level| drop(handle.reload(filter(level))))
        }
        LogFormat::Json => {
            let logs = logs.json().flatten_event(true).with_span_list(false).with_filter_reloading();
            let handle = logs.reload_handle();
            let _ = logs.try_init();
            Box::new(move |level| drop(handle.reload(filter(level))))
        }
    };
    Logging { guard, set_level }
}

fn filter(level: LogLevel) -> EnvFilter {
    // These libraries log every value sent to the database and every frame of a socket.
    EnvFilter::new(format!("{level},tokio_postgres=error,postgres=error,tungstenite=error,tokio_tungstenite=error"))
}

/// The metrics of the service.
#[derive(Debug)]
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    pub(crate) handle: PrometheusHandle,
    /// Connections that were closed immediately: their address has too many, or the reserve is exhausted.
    pub(crate) rejected_connections: Counter,
    /// Connections that were closed to make room for others.
    pub(crate) evicted_connections: Counter,
    pub(crate) reserve_connections: Counter,
    /// Requests whose proxy is not trusted.
    pub(crate) untrusted_proxy_requests: Counter,
    /// Messages that were sent on sockets.
    pub(crate) socket_messages: Counter,
    dropped_messages: Counter,
    socket_closes: [(u16, Counter); CLOSE_CODES.len()],
    refused_sign_ins: [(&'static str, Counter); SIGN_IN_ERRORS.len()],
    replies: [(&'static str, Counter); REPLY_OUTCOMES.len()],
}

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

/// The reasons why a sign-in through the platform is refused, as the landing address names them.
pub(crate) const SIGN_IN_ERRORS: [&str; 7] =
    ["denied", "invalid_code", "not_a_member", "no_role", "disabled", "platform_unavailable", "internal"];

/// The outcomes of replies to messages.
const REPLY_OUTCOMES: [&str; 5] = ["delivered", "refused", "unreachable", "too_many", "not_allowed"];

/// The close codes of sockets; 1006 stands for a broken connection.
const CLOSE_CODES: [u16; 13] = [1000, 1001, 1002, 1003, 1006, 1007, 1008, 1009, 1012, 1013, 4401, 4403, 4409];

const BUCKETS: [f64; 10] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// The origin of the metrics, which the recorder requires.
const METADATA: Metadata<'static> = Metadata::new("deskpass", Level::INFO, None);

impl Metrics {
    pub(crate) fn new() -> Self {
        // The builder fails only for an empty list of buckets.
        let builder = PrometheusBuilder::new();
        let recorder = builder.set_buckets(&BUCKETS).unwrap_or_default().build_recorder();
        let handle = recorder.handle();
        let counter = |name: &'static str| recorder.register_counter(&Key::from_name(name), &METADATA);
        let labelled = |name: &'static str, label: Label| {
            recorder.register_counter(&Key::from_parts(name, vec![label]), &METADATA)
        };
        Self {
            handle,
            rejected_connections: counter("deskpass_connections_turned_away_total"),
            evicted_connections: counter("deskpass_connections_evicted_total"),
            reserve_connections: counter("deskpass_connections_from_reserve_total"),
            untrusted_proxy_requests: counter("deskpass_untrusted_proxy_requests_total"),
            socket_messages: counter("deskpass_socket_messages_total"),
            dropped_messages: counter("deskpass_messages_dropped_total"),
            socket_closes: CLOSE_CODES
                .map(|code| (code, labelled("deskpass_sockets_closed_total", Label::new("code", code.to_string())))),
            refused_sign_ins: SIGN_IN_ERRORS
                .map(|word| (word, labelled("deskpass_platform_sign_ins_refused_total", Label::new("why", word)))),
            replies: REPLY_OUTCOMES
                .map(|outcome| (outcome, labelled("deskpass_replies_total", Label::new("outcome", outcome)))),
            recorder,
        }
    }

    /// Counts a reply to a message, by its outcome.
    pub(crate) fn count_reply(&self, outcome: &str) {
        if let Some((_, counter)) = self.replies.iter().find(|(known, _)| *known == outcome) {
            counter.increment(1);
        }
    }

    /// Counts a closed socket by its close code.
    pub(crate) fn count_socket_close(&self, code: u16) {
        if let Some((_, counter)) = self.socket_closes.iter().find(|(known, _)| *known == code) {
            counter.increment(1);
        }
    }

    /// Counts a refused sign-in through the platform, by its reason.
    pub(crate) fn count_refused_sign_in(&self, word: &str) {
        if let Some((_, counter)) = self.refused_sign_ins.iter().find(|(known, _)| *known == word) {
            counter.increment(1);
        }
    }

    /// The metrics of the rows of a route table, registered here.
    pub(crate) fn for_routes(&self, rows: impl IntoIterator<Item = RouteLabels>) -> RouteMetrics {
        let other = RouteLabels { method: "other".into(), path: "other", is_limited: false };
        RouteMetrics(rows.into_iter().chain([other]).map(|row| self.request_metrics(row)).collect())
    }

    fn request_metrics(&self, RouteLabels { method, path, is_limited }: RouteLabels) -> RequestMetrics {
        let labels = vec![Label::new("method", method), Label::new("route", path)];
        let counter = |outcome: &'static str| {
            let labels = labels.iter().cloned().chain([Label::new("outcome", outcome)]).collect::<Vec<_>>();
            self.recorder.register_counter(&Key::from_parts("deskpass_requests_total", labels), &METADATA)
        };
        let seconds = Key::from_parts("deskpass_request_seconds", labels.clone());
        let limited = Key::from_parts("deskpass_limited_total", vec![Label::new("route", path)]);
        RequestMetrics {
            ok: counter("ok"),
            refused: counter("refused"),
            failed: counter("failed"),
            seconds: self.recorder.register_histogram(&seconds, &METADATA),
            limited: is_limited.then(|| self.recorder.register_counter(&limited, &METADATA)),
        }
    }

    /// The metrics in Prometheus' text format, with the gauges and the number of dropped messages as given.
    pub(crate) fn render(&self, gauges: &[(&'static str, usize)], dropped_messages: u64) -> String {
        for (name, value) in gauges {
            let gauge = self.recorder.register_gauge(&Key::from_name(*name), &METADATA);
            #[expect(clippy::cast_precision_loss, reason = "a gauge is a float; no count here reaches 2^52")]
            gauge.set(*value as f64);
        }
        self.dropped_messages.absolute(dropped_messages);
        self.handle.render()
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
        outcome.increment(1);
        figures.seconds.record(elapsed);
    }

    /// Counts a request that exceeded the rate limit of its row.
    pub(crate) fn count_rate_limited(&self, row: usize) {
        if let Some(RequestMetrics { limited: Some(counter), .. }) = self.0.get(row) {
            counter.increment(1);
        }
    }
}

/// Measures the time until a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a measurement, on which no decision rests")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
