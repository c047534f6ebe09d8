//! Where a running service is reached, by settings that may be invalid otherwise.

use std::path::PathBuf;

use super::listen_address::connect_address;
use super::origin::Origin;
use super::problem::ConfigError;
use super::resolved::resolve;
use super::sources::Sources;

/// Where a running service is reached.
#[derive(Clone, Debug)]
pub struct ServiceLocation {
    /// The directory with its command socket.
    pub data: PathBuf,
    /// Whether nodes share the database; then a service has no command socket.
    pub shared_database: bool,
    /// Whether it runs in development mode.
    pub development: bool,
}

/// Finds the running service. Other settings may be invalid or missing: the service has its own environment, and reports what
/// is wrong. The error has all problems, if the settings file cannot be read and no other source names the directory.
pub fn service_location(sources: &Sources<'_>) -> Result<ServiceLocation, ConfigError> {
    let resolved = resolve(sources);
    let (data, development) = (resolved.settings.data, resolved.settings.development.enabled.value);
    let is_known = resolved.complete || !matches!(data.entry.origin, Origin::Default);
    match (data.value, development) {
        (Some(data), Some(development)) if is_known => {
            let shared_database = resolved.settings.store.url.entry.is_set();
            Ok(ServiceLocation { data, shared_database, development })
        }
        _ => Err(ConfigError { problems: resolved.problems }),
    }
}

/// The address at which this machine reaches the service, with https if the service speaks TLS. Other settings may be invalid or
/// missing, as for [`service_location`].
pub fn local_url(sources: &Sources<'_>) -> Result<String, ConfigError> {
    let resolved = resolve(sources);
    let listen = resolved.settings.listen;
    let is_known = resolved.complete || !matches!(listen.entry.origin, Origin::Default);
    let Some(address) = listen.value.filter(|_| is_known) else {
        return Err(ConfigError { problems: resolved.problems });
    };
    let scheme = if resolved.settings.server.tls_certificate.entry.is_set() { "https" } else { "http" };
    Ok(format!("{scheme}://{}", connect_address(address)))
}
