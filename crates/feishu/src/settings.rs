//! The settings of the client.

use std::fmt;

use deskpass_platform::client::ClientSettings;
use deskpass_platform::{SettingsError, Timeouts};
use url::Url;

use crate::{EventSettings, UserIdKind};

/// The settings of the client.
#[derive(Clone, PartialEq, Eq)]
pub struct FeishuSettings {
    /// The tenant, which is the corporation. Members of other tenants are not members.
    pub tenant_key: String,
    /// The application's App ID.
    pub app_id: String,
    /// The application's App Secret.
    pub secret: String,
    /// Which identifier of a member is used.
    pub user_id: UserIdKind,
    /// The addresses of the platform.
    pub hosts: Hosts,
    /// The proxy, for networks without direct access. Its URL may contain a user name and password.
    pub proxy: Option<Url>,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// What authenticates events; without it there are none.
    pub events: Option<EventSettings>,
}

impl fmt::Debug for FeishuSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeishuSettings")
            .field("tenant_key", &self.tenant_key)
            .field("app_id", &self.app_id)
            .field("user_id", &self.user_id)
            .field("hosts", &self.hosts)
            .field("proxy", &self.proxy.as_ref().and_then(Url::host_str))
            .field("timeouts", &self.timeouts)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

/// The addresses of the platform. The default is Feishu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The part of the server API's URL before `/open-apis/`: an origin, and a path if there is one.
    pub api: Url,
    /// The page that signs in.
    pub authorize: Url,
    /// The address that exchanges a code for a token of the user. Its version 3 and version 2 are supported.
    pub token: Url,
}

impl Hosts {
    /// The addresses of Lark, the same platform outside of China. Its documentation has no version 3 of the token address.
    #[must_use]
    pub fn lark() -> Self {
        Self {
            api: constant("https://open.larksuite.com"),
            authorize: constant("https://accounts.larksuite.com/open-apis/authen/v1/authorize"),
            token: constant("https://open.larksuite.com/open-apis/authen/v2/oauth/token"),
        }
    }

    /// The addresses that belong to an API address: Lark's if it is one of Lark, else Feishu's.
    #[must_use]
    pub fn for_api(api: Url) -> Self {
        let is_lark = api.host_str().is_some_and(|host| host == "larksuite.com" || host.ends_with(".larksuite.com"));
        let hosts = if is_lark { Self::lark() } else { Self::default() };
        Self { api, ..hosts }
    }
}

impl Default for Hosts {
    fn default() -> Self {
        Self {
            api: constant("https://open.feishu.cn"),
            authorize: constant("https://accounts.feishu.cn/open-apis/authen/v1/authorize"),
            token: constant("https://accounts.feishu.cn/oauth/v3/token"),
        }
    }
}

#[expect(clippy::expect_used, reason = "six constants, read by a test")]
fn constant(text: &str) -> Url {
    Url::parse(text).expect("a constant that parses")
}

impl FeishuSettings {
    /// The settings that all clients have, once all settings are valid.
    pub(crate) fn check(&self) -> Result<ClientSettings, SettingsError> {
        let (api, proxy, timeouts) = (self.hosts.api.clone(), self.proxy.clone(), self.timeouts);
        let client = ClientSettings { api, other_apis: vec![self.hosts.token.clone()], proxy, timeouts };
        client.check(
            &[
                ("tenant key", self.tenant_key.as_str()),
                ("app id", self.app_id.as_str()),
                ("secret", self.secret.as_str()),
            ],
            &[
                ("API address", &self.hosts.api),
                ("authorize page", &self.hosts.authorize),
                ("token address", &self.hosts.token),
            ],
        )?;
        Ok(client)
    }
}
