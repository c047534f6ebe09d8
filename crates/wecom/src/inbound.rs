//! The events that the platform sends.

use std::fmt;

use deskpass_platform::{InboundError, InboundRequest, InboundResult};

/// What authenticates the events that the platform sends, as entered in its console.
#[derive(Clone, PartialEq, Eq)]
pub struct EventSettings {
    /// The token that signs.
    pub token: String,
    /// The key that encrypts (`EncodingAESKey`).
    pub aes_key: String,
}

impl fmt::Debug for EventSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSettings").finish_non_exhaustive()
    }
}

/// Reads events.
pub(crate) struct EventReader;

impl EventReader {
    pub(crate) fn new(_: Option<EventSettings>, _: &str) -> Self {
        Self
    }

    pub(crate) fn read(&self, _: &InboundRequest<'_>) -> Result<InboundResult, InboundError> {
        Err(InboundError::NotConfigured)
    }
}
