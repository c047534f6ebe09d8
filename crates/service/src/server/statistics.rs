//! Writes the statistics of sign-ins to the store.

use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::App;

/// How often statistics are written, and the pause after a failed write.
const FLUSH_INTERVAL: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_mins(1);

/// How long the shutdown waits for the last write; the statistics are not worth a longer wait.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// A task that writes the statistics until shutdown.
#[derive(Debug)]
pub(super) struct StatisticsWriter {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl StatisticsWriter {
    pub(super) fn start(app: App) -> Self {
        let (end, ended) = oneshot::channel();
        Self { end, task: tokio::spawn(write(app, ended).boxed()) }
    }

    /// Writes the remaining statistics. Call it when no more events are counted.
    pub(super) async fn finish(self) {
        let Self { end, mut task } = self;
        drop(end);
        if timeout(FINAL_FLUSH_TIMEOUT, &mut task).await.is_err() {
            tracing::warn!("the last sign-in statistics were not written before shutdown");
            task.abort();
        }
    }
}

/// Writes the statistics again and again. A write that was cancelled or failed is finished by the next one.
async fn write(app: App, mut ended: oneshot::Receiver<()>) {
    let mut pause = FLUSH_INTERVAL;
    loop {
        let over = timeout(pause, &mut ended).await.is_ok();
        let written = app.auth.flush_statistics().await;
        pause = if written.is_ok() { FLUSH_INTERVAL } else { RETRY_INTERVAL };
        if let Err(error) = written {
            tracing::warn!(%error, "cannot write sign-in statistics");
        }
        if over {
            return;
        }
    }
}
