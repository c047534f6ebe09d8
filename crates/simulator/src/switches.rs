//! Optional strict checks.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::feishu::switches::FeishuSwitches;

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Switches {
    /// Whether a state must match the documentation: at most 128 letters and digits.
    pub(crate) strict_state: bool,
    /// The addresses that may call the API; any address if `None`.
    pub(crate) trusted_ips: Option<Vec<IpAddr>>,
    /// Whether the app has no address for callbacks: WeCom then refuses cards that call back.
    pub(crate) no_callback: bool,
    /// Whether WeCom deletes members who leave, so that their ids are unknown, instead of marking them.
    pub(crate) left_are_deleted: bool,
    /// How many calls of one API are answered in a second; the others are told that they are too many.
    pub(crate) calls_per_second: Option<u32>,
    /// The limit that calls to DingTalk have exceeded, if any.
    pub(crate) dingtalk_limit: Option<DingtalkLimit>,
    /// What only Feishu has.
    pub(crate) feishu: FeishuSwitches,
}

/// A limit of DingTalk.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DingtalkLimit {
    /// The organization has used up its calls of this month.
    Quota,
    /// The platform blocks the calling address, with a page instead of an answer.
    Blocked,
}

impl Switches {
    pub(crate) fn trust(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.trusted_ips.as_ref().is_none_or(|trusted| trusted.iter().any(|ip| ip.to_canonical() == peer))
    }

    pub(crate) fn accept_state(&self, state: &str) -> bool {
        !self.strict_state || (state.len() <= 128 && state.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    }
}
