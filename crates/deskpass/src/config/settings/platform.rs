//! The platform that identifies users.

use std::path::PathBuf;

use deskpass_derive::Section;

use crate::config::value::{AgentId, Identifier, SecretText, WebUrl};

/// The platform that identifies users.
#[derive(Clone, Debug, Section)]
pub struct Platform {
    /// The main corporation's id at the platform.
    #[setting(development = "wwdeskpass", required, restart, example = "ww0123456789abcdef")]
    pub corp_id: Identifier,
    /// The application's secret at the platform. Development mode refuses to start with one.
    #[setting(required)]
    pub secret: Option<SecretText>,
    /// The application's id (`AgentId`) at the platform. Without it the sign-in link has no agentid, and sign-in on a
    /// computer without a phone (mode=web) is disabled.
    #[setting(development = "1000002", restart, example = "1000002")]
    pub agent_id: Option<AgentId>,
    /// The address of the platform's API. Private deployments of the platform have their own.
    #[setting(development = "http://{listen}/sim", production = "https://qyapi.weixin.qq.com", restart)]
    pub api_url: WebUrl,
    /// The page that identifies users inside the platform's client.
    #[setting(
        development = "{public_url}/sim/connect/oauth2/authorize",
        production = "https://open.weixin.qq.com/connect/oauth2/authorize",
        restart
    )]
    pub authorize_url: WebUrl,
    /// The page where users sign in on a computer.
    #[setting(
        development = "{public_url}/sim/wwlogin/sso/login",
        production = "https://login.work.weixin.qq.com/wwlogin/sso/login",
        restart
    )]
    pub web_login_url: WebUrl,
    /// The proxy for calls to the platform, for sites whose own address changes: the platform accepts calls only from
    /// addresses that it knows. Proxy variables of the environment are not read.
    #[setting(example = "http://proxy.example.com:3128")]
    pub proxy: Option<WebUrl>,
    /// The file with which the platform verifies that the domain is yours. It is served at the root under its own name.
    #[setting(example = "/etc/deskpass/WW_verify_0123456789abcdef.txt")]
    pub verify_file: Option<PathBuf>,
}
