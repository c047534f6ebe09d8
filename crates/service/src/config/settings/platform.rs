//! The platform that identifies users.

use std::path::PathBuf;

use deskpass_derive::Section;
use deskpass_platform::PlatformKind;

use crate::config::declaration::SIMULATED;
use crate::config::value::{AgentId, EventKey, Identifier, SecretText, WebUrl, choice};

/// The platform that identifies users.
#[derive(Clone, Debug, Section)]
pub struct Platform {
    /// The enterprise messenger that identifies users: WeCom (wecom), DingTalk (dingtalk), or Feishu and Lark (feishu). Data
    /// belongs to the platform of its first start, and does not open with another. Also set by --platform.
    #[setting(default = "wecom", restart)]
    pub kind: PlatformKind,
    /// The main corporation's id at the platform: the corpid of WeCom, the `CorpId` of DingTalk, the tenant key of Feishu.
    #[setting(development = SIMULATED, required, restart, example = "ww0123456789abcdef")]
    pub corp_id: Identifier,
    /// The application's id: the Client ID (`AppKey`) of DingTalk, the App ID of Feishu. Production requires it with these.
    /// WeCom has none.
    #[setting(development = SIMULATED, restart, example = "cli_0123456789abcdef")]
    pub client_id: Option<Identifier>,
    /// The application's secret at the platform: the Secret of WeCom, the Client Secret (`AppSecret`) of DingTalk, the App
    /// Secret of Feishu. Development mode refuses to start with one.
    #[setting(required)]
    pub secret: Option<SecretText>,
    /// The application's number (`AgentId`) at WeCom or DingTalk. Without it no messages are sent to users. With WeCom, the
    /// sign-in link then has no agentid, and sign-in on a computer without a phone (mode=web) is disabled. Feishu has none.
    #[setting(development = SIMULATED, restart, example = "1000002")]
    pub agent_id: Option<AgentId>,
    /// Feishu only: the identifier by which employees are known. `user_id` needs a permission, and stays the same when the
    /// application is replaced. `open_id` needs none, and is another one for every application. Choose before the first
    /// start: data with one does not open with the other.
    #[setting(default = "user_id", restart)]
    pub user_id: UserIdKind,
    /// The address of the platform's API, if it is not the public one: private deployments and Lark have their own.
    /// Without this and the following addresses, the service uses the public platform, in development mode its simulated one.
    #[setting(restart, example = "https://platform.example.com")]
    pub api_url: Option<WebUrl>,
    /// The page that identifies users inside the platform's client, with DingTalk and Feishu also in any other browser.
    #[setting(restart, example = "https://platform.example.com/authorize")]
    pub authorize_url: Option<WebUrl>,
    /// WeCom only: the page where users sign in on a computer.
    #[setting(restart, example = "https://platform.example.com/login")]
    pub web_login_url: Option<WebUrl>,
    /// DingTalk only: the address of the older API, which is still needed for employees and messages.
    #[setting(restart, example = "https://legacy.platform.example.com")]
    pub legacy_api_url: Option<WebUrl>,
    /// Feishu only: the address where codes are exchanged for tokens. Lark has its own.
    #[setting(restart, example = "https://platform.example.com/token")]
    pub token_url: Option<WebUrl>,
    /// DingTalk only: the script that identifies users inside the platform's client.
    #[setting(restart, example = "https://platform.example.com/script.js")]
    pub script_url: Option<WebUrl>,
    /// The proxy for calls to the platform, for sites whose own address changes: the platform accepts calls only from
    /// addresses that it knows. Proxy variables of the environment are not read.
    #[setting(example = "http://proxy.example.com:3128")]
    pub proxy: Option<WebUrl>,
    /// WeCom only: the file with which the platform verifies that the domain is yours. It is served at the root under its
    /// own name.
    #[setting(example = "/etc/deskpass/WW_verify_0123456789abcdef.txt")]
    pub verify_file: Option<PathBuf>,
    /// The token of events: the Token of WeCom, the token of DingTalk, both 1 to 32 letters and digits; with Feishu
    /// the Verification Token, which may be left out. With it and the key, the platform tells this service at once that a
    /// person left; `deskpass doctor` says which address to enter where.
    #[setting(name = "events.token")]
    pub events_token: Option<SecretText>,
    /// WeCom and DingTalk only: the key of events, called `EncodingAESKey` at WeCom and `aes_key` at DingTalk.
    #[setting(name = "events.aes_key")]
    pub events_aes_key: Option<EventKey>,
    /// Feishu only: the Encrypt Key of events. Without one, Feishu signs nothing, so no event is accepted.
    #[setting(name = "events.encrypt_key")]
    pub events_encrypt_key: Option<SecretText>,
}

choice! {
    /// The identifier by which employees are known, where the platform has several.
    pub enum UserIdKind {
        /// The identifier in the corporation, the same for every application.
        UserId = "user_id",
        /// The identifier for one application.
        OpenId = "open_id",
    }
}

impl UserIdKind {
    /// The name in settings and data.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserId => "user_id",
            Self::OpenId => "open_id",
        }
    }
}
