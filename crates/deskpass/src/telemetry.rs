//! Logs and figures. Neither ever carries a token, a query string or a body.

use std::io;
use std::time::{Duration, Instant};

use deskpass_core::ClockTrust;
use deskpass_wecom::Circuit;
use hyper::StatusCode;
use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

use crate::App;
use crate::config::{Log, LogFormat};
use crate::http::{RateLimit, Route, SIGN_IN_ERRORS, routes};

/// Starts writing logs to standard error, until the guard is dropped. When nobody reads them they are lost, and the service
/// goes on: a stuck pipe must not stop sign-ins.
pub(crate) fn start_logging(log: &Log) -> WorkerGuard {
    let (writer, guard) = tracing_appender::non_blocking(io::stderr());
    // The libraries themselves would write down every value that we hand the database, and all that is said on sockets.
    let filter = EnvFilter::new(format!(
        "{},tokio_postgres=error,postgres=error,tungstenite=error,tokio_tungstenite=error",
        log.level
    ));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_target(false);
    // Fails only when logging has been started before, and then it goes on as it was.
    let _ = match log.format {
        LogFormat::Text => logs.with_ansi(false).try_init(),
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
    guard
}

/// The figures of one desk.
#[derive(Debug)]
pub(crate) struct Metrics {
    handle: PrometheusHandle,
    /// One for each row of the route table, and one for everything else.
    routes: Vec<RouteMetrics>,
    cached_sessions: Gauge,
    /// QR codes that somebody may still scan, and tokens that somebody may still collect.
    under_way: Gauge,
    /// Whether the platform worked lately.
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
    /// By the row of the route table, where it has a limit.
    limited: Vec<Option<Counter>>,
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

#[derive(Debug)]
struct RouteMetrics {
    ok: Counter,
    refused: Counter,
    failed: Counter,
    seconds: Histogram,
}

/// The codes that sockets are closed with; 1006 is a line that broke.
const CLOSE_CODES: [u16; 13] = [1000, 1001, 1002, 1003, 1006, 1007, 1008, 1009, 1012, 1013, 4401, 4403, 4409];

/// What is looked at when somebody asks.
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

impl Metrics {
    pub(crate) fn new() -> Self {
        // The builder fails only for an empty list of buckets.
        let builder = PrometheusBuilder::new();
        let recorder = builder.set_buckets(&BUCKETS).unwrap_or_default().build_recorder();
        let metadata = Metadata::new("deskpass", Level::INFO, None);
        let figures = |method: &str, path: &str| {
            let labels = vec![Label::new("method", method.to_owned()), Label::new("route", path.to_owned())];
            let counter = |outcome: &'static str| {
                let labels = labels.iter().cloned().chain([Label::new("outcome", outcome)]).collect::<Vec<_>>();
                recorder.register_counter(&Key::from_parts("deskpass_requests_total", labels), &metadata)
            };
            RouteMetrics {
                ok: counter("ok"),
                refused: counter("refused"),
                failed: counter("failed"),
                seconds: recorder
                    .register_histogram(&Key::from_parts("deskpass_request_seconds", labels.clone()), &metadata),
            }
        };
        let table = routes();
        let rows = table.iter().map(|route| figures(route.method.as_str(), route.path));
        let routes = rows.chain([figures("other", "other")]).collect();
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
        let limited = |route: &Route| {
            let key = Key::from_parts("deskpass_limited_total", vec![Label::new("route", route.path)]);
            (route.limit != RateLimit::Unlimited).then(|| recorder.register_counter(&key, &metadata))
        };
        let (limited, handle) = (table.iter().map(limited).collect(), recorder.handle());
        Self {
            handle,
            routes,
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
            limited,
            refused,
        }
    }

    /// Counts an answer under its row of the table.
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

    /// Counts a connection that was closed at once: its address has too many, or even the reserve is in use.
    pub(crate) fn count_rejected_connection(&self) {
        self.connections.turned_away.increment(1);
    }

    /// Counts a connection that was closed to make room for another one.
    pub(crate) fn count_evicted_connection(&self) {
        self.connections.evicted.increment(1);
    }

    /// Counts a connection from the reserve.
    pub(crate) fn count_reserve_connection(&self) {
        self.connections.reserve.increment(1);
    }

    /// Counts a request that was refused because its proxy is not trusted.
    pub(crate) fn count_untrusted_proxy(&self) {
        self.untrusted_proxy.increment(1);
    }

    /// Counts a message that goes out on a socket.
    pub(crate) fn count_socket_message(&self) {
        self.socket_messages.increment(1);
    }

    /// Counts a socket that ends, by the code it is closed with.
    pub(crate) fn count_socket_close(&self, code: u16) {
        if let Some((_, counter)) = self.socket_closes.iter().find(|(known, _)| *known == code) {
            counter.increment(1);
        }
    }

    /// Counts a request that came too early for its row of the table.
    pub(crate) fn count_rate_limited(&self, row: usize) {
        if let Some(Some(counter)) = self.limited.get(row) {
            counter.increment(1);
        }
    }

    /// Counts somebody who came back from the platform and was not let in.
    pub(crate) fn count_refused_sign_in(&self, word: &str) {
        if let Some((_, counter)) = self.refused.iter().find(|(known, _)| *known == word) {
            counter.increment(1);
        }
    }

    /// The figures in Prometheus' text format.
    pub(crate) fn render(&self, app: &App) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float; nobody has 2^52 of anything")]
        let gauge = |gauge: &Gauge, count: usize| gauge.set(count as f64);
        gauge(&self.cached_sessions, app.auth.store.cached_sessions());
        gauge(&self.sockets, app.auth.sockets.len());
        gauge(&self.under_way, app.auth.shared.sign_ins.len());
        gauge(&self.platform, usize::from(matches!(app.auth.platform.circuit(), Circuit::Closed | Circuit::Untried)));
        gauge(&self.shared, usize::from(app.auth.shared.is_up()));
        gauge(&self.cache_in_sync, usize::from(app.auth.store.is_cache_trusted()));
        gauge(&self.clock, usize::from(app.auth.clock.trust() == ClockTrust::Trusted));
        self.dropped.absolute(app.auth.shared.messages.dropped());
        self.handle.render()
    }

    /// Folds what was recorded into its buckets; called now and then, so that the records do not pile up.
    pub(crate) fn run_upkeep(&self) {
        self.handle.run_upkeep();
    }
}

/// Measures how long an answer took.
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
