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

    /// The maximum size of the body of an event. Most events are small, but at Feishu a change of the application's range may name
    /// many members.
    #[must_use]
    pub const fn max_event_bytes(self) -> usize {
        match self {
            Self::Wecom | Self::Dingtalk => 64 * 1024,
            Self::Feishu => 256 * 1024,
        }
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

    /// Where the console has the address of events, the secrets that belong to it, and what to subscribe to, in English and in
    /// Chinese.
    #[must_use]
    pub const fn event_console(self) -> [&'static str; 2] {
        match self {
            Self::Wecom => [
                "应用管理 → the application → 接收消息 → 设置API接收: URL, Token (platform.events.token), EncodingAESKey \
                 (platform.events.aes_key); with the same values also in 管理工具 → 通讯录同步 → 接收事件服务器, which tells of \
                 renamed members and changed departments",
                "应用管理 → 该应用 → 接收消息 → 设置API接收：URL、Token（platform.events.token）、EncodingAESKey\
                 （platform.events.aes_key）；并以相同的值填写 管理工具 → 通讯录同步 → 接收事件服务器，以获知成员改名和部门变动",
            ],
            Self::Dingtalk => [
                "开发者后台 → the application → 事件订阅 → HTTP推送: 请求网址, 签名token (platform.events.token), 加密aes_key \
                 (platform.events.aes_key); subscribe to user_add_org, user_modify_org, user_leave_org, org_dept_create, \
                 org_dept_modify and org_dept_remove",
                "开发者后台 → 该应用 → 事件订阅 → HTTP推送：请求网址、签名token（platform.events.token）、加密aes_key\
                 （platform.events.aes_key）；订阅 user_add_org、user_modify_org、user_leave_org、org_dept_create、\
                 org_dept_modify 和 org_dept_remove",
            ],
            Self::Feishu => [
                "开发者后台 → the application → 事件与回调 → 加密策略: Encrypt Key (platform.events.encrypt_key), Verification Token \
                 (platform.events.token); then 事件配置: 请求地址; subscribe to contact.user.created_v3, contact.user.updated_v3, \
                 contact.user.deleted_v3, contact.department.*_v3 and contact.scope.updated_v3, and publish a version",
                "开发者后台 → 该应用 → 事件与回调 → 加密策略：Encrypt Key（platform.events.encrypt_key）、Verification Token\
                 （platform.events.token）；再到 事件配置：请求地址；订阅 contact.user.created_v3、contact.user.updated_v3、\
                 contact.user.deleted_v3、contact.department.*_v3 和 contact.scope.updated_v3，并发布版本",
            ],
        }
    }

    /// Whether the platform has an id for each person which nobody else ever gets, besides the identifier in the corporation, which may
    /// pass to another person.
    #[must_use]
    pub const fn has_holder_ids(self) -> bool {
        match self {
            Self::Wecom => false,
            Self::Dingtalk | Self::Feishu => true,
        }
    }

    /// Whether `Ann` and `ann` are two users. WeCom compares identifiers without regard to case, and may write the same one in
    /// different ways.
    #[must_use]
    pub const fn distinguishes_case(self) -> bool {
        !matches!(self, Self::Wecom)
    }
}
