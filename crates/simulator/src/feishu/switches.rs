//! The switches that only Feishu has.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FeishuSwitches {
    /// Whether the app lacks the permission to read user ids.
    pub(crate) no_user_id: bool,
    /// Whether the app has no bot.
    pub(crate) no_bot: bool,
    /// Whether users outside the app's contact scope may not even use it.
    pub(crate) limited_availability: bool,
    /// The seconds after which a limit on calls ends; until this is unset, every call meets the limit.
    pub(crate) rate_limit: Option<u64>,
}
