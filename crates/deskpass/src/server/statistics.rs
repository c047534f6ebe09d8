//! Writes down how far sign-ins came.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::App;

/// How often it is written down, and how long to wait where it could not be.
const FLUSH_INTERVAL: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_mins(1);

/// How long the end waits for it: figures are not worth more.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Somebody who writes it down, until the end.
#[derive(Debug)]
pub(super) struct StatisticsWriter {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl StatisticsWriter {
    pub(super) fn start(app: App) -> Self {
        let (end, ended) = oneshot::channel();
        Self { end, task: tokio::spawn(write(app, ended)) }
    }

    /// Writes down what is left. To be said when nothing is counted any more.
    pub(super) async fn finish(self) {
        let Self { end, mut task } = self;
        drop(end);
        if timeout(FINAL_FLUSH_TIMEOUT, &mut task).await.is_err() {
            tracing::warn!("the last figures of sign-ins were not written down in time");
            task.abort();
        }
    }
}

/// Not a chore that is cut short: what is being written down would be lost, or counted twice.
async fn write(app: App, mut ended: oneshot::Receiver<()>) {
    let mut pause = FLUSH_INTERVAL;
    loop {
        let over = timeout(pause, &mut ended).await.is_ok();
        let written = app.auth.store.flush_statistics().await;
        pause = if written.is_ok() { FLUSH_INTERVAL } else { RETRY_INTERVAL };
        if let Err(error) = written {
            tracing::warn!(%error, "cannot write down how far sign-ins came");
        }
        if over {
            return;
        }
    }
}
