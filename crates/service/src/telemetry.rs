//! Logs and metrics. Neither contains tokens, query strings or bodies.

pub(crate) mod catalogue;
mod metrics;
mod process;
mod registry;
mod routes;

use std::io;
use std::time::{Duration, Instant};

use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, reload};

use crate::config::{Log, LogFormat, LogLevel};

pub(crate) use self::metrics::Metrics;
pub(crate) use self::registry::Gauge;
pub(crate) use self::routes::{RouteLabels, RouteMetrics};

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
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_target(false);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match log.format {
        LogFormat::Text => Box::new(lines.with_ansi(false)),
        LogFormat::Json => Box::new(lines.json().flatten_event(true).with_span_list(false)),
    };
    let (filter, handle) = reload::Layer::new(levels(log.level));
    // This fails only when logging was initialized before; then that logging stays in use.
    let _ = Registry::default().with(lines).with(filter).try_init();
    Logging { guard, set_level: Box::new(move |level| drop(handle.reload(levels(level)))) }
}

fn levels(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // These libraries log every value sent to the database and every frame of a socket.
    let verbose = ["tokio_postgres", "postgres", "tungstenite", "tokio_tungstenite"];
    Targets::new().with_default(level).with_targets(verbose.map(|library| (library, LevelFilter::ERROR)))
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
