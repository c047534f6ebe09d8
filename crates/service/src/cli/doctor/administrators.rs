//! Checks whether the corporation has an administrator.

use std::time::Duration;

use deskpass_core::CorpId;
use deskpass_store::read_has_administrator;
use tokio::time::timeout;

use super::report::{Finding, bilingual};
use crate::app::storage::{location, mode};
use crate::config::Settings;

const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Says how to appoint the first administrator. Also works next to a running service.
pub(super) async fn check(settings: &Settings) -> Option<Finding> {
    if settings.store.url.is_none() && !settings.data.join("deskpass.db").exists() {
        return Some(none_yet());
    }
    let corp = CorpId::parse(&settings.platform.corp_id).ok()?.as_str().to_owned();
    // What makes the data unreadable is reported by the check that opens it.
    let found = timeout(READ_TIMEOUT, read_has_administrator(&location(settings), mode(settings), corp)).await;
    Some(if found.ok()?.ok()? { Finding::ok("there is one", "已有管理员") } else { none_yet() })
}

fn none_yet() -> Finding {
    Finding::Warning {
        why: bilingual("nobody administers the desk yet", "服务台还没有管理员"),
        fix: bilingual(
            "for a person who has signed in before: deskpass role grant EMPLOYEE admin\nfor another one: deskpass employee add \
             EMPLOYEE --role admin --role user",
            "本人已登录过：deskpass role grant EMPLOYEE admin\n尚未登录过：deskpass employee add EMPLOYEE --role admin --role user",
        ),
    }
}
