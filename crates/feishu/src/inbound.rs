//! Events of the platform.

use std::fmt;

use deskpass_platform::{InboundError, InboundRequest, InboundResult};

use crate::UserIdKind;

/// What authenticates events.
#[derive(Clone, PartialEq, Eq)]
pub struct EventSettings {
    /// The Encrypt Key: without one the platform signs nothing.
    pub encrypt_key: String,
    /// The Verification Token.
    pub token: String,
}

impl fmt::Debug for EventSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSettings").finish_non_exhaustive()
    }
}

/// Reads events.
pub(crate) struct EventReader {
    settings: Option<EventSettings>,
}

impl EventReader {
    pub(crate) fn new(settings: Option<EventSettings>, _app_id: &str, _tenant_key: &str, _user_id: UserIdKind) -> Self {
        Self { settings }
    }

    pub(crate) fn read(&self, _request: &InboundRequest<'_>) -> Result<InboundResult, InboundError> {
        tracing::debug!(settings = ?self.settings, "events of the platform are not supported yet");
        Err(InboundError::NotConfigured)
    }
}
