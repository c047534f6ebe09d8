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

use crate::config::{Log, LogFormat, LogLevel};

pub(crate) use self::metrics::Metrics;
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
