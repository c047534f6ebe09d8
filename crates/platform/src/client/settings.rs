//! The settings that all clients have.

use std::fmt;
use std::time::Duration;

use url::Url;

use super::sanitize::is_visible_ascii;

/// The settings that all clients have.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// The address of the API that tells the time.
    pub api: Url,
    /// The other addresses that are called. Certificates are needed if any address is encrypted.
    pub other_apis: Vec<Url>,
    /// The proxy, for networks without direct access. Its URL may contain a user name and password.
    pub proxy: Option<Url>,
    /// The timeouts.
    pub timeouts: Timeouts,
}

impl fmt::Debug for ClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSettings")
            .field("api", &self.api.as_str())
            .field("other_apis", &self.other_apis.iter().map(Url::as_str).collect::<Vec<_>>())
            .field("proxy", &self.proxy.as_ref().and_then(Url::host_str))
            .field("timeouts", &self.timeouts)
            .finish()
    }
}

/// The timeouts of calls to the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The timeout of a connection attempt.
    pub connect: Duration,
    /// The timeout of one call, including connection and response.
    pub call: Duration,
    /// The timeout of all calls of one operation, including pauses and retries.
    pub operation: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(2), call: Duration::from_secs(3), operation: Duration::from_secs(4) }
    }
}

/// An error: the settings are invalid.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// A required value is missing.
    #[error("the platform's {0} is missing")]
    Missing(&'static str),
    /// An identifier or secret contains a blank: a copying mistake for which the platform's own error is misleading.
    #[error("the platform's {0} must be 1 to 512 visible ASCII characters without spaces")]
    Unprintable(&'static str),
    /// The URL is not a valid address for a browser or client.
    #[error("the platform's {0} must be an http or https address without user, query or fragment")]
    Address(&'static str),
    /// The proxy cannot be used.
    #[error("the platform's proxy must be an http or https address")]
    Proxy,
    /// There are no trusted certificate authorities.
    #[error("this machine has no trusted certificate authorities")]
    NoCertificateAuthorities,
    /// The HTTP client could not be created.
    #[error("cannot create the HTTP client")]
    Client,
}

impl ClientSettings {
    /// Checks the proxy, and that these texts are printable and these addresses usable; each comes with its name.
    pub fn check(
        &self,
        texts: &[(&'static str, &str)],
        addresses: &[(&'static str, &Url)],
    ) -> Result<(), SettingsError> {
        if let Some((name, _)) = texts.iter().find(|(_, text)| !is_visible_ascii(text)) {
            return Err(SettingsError::Unprintable(name));
        }
        if let Some((name, _)) = addresses.iter().find(|(_, url)| !is_http(url) || !is_bare(url)) {
            return Err(SettingsError::Address(name));
        }
        if self.proxy.as_ref().is_some_and(|proxy| !is_http(proxy)) {
            return Err(SettingsError::Proxy);
        }
        Ok(())
    }
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| !host.is_empty())
}

fn is_bare(url: &Url) -> bool {
    url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none()
}
