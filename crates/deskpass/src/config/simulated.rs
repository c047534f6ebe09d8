//! The application of development mode at the simulated platform.

use deskpass_platform::PlatformKind;

/// The application of development mode at the simulated platform, which has no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
