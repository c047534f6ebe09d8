//! What the client is told at the start.

use std::fmt;
use std::time::Duration;

use url::Url;

use crate::sanitize::is_visible_ascii;

/// What the client is told at the start.
#[derive(Clone)]
pub struct Settings {
    /// The corporation.
    pub corp_id: String,
    /// The secret of its application.
    pub secret: String,
    /// The application's number; desktop sign-in and the application's own record need it.
    pub agent_id: Option<String>,
    /// Where the platform is.
    pub hosts: Hosts,
    /// The way out, for networks without a direct one. May carry a user name and password.
    pub proxy: Option<Url>,
    /// How long to wait.
    pub timeouts: Timeouts,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("corp_id", &self.corp_id)
            .field("agent_id", &self.agent_id)
            .field("hosts", &self.hosts)
            .field("proxy", &self.proxy.as_ref().and_then(Url::host_str))
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// Where the platform is. The default is the public one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// What stands before `/cgi-bin/` in the server API: an origin, with a path where there is one.
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

/// How long to wait for the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For one call, connection and answer together.
    pub call: Duration,
    /// For all calls of one operation, pauses and repeats included.
    pub operation: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(2), call: Duration::from_secs(3), operation: Duration::from_secs(4) }
    }
}

/// Settings no client can be made of.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// A blank in an identifier or secret is a slip of copying, and the platform's own complaint about it misleads.
    #[error("the platform's {0} must be 1 to 512 visible ASCII characters without blanks")]
    Unprintable(&'static str),
    /// Not an address a browser or client can go to.
    #[error("the platform's {0} must be an http or https address without user, query or fragment")]
    Address(&'static str),
    /// The proxy cannot be used.
    #[error("the platform's proxy must be an http or https address")]
    Proxy,
    /// Nobody could be trusted.
    #[error("this machine has no certificate authorities to trust the platform by")]
    NoCertificateAuthorities,
    /// The HTTP client could not be made.
    #[error("the HTTP client could not be made")]
    Client,
}

impl Settings {
    /// Whether a client can be made of this.
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
