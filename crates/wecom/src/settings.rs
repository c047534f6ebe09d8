//! The settings of the client.

use std::fmt;
use std::time::Duration;

use url::Url;

use crate::sanitize::is_visible_ascii;

/// The settings of the client.
#[derive(Clone, PartialEq, Eq)]
pub struct WecomSettings {
    /// The corporation.
    pub corp_id: String,
    /// The secret of the corporation's application.
    pub secret: String,
    /// The application's agent id; desktop sign-in and the application's record require it.
    pub agent_id: Option<String>,
    /// The addresses of the platform.
    pub hosts: Hosts,
    /// The proxy, for networks without direct access. Its URL may contain a user name and password.
    pub proxy: Option<Url>,
    /// The timeouts.
    pub timeouts: Timeouts,
}

impl fmt::Debug for WecomSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WecomSettings")
            .field("corp_id", &self.corp_id)
            .field("agent_id", &self.agent_id)
            .field("hosts", &self.hosts)
            .field("proxy", &self.proxy.as_ref().and_then(Url::host_str))
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// The addresses of the platform. The default is the public platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The part of the server API's URL before `/cgi-bin/`: an origin, and a path if there is one.
    pub api: Url,
    /// The page that signs in inside the platform's own browser.
    pub authorize: Url,
    /// The page that signs in a desktop browser.
    pub web_login: Url,
}

impl Default for Hosts {
    #[expect(clippy::expect_used, reason = "three constants, read by a test")]
    fn default() -> Self {
        let url = |text| Url::parse(text).expect("a constant that parses");
        Self {
            api: url("https://qyapi.weixin.qq.com"),
            authorize: url("https://open.weixin.qq.com/connect/oauth2/authorize"),
            web_login: url("https://login.work.weixin.qq.com/wwlogin/sso/login"),
        }
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

impl WecomSettings {
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let texts =
            [("corp id", Some(&self.corp_id)), ("secret", Some(&self.secret)), ("agent id", self.agent_id.as_ref())];
        for (name, text) in texts {
            if text.is_some_and(|text| !is_visible_ascii(text)) {
                return Err(SettingsError::Unprintable(name));
            }
        }
        let Hosts { api, authorize, web_login } = &self.hosts;
        for (name, url) in [("API address", api), ("authorize page", authorize), ("web sign-in page", web_login)] {
            if !is_http(url) || !is_bare(url) {
                return Err(SettingsError::Address(name));
            }
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
