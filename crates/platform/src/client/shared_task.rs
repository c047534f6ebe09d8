//! A task whose result is shared by all waiting callers.

use tokio::sync::watch;
use tracing::Instrument;

use crate::Pending;

/// A running task. Clones wait for the same task.
#[derive(Clone)]
pub(super) struct SharedTask<T>(watch::Receiver<Option<T>>);

/// A value that is ready or still being computed.
pub(super) enum ReadyOrRunning<T> {
    /// The value is ready.
    Ready(T),
    /// The task that computes the value is running.
    Running(SharedTask<T>),
}

impl<T: Clone + Send + Sync + 'static> SharedTask<T> {
    /// Spawns the work as its own task: if the first caller gives up, the others still receive the result.
    pub(super) fn spawn(work: impl Future<Output = T> + Send + 'static) -> Self {
        let (sender, receiver) = watch::channel(None);
        let task = async move {
            let result = work.await;
            // Sent even if no caller is waiting any more.
            sender.send_replace(Some(result));
        };
        let task: Pending<'static, ()> = Box::pin(task.in_current_span());
        drop(tokio::spawn(task));
        Self(receiver)
    }

    /// Whether the task may still produce a result. A task that ended without one, as when its runtime stopped, will not.
    pub(super) fn is_running(&self) -> bool {
        self.0.has_changed().is_ok()
    }
}

impl<T: Clone> ReadyOrRunning<T> {
    /// Returns the value, waiting if necessary; `None` if the task ended without a result.
    pub(super) async fn get(self) -> Option<T> {
        match self {
            Self::Ready(here) => Some(here),
            Self::Running(mut task) => task.0.wait_for(Option::is_some).await.ok()?.clone(),
        }
    }
}
