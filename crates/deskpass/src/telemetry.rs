//! Logs and metrics. Neither contains tokens, query strings or bodies.

pub(crate) mod catalogue;
mod metrics;
mod process;
mod registry;
mod routes;

use std::io;
use std::time::{Duration, Instant};

use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

pub(crate) use self::metrics::Metrics;
pub(crate) use self::routes::{RouteLabels, RouteMetrics};

/// Logs to standard error until the guard is dropped. Lines are lost when the reader is slow: a full pipe must not stop sign-ins.
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
        LogFormat::Json => logs.json().flatten_event(true).with_span_list(false).try_init(),
    };
    guard
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
