//! The settings of the client.

use std::fmt;

use deskpass_platform::client::ClientSettings;
use deskpass_platform::{SettingsError, Timeouts};
use url::Url;

use crate::inbound::EventSettings;

/// The settings of the client.
#[derive(Clone, PartialEq, Eq)]
pub struct WecomSettings {
    /// The corporation.
    pub corp_id: String,
    /// The secret of the corporation's application.
    pub secret: String,
    /// The application's agent id; desktop sign-in, messages and the application's record require it.
    pub agent_id: Option<String>,
    /// The addresses of the platform.
    pub hosts: Hosts,
    /// The proxy, for networks without direct access. Its URL may contain a user name and password.
    pub proxy: Option<Url>,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// What authenticates the events that the platform sends; without it none is accepted, and no question can be asked.
    pub events: Option<EventSettings>,
}

impl fmt::Debug for WecomSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WecomSettings")
            .field("corp_id", &self.corp_id)
            .field("agent_id", &self.agent_id)
            .field("hosts", &self.hosts)
            .field("proxy", &self.proxy.as_ref().and_then(Url::host_str))
            .field("timeouts", &self.timeouts)
            .field("events", &self.events.is_some())
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

impl WecomSettings {
    pub(crate) fn client_settings(&self) -> ClientSettings {
        let (api, proxy) = (self.hosts.api.clone(), self.proxy.clone());
        ClientSettings { api, other_apis: Vec::new(), proxy, timeouts: self.timeouts }
    }

    pub(crate) fn check(&self, client: &ClientSettings) -> Result<(), SettingsError> {
        let mut texts = vec![("corp id", self.corp_id.as_str()), ("secret", self.secret.as_str())];
        texts.extend(self.agent_id.as_deref().map(|id| ("agent id", id)));
        if let Some(EventSettings { token, aes_key }) = &self.events {
            texts.extend([("event token", token.as_str()), ("event key", aes_key.as_str())]);
        }
        let Hosts { api, authorize, web_login } = &self.hosts;
        client.check(&texts, &[("API address", api), ("authorize page", authorize), ("web sign-in page", web_login)])
    }
}
