//! Checks whether the people with roles belong to the corporation of the settings.

use std::time::Duration;

use deskpass_store::read_corporations_with_roles;
use tokio::time::timeout;

use super::report::{Finding, bilingual};
use crate::app::storage::{location, mode};
use crate::config::Settings;

const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Warns if people have roles in other corporations alone: they were added before `platform.corp_id` was right, and are not
/// recognised when they sign in. Also works next to a running service.
pub(super) async fn check(settings: &Settings) -> Option<Finding> {
    let (place, mode) = (location(settings), mode(settings));
    // What makes the data unreadable is reported by the check that opens it.
    let found = timeout(READ_TIMEOUT, read_corporations_with_roles(&place, mode)).await.ok()?.ok()?;
    let own = &*settings.platform.corp_id;
    if found.is_empty() || found.iter().any(|corp| corp.eq_ignore_ascii_case(own)) {
        return None;
    }
    let found = found.join(", ");
    Some(Finding::Warning {
        why: bilingual(
            format!("all roles belong to people of {found}, and none to people of platform.corp_id = {own:?}"),
            format!("所有角色都属于 {found} 的人员，而 platform.corp_id = {own:?} 中没有任何人拥有角色"),
        ),
        fix: bilingual(
            "if platform.corp_id was corrected, add these people again with `deskpass employee add`; otherwise put the former \
             value back",
            "如 platform.corp_id 是更正后的值，请用 `deskpass employee add` 重新添加这些人员；否则请改回原来的值",
        ),
    })
}
