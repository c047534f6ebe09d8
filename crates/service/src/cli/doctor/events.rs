//! Checks whether the platform tells this service of people who come and go. No event is sent.

use std::time::Duration;

use deskpass_platform::PlatformKind;
use deskpass_store::read_latest_event;
use tokio::time::timeout;

use super::report::{Bilingual, Finding, bilingual};
use crate::app::storage::{location, mode};
use crate::config::Settings;
use crate::timestamp::local_time;

/// The path to which the platform sends events.
const EVENTS_PATH: &str = "/api/platform/events";

const READ_TIMEOUT: Duration = Duration::from_secs(10);

const SECONDS_PER_MINUTE: u64 = 60;

/// Reports the address to enter at the platform, and whether events arrive there.
pub(super) async fn check(settings: &Settings) -> Finding {
    let address = format!("{}{EVENTS_PATH}", settings.public_url);
    let [english, chinese] = settings.platform.kind.event_console();
    let enter = bilingual(
        format!("enter {address} at the platform: {english}"),
        format!("请在{{platform}}中填写 {address}：{chinese}"),
    );
    if !is_configured(settings) {
        return off(settings, enter);
    }
    // What makes the data unreadable is reported by the check that opens it.
    match timeout(READ_TIMEOUT, read_latest_event(&location(settings), mode(settings))).await {
        Ok(Ok(Some(at))) => {
            let at = local_time(&settings.notices.zone(), at);
            Finding::ok(
                format!("the last one arrived at {at}; the address at the platform is {address}"),
                format!("最近一次于 {at} 到达；{{platform}}中的地址为 {address}"),
            )
        }
        Ok(Ok(None)) => Finding::Warning {
            why: bilingual("none arrived within the last three days", "最近三天没有收到任何事件"),
            fix: enter,
        },
        _ => Finding::ok(
            format!("not known whether any arrived; the address to enter at the platform is {address}"),
            format!("尚不清楚是否收到过事件；需在{{platform}}中填写的地址为 {address}"),
        ),
    }
}

/// Whether the secrets are set that events of this platform are authenticated with.
fn is_configured(settings: &Settings) -> bool {
    let platform = &settings.platform;
    match platform.kind {
        PlatformKind::Wecom | PlatformKind::Dingtalk => {
            platform.events_token.is_some() && platform.events_aes_key.is_some()
        }
        PlatformKind::Feishu => platform.events_encrypt_key.is_some(),
    }
}

/// Without events, only the re-check finds people who left.
fn off(settings: &Settings, enter: Bilingual) -> Finding {
    let Some(period) = settings.recheck.period else {
        return Finding::Warning {
            why: bilingual(
                "off, and recheck.period is 0: a person who left keeps their sessions until these end",
                "未启用，且 recheck.period 为 0：离职人员的会话会一直有效到到期",
            ),
            fix: enter,
        };
    };
    let minutes = period.as_secs() / SECONDS_PER_MINUTE;
    let [english, chinese] = [enter.english(), enter.chinese()];
    Finding::ok(
        format!(
            "off: a person who left is found by the re-check, within {minutes} minutes; to be told at once, {english}"
        ),
        format!("未启用：离职人员由定期复查发现，最迟 {minutes} 分钟；如需立即获知，{chinese}"),
    )
}
