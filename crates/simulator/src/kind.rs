//! Which platform is simulated.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A platform that can be simulated.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// WeCom.
    #[default]
    Wecom,
    /// DingTalk.
    Dingtalk,
    /// Feishu.
    Feishu,
}

impl Kind {
    /// All platforms.
    pub const ALL: [Self; 3] = [Self::Wecom, Self::Dingtalk, Self::Feishu];

    /// The name in settings and commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wecom => "wecom",
            Self::Dingtalk => "dingtalk",
            Self::Feishu => "feishu",
        }
    }

    /// The name for people, in English and in Chinese.
    #[must_use]
    pub fn title(self) -> [&'static str; 2] {
        match self {
            Self::Wecom => ["WeCom", "企业微信"],
            Self::Dingtalk => ["DingTalk", "钉钉"],
            Self::Feishu => ["Feishu", "飞书"],
        }
    }

    /// Whether applications register whole addresses, so that the service's QR codes lead to the service itself first.
    #[must_use]
    pub fn registers_addresses(self) -> bool {
        self != Self::Wecom
    }

    /// Whether the platform names some of its errors with words instead of numbers.
    pub(crate) fn has_error_words(self) -> bool {
        self == Self::Dingtalk
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = &'static str;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or("expected wecom, dingtalk or feishu")
    }
}
