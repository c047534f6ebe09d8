//! One errand for everybody who waits for what it brings.

use tokio::sync::watch;
use tracing::Instrument;

/// An errand under way. Clones wait for the same one.
#[derive(Clone)]
pub(crate) struct Flight<T>(watch::Receiver<Option<T>>);

/// What somebody needs.
pub(crate) enum Needed<T> {
    /// Here it is.
    Here(T),
    /// It is being brought.
    Coming(Flight<T>),
}

impl<T: Clone + Send + Sync + 'static> Flight<T> {
    /// Departs as a task of its own: whoever asked first may give up without leaving the others waiting.
    pub(crate) fn depart(errand: impl Future<Output = T> + Send + 'static) -> Self {
        let (sender, receiver) = watch::channel(None);
        let flight = async move {
            let brought = errand.await;
            // Also when nobody is waiting any more.
            sender.send_replace(Some(brought));
        };
        drop(tokio::spawn(flight.in_current_span()));
        Self(receiver)
    }

    /// Whether it may still land. One that ended without a word, as when its runtime stopped, will not.
    pub(crate) fn is_under_way(&self) -> bool {
        self.0.has_changed().is_ok()
    }
}

impl<T: Clone> Needed<T> {
    /// What is needed, waited for if need be; nothing where its flight ended without a word.
    pub(crate) async fn get(self) -> Option<T> {
        match self {
            Self::Here(here) => Some(here),
            Self::Coming(mut flight) => flight.0.wait_for(Option::is_some).await.ok()?.clone(),
        }
    }
}
