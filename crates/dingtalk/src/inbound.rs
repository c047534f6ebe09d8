//! Events that the platform sends.

use std::fmt;

use deskpass_platform::{InboundError, InboundRequest, InboundResult};

/// What authenticates and encrypts events.
#[derive(Clone, PartialEq, Eq)]
pub struct EventSettings {
    /// The token that signs (签名 `token`).
    pub token: String,
    /// The key that encrypts (加密 `aes_key`).
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
    pub(crate) fn new(_: Option<EventSettings>, _client_id: &str, _corp_id: &str) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "no event is read yet")]
    pub(crate) fn read(&self, _: &InboundRequest<'_>) -> Result<InboundResult, InboundError> {
        Err(InboundError::NotConfigured)
    }
}
