//! The settings of the client.

use std::fmt;

use deskpass_core::CorpId;
use deskpass_platform::client::ClientSettings;
use deskpass_platform::{SettingsError, Timeouts};
use url::Url;

use crate::inbound::EventSettings;

/// The settings of the client.
#[derive(Clone, PartialEq, Eq)]
pub struct DingtalkSettings {
    /// The corporation (`corpId`).
    pub corp_id: String,
    /// The application's Client ID, formerly `AppKey`.
    pub client_id: String,
    /// The application's Client Secret, formerly `AppSecret`.
    pub secret: String,
    /// The application's agent id; messages to members require it.
    pub agent_id: Option<String>,
    /// The addresses of the platform.
    pub hosts: Hosts,
    /// The proxy, for networks without direct access. Its URL may contain a user name and password.
    pub proxy: Option<Url>,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// What authenticates the events that the platform sends; without it no event is accepted.
    pub events: Option<EventSettings>,
}

impl fmt::Debug for DingtalkSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DingtalkSettings")
            .field("corp_id", &self.corp_id)
            .field("client_id", &self.client_id)
            .field("agent_id", &self.agent_id)
            .field("hosts", &self.hosts)
            .field("proxy", &self.proxy.as_ref().and_then(Url::host_str))
            .field("timeouts", &self.timeouts)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

/// The addresses of the platform. The default is the public platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The part of the newer API's URL before `/v1.0/`.
    pub api: Url,
    /// The part of the older API's URL before `/topapi/`.
    pub legacy_api: Url,
    /// The login page.
    pub authorize: Url,
    /// The script for pages inside the platform's own client.
    pub script: Url,
}

impl Default for Hosts {
    #[expect(clippy::expect_used, reason = "four constants, read by a test")]
    fn default() -> Self {
        let url = |text| Url::parse(text).expect("a constant that parses");
        Self {
            api: url("https://api.dingtalk.com"),
            legacy_api: url("https://oapi.dingtalk.com"),
            authorize: url("https://login.dingtalk.com/oauth2/auth"),
            script: url("https://g.alicdn.com/dingding/dingtalk-jsapi/3.0.25/dingtalk.open.js"),
        }
    }
}

impl DingtalkSettings {
    /// Checks the settings, and returns those of the shared client.
    pub(crate) fn client_settings(&self) -> Result<ClientSettings, SettingsError> {
        let Hosts { api, legacy_api, authorize, script } = &self.hosts;
        let client = ClientSettings {
            api: api.clone(),
            other_apis: vec![legacy_api.clone()],
            proxy: self.proxy.clone(),
            timeouts: self.timeouts,
        };
        let mut texts = vec![
            ("corp id", self.corp_id.as_str()),
            ("client id", self.client_id.as_str()),
            ("secret", self.secret.as_str()),
        ];
        texts.extend(self.agent_id.as_deref().map(|agent_id| ("agent id", agent_id)));
        let addresses = [
            ("API address", api),
            ("older API address", legacy_api),
            ("login page", authorize),
            ("script address", script),
        ];
        client.check(&texts, &addresses)?;
        // It is a part of the path of a call.
        CorpId::parse(&self.corp_id).map_err(|_| SettingsError::Unprintable("corp id"))?;
        Ok(client)
    }
}
