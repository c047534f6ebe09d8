//! The HTTP client that tells OpenID Connect clients about the end of sessions.
//!
//! Redirects are not followed, and the proxy variables of the environment are ignored.

use std::net::SocketAddr;
use std::time::Duration;

use deskpass_auth::LogoutSender;
use deskpass_platform::{SettingsError, tls_config};
use reqwest::Client;
use reqwest::redirect::Policy;

use super::resolver::Resolver;

/// The maximum number of idle connections to one client.
const MAX_IDLE_CONNECTIONS: usize = 4;
/// How long a connection stays open between two logouts.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The sender of logouts. Where the machine has no certificate authorities, only clients on the same machine can be reached.
/// It asks the name servers of the system, or the one of a test.
pub(crate) fn open(name_server: Option<SocketAddr>) -> Result<LogoutSender, SettingsError> {
    let resolver = name_server.map_or_else(Resolver::for_logouts, Resolver::for_logouts_asking);
    let tls = tls_config(true).or_else(|error| {
        tracing::warn!(%error, "only OpenID Connect clients without HTTPS can be told about the end of sessions");
        tls_config(false)
    })?;
    let http = Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("deskpass/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .referer(false)
        .no_proxy()
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .dns_resolver(resolver.map_err(|_| SettingsError::Client)?)
        .build()
        .map_err(|_| SettingsError::Client)?;
    Ok(LogoutSender::new(http))
}
