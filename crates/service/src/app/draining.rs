//! Whether this process is shutting down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// Whether this process is shutting down: then readiness reports it, connections close, and waiting requests end.
#[derive(Clone, Debug)]
pub(super) struct Draining {
    /// The same as the last value of the channel. Every request reads it; the channel has a lock, and to take it is to write to memory that
    /// all threads share.
    has_started: Arc<AtomicBool>,
    channel: watch::Sender<bool>,
}

impl Draining {
    /// The state of a process that has just started.
    pub(super) fn new() -> Self {
        Self { has_started: Arc::default(), channel: watch::Sender::new(false) }
    }

    pub(super) fn start(&self) {
        self.has_started.store(true, Ordering::Release);
        self.channel.send_replace(true);
    }

    pub(super) fn has_started(&self) -> bool {
        self.has_started.load(Ordering::Acquire)
    }

    /// Completes when it starts.
    pub(super) fn started(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut channel = self.channel.subscribe();
        async move { drop(channel.wait_for(|has_started| *has_started).await) }
    }
}
