//! The platform's client, and the way to the platform.

use std::sync::Arc;

use deskpass_core::Clock;
use deskpass_platform::{Messenger, SettingsError};

use crate::app::platform;
use crate::config::Settings;

/// The platform's client, and the way to the platform.
pub(super) struct PlatformAccess {
    pub(super) client: Arc<dyn Messenger>,
    pub(super) route: PlatformRoute,
}

/// The way to the platform. Neither address contains a password: the settings reject such addresses.
pub(super) struct PlatformRoute {
    /// The address of the API.
    pub(super) api: String,
    /// The host of the proxy, if there is one.
    pub(super) proxy: Option<String>,
}

impl PlatformAccess {
    /// The client of these settings. No call is made.
    pub(super) fn open(settings: &Settings, clock: Clock) -> Result<Self, SettingsError> {
        let host = |proxy: &str| proxy.split_once("://").map_or(proxy, |(_, host)| host).to_owned();
        let proxy = settings.platform.proxy.as_deref().map(host);
        let route = PlatformRoute { api: platform::api_url(settings)?, proxy };
        Ok(Self { client: platform::client(settings, clock)?, route })
    }
}
