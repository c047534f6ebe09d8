//! The application of development mode at the simulated platform, and ids as each platform has them.

use deskpass_platform::PlatformKind;

/// The application of development mode at the simulated platform, which has no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the names of the settings")]
pub(crate) struct SimulatedApplication {
    /// The corporation.
    pub(crate) corp_id: &'static str,
    /// The application's id, where the platform has one.
    pub(crate) client_id: Option<&'static str>,
    /// The application's number, where the platform has one.
    pub(crate) agent_id: Option<&'static str>,
}

impl SimulatedApplication {
    /// The application at a platform of this kind.
    pub(crate) const fn of(kind: PlatformKind) -> Self {
        match kind {
            PlatformKind::Wecom => Self { corp_id: "wwdeskpass", client_id: None, agent_id: Some("1000002") },
            PlatformKind::Dingtalk => {
                Self { corp_id: "dingdeskpass", client_id: Some("dingclientdeskpass"), agent_id: Some("1000002") }
            }
            PlatformKind::Feishu => Self { corp_id: "tenantdeskpass", client_id: Some("cli_deskpass"), agent_id: None },
        }
    }

    /// What it has for this key; `None` if the platform has no such thing.
    pub(super) fn setting(self, key: &str) -> Option<&'static str> {
        match key {
            "platform.corp_id" => Some(self.corp_id),
            "platform.client_id" => self.client_id,
            "platform.agent_id" => self.agent_id,
            _ => None,
        }
    }
}

/// An id as the console of this platform shows it, where it looks different from the one in the example file.
pub(super) fn example_id(kind: PlatformKind, key: &str) -> Option<&'static str> {
    match (kind, key) {
        (PlatformKind::Dingtalk, "platform.corp_id") => Some("ding0123456789abcdef"),
        (PlatformKind::Dingtalk, "platform.client_id") => Some("dingabcdef0123456789"),
        (PlatformKind::Feishu, "platform.corp_id") => Some("0123456789abcdef"),
        _ => None,
    }
}
