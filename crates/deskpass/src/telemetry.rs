//! Logs and metrics. Neither contains tokens, query strings or bodies.

use std::io;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// Writes logs to standard error until the guard is dropped. When the reader is too slow, log lines are dropped: a blocked pipe
/// must not stop sign-ins.
pub(crate) fn start_logging(log: &Log) -> WorkerGuard {
    let (writer, guard) = tracing_appender::non_blocking(io::stderr());
    // These libraries log every value sent to the database and every frame of a socket.
    let filter = EnvFilter::new(format!(
        "{},tokio_postgres=error,postgres=error,tungstenite=error,tokio_tungstenite=error",
        log.level
    ));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_target(false);
    // Fails only when logging was initialized before; then that logging stays in use.
    let _ = match log.format {
        LogFormat::Text => logs.with_ansi(false).try_init(),
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
    guard
}

/// The metrics of the service.
#[derive(Debug)]
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    cached_sessions: Gauge,
    /// Sign-ins in progress: QR codes that can still be scanned and tokens that can still be collected.
    under_way: Gauge,
    /// Whether recent requests to the platform succeeded.
    platform: Gauge,
    shared: Gauge,
    cache_in_sync: Gauge,
    clock: Gauge,
    connections: ConnectionMetrics,
    untrusted_proxy: Counter,
    sockets: Gauge,
    socket_messages: Counter,
    dropped: Counter,
    socket_closes: [(u16, Counter); CLOSE_CODES.len()],
    refused: [(&'static str, Counter); SIGN_IN_ERRORS.len()],
}

#[derive(Debug)]
struct ConnectionMetrics {
    turned_away: Counter,
    evicted: Counter,
    reserve: Counter,
}

impl ConnectionMetrics {
    fn new(counter: impl Fn(&'static str) -> Counter) -> Self {
        Self {
            turned_away: counter("deskpass_connections_turned_away_total"),
            evicted: counter("deskpass_connections_evicted_total"),
            reserve: counter("deskpass_connections_from_reserve_total"),
        }
    }
}

/// The metrics of the rows of a route table.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    /// An entry for each row, and one for requests that match no row.
    routes: Vec<RequestMetrics>,
    /// An entry for each row; `None` for rows without a rate limit.
    limited: Vec<Option<Counter>>,
}

/// The labels of a row of a route table.
#[derive(Debug)]
pub(crate) struct RouteLabels {
    pub(crate) method: String,
    pub(crate) path: &'static str,
    /// Whether the row has a rate limit.
    pub(crate) is_limited: bool,
}

/// The state of the service that gauges show.
#[derive(Debug)]
pub(crate) struct Gauges {
    pub(crate) cached_sessions: usize,
    pub(crate) sockets: usize,
    pub(crate) under_way: usize,
    pub(crate) platform: usize,
    pub(crate) shared: usize,
    pub(crate) cache_in_sync: usize,
    pub(crate) clock: usize,
    pub(crate) dropped: u64,
}

#[derive(Debug)]
struct RequestMetrics {
    ok: Counter,
    refused: Counter,
    failed: Counter,
    seconds: Histogram,
}

/// The reasons why a sign-in through the platform is refused, as the landing address names them.
pub(crate) const SIGN_IN_ERRORS: [&str; 7] =
    ["denied", "invalid_code", "not_a_member", "no_role", "disabled", "platform_unavailable", "internal"];

/// The close codes of sockets; 1006 stands for a broken connection.
const CLOSE_CODES: [u16; 13] = [1000, 1001, 1002, 1003, 1006, 1007, 1008, 1009, 1012, 1013, 4401, 4403, 4409];

/// The gauges, which are set when the metrics are rendered.
const GAUGES: [&str; 7] = [
    "deskpass_cached_sessions",
    "deskpass_sign_ins_under_way",
    "deskpass_platform_ok",
    "deskpass_shared_ok",
    "deskpass_cache_in_step",
    "deskpass_sockets",
    "deskpass_clock_ok",
];

const BUCKETS: [f64; 10] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// The origin of the metrics, which the recorder requires.
const METADATA: Metadata<'static> = Metadata::new("deskpass", Level::INFO, None);

impl Metrics {
    pub(crate) fn new() -> Self {
        // The builder fails only for an empty list of buckets.
        let builder = PrometheusBuilder::new();
        let recorder = builder.set_buckets(&BUCKETS).unwrap_or_default().build_recorder();
        let metadata = METADATA;
        let gauge = |name| recorder.register_gauge(&Key::from_name(name), &metadata);
        let [cached_sessions, under_way, platform, shared, cache_in_sync, sockets, clock] = GAUGES.map(gauge);
        let counter = |name: &'static str| recorder.register_counter(&Key::from_name(name), &metadata);
        let connections = ConnectionMetrics::new(counter);
        let untrusted_proxy = counter("deskpass_untrusted_proxy_requests_total");
        let refused = SIGN_IN_ERRORS.map(|word| {
            let labels = vec![Label::new("why", word)];
            let key = Key::from_parts("deskpass_platform_sign_ins_refused_total", labels);
            (word, recorder.register_counter(&key, &metadata))
        });
        let socket_messages = counter("deskpass_socket_messages_total");
        let dropped = counter("deskpass_messages_dropped_total");
        let socket_closes = CLOSE_CODES.map(|code| {
            let labels = vec![Label::new("code", code.to_string())];
            let key = Key::from_parts("deskpass_sockets_closed_total", labels);
            (code, recorder.register_counter(&key, &metadata))
        });
        let handle = recorder.handle();
        Self {
            recorder,
            handle,
            cached_sessions,
            under_way,
            platform,
            shared,
            cache_in_sync,
            clock,
            connections,
            untrusted_proxy,
            sockets,
            socket_messages,
            dropped,
            socket_closes,
            refused,
        }
    }

    /// Counts a connection that was closed immediately: its address has too many, or the reserve is exhausted.
    pub(crate) fn count_rejected_connection(&self) {
        self.connections.turned_away.increment(1);
    }

    /// Counts a connection that was closed to make room for another.
    pub(crate) fn count_evicted_connection(&self) {
        self.connections.evicted.increment(1);
    }

    /// Counts a connection from the reserve.
    pub(crate) fn count_reserve_connection(&self) {
        self.connections.reserve.increment(1);
    }

    /// Counts a request that was rejected because its proxy is not trusted.
    pub(crate) fn count_untrusted_proxy(&self) {
        self.untrusted_proxy.increment(1);
    }

    /// Counts a message that is sent on a socket.
    pub(crate) fn count_socket_message(&self) {
        self.socket_messages.increment(1);
    }

    /// Counts a closed socket by its close code.
    pub(crate) fn count_socket_close(&self, code: u16) {
        if let Some((_, counter)) = self.socket_closes.iter().find(|(known, _)| *known == code) {
            counter.increment(1);
        }
    }

    /// Counts a refused sign-in through the platform, by its reason.
    pub(crate) fn count_refused_sign_in(&self, word: &str) {
        if let Some((_, counter)) = self.refused.iter().find(|(known, _)| *known == word) {
            counter.increment(1);
        }
    }

    /// The metrics of the rows of a route table, registered here.
    pub(crate) fn for_routes(&self, rows: impl IntoIterator<Item = RouteLabels>) -> RouteMetrics {
        let (mut routes, mut limited) = (Vec::new(), Vec::new());
        for RouteLabels { method, path, is_limited } in rows {
            routes.push(self.request_metrics(method, path));
            let key = Key::from_parts("deskpass_limited_total", vec![Label::new("route", path)]);
            limited.push(is_limited.then(|| self.recorder.register_counter(&key, &METADATA)));
        }
        routes.push(self.request_metrics("other".into(), "other"));
        RouteMetrics { routes, limited }
    }

    fn request_metrics(&self, method: String, path: &'static str) -> RequestMetrics {
        let labels = vec![Label::new("method", method), Label::new("route", path)];
        let counter = |outcome: &'static str| {
            let labels = labels.iter().cloned().chain([Label::new("outcome", outcome)]).collect::<Vec<_>>();
            self.recorder.register_counter(&Key::from_parts("deskpass_requests_total", labels), &METADATA)
        };
        let seconds = Key::from_parts("deskpass_request_seconds", labels.clone());
        RequestMetrics {
            ok: counter("ok"),
            refused: counter("refused"),
            failed: counter("failed"),
            seconds: self.recorder.register_histogram(&seconds, &METADATA),
        }
    }

    /// The metrics in Prometheus' text format, with the gauges as given.
    pub(crate) fn render(&self, now: &Gauges) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float; no count here reaches 2^52")]
        let gauge = |gauge: &Gauge, count: usize| gauge.set(count as f64);
        gauge(&self.cached_sessions, now.cached_sessions);
        gauge(&self.sockets, now.sockets);
        gauge(&self.under_way, now.under_way);
        gauge(&self.platform, now.platform);
        gauge(&self.shared, now.shared);
        gauge(&self.cache_in_sync, now.cache_in_sync);
        gauge(&self.clock, now.clock);
        self.dropped.absolute(now.dropped);
        self.handle.render()
    }

    /// Folds recorded values into their buckets; called periodically, so that they do not accumulate.
    pub(crate) fn run_upkeep(&self) {
        self.handle.run_upkeep();
    }
}

impl RouteMetrics {
    /// Counts a response under its row of the table; `None` is a request that matches no row.
    pub(crate) fn record_response(&self, row: Option<usize>, status: StatusCode, elapsed: Duration) {
        let Some(figures) = row.map_or_else(|| self.routes.last(), |row| self.routes.get(row)) else { return };
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
        if let Some(Some(counter)) = self.limited.get(row) {
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
