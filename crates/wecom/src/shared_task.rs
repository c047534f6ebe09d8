//! One errand for everybody who waits for what it brings.

use tokio::sync::watch;
use tracing::Instrument;

/// An errand under way. Clones wait for the same one.
#[derive(Clone)]
pub(crate) struct SharedTask<T>(watch::Receiver<Option<T>>);

/// What somebody needs.
pub(crate) enum ReadyOrRunning<T> {
    /// Here it is.
    Ready(T),
    /// It is being brought.
    Running(SharedTask<T>),
}

impl<T: Clone + Send + Sync + 'static> SharedTask<T> {
    /// Departs as a task of its own: whoever asked first may give up without leaving the others waiting.
    pub(crate) fn spawn(work: impl Future<Output = T> + Send + 'static) -> Self {
        let (sender, receiver) = watch::channel(None);
        let flight = async move {
            let brought = work.await;
            // Also when nobody is waiting any more.
            sender.send_replace(Some(brought));
        };
        drop(tokio::spawn(flight.in_current_span()));
        Self(receiver)
    }

    /// Whether it may still land. One that ended without a word, as when its runtime stopped, will not.
    pub(crate) fn is_running(&self) -> bool {
        self.0.has_changed().is_ok()
    }
}

impl<T: Clone> ReadyOrRunning<T> {
    /// What is needed, waited for if need be; nothing where its flight ended without a word.
    pub(crate) async fn get(self) -> Option<T> {
        match self {
            Self::Ready(here) => Some(here),
            Self::Running(mut flight) => flight.0.wait_for(Option::is_some).await.ok()?.clone(),
        }
    }
}
