//! The platforms that the service knows.

use serde::{Deserialize, Serialize};

/// An enterprise messenger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlatformKind {
    /// WeCom (企业微信).
    #[default]
    Wecom,
    /// DingTalk (钉钉).
    Dingtalk,
    /// Feishu (飞书), and Lark abroad.
    Feishu,
}

impl PlatformKind {
    /// All platforms.
    pub const ALL: [Self; 3] = [Self::Wecom, Self::Dingtalk, Self::Feishu];

    /// The name in settings, commands and data.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wecom => "wecom",
            Self::Dingtalk => "dingtalk",
            Self::Feishu => "feishu",
        }
    }

    /// The platform with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name for people, in English and in Chinese.
    #[must_use]
    pub const fn title(self) -> [&'static str; 2] {
        match self {
            Self::Wecom => ["WeCom", "企业微信"],
            Self::Dingtalk => ["DingTalk", "钉钉"],
            Self::Feishu => ["Feishu", "飞书"],
        }
    }

    /// What the console calls an application's credentials, in English and in Chinese.
    #[must_use]
    pub const fn credentials(self) -> [&'static str; 2] {
        match self {
            Self::Wecom => ["corp id and secret", "企业 ID 与 Secret"],
            Self::Dingtalk => ["Client ID and secret", "Client ID 与 Client Secret"],
            Self::Feishu => ["App ID and secret", "App ID 与 App Secret"],
        }
    }

    /// Whether `Ann` and `ann` are two users. WeCom compares identifiers without regard to case, and may write the same one in
    /// different ways.
    #[must_use]
    pub const fn distinguishes_case(self) -> bool {
        !matches!(self, Self::Wecom)
    }
}
