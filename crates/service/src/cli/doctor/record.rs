//! Compares this machine's time with the newest time on record.

use deskpass_core::Timestamp;
use deskpass_store::read_latest_recorded_time;
use jiff::SignedDuration;

use super::report::{Finding, bilingual};
use crate::app::clock::development_start_time;
use crate::app::storage::{location, mode};
use crate::config::Settings;

/// Beyond this difference, the service asks an independent clock before it trusts the machine's.
const MAX_RECORD_GAP: SignedDuration = SignedDuration::from_hours(24);

/// Compares this machine's time with the newest record. `platform`: whether the platform's clock agrees, if known.
pub(super) async fn check(settings: &Settings, now: Timestamp, platform: Option<bool>) -> Finding {
    if settings.store.url.is_none() && !settings.data.join("deskpass.db").exists() {
        return none_yet();
    }
    match read_latest_recorded_time(&location(settings), mode(settings)).await {
        Ok(Some(record)) if settings.development.enabled => {
            compare(record, now, (development_start_time(now, record) == now).then_some(true))
        }
        Ok(Some(record)) => compare(record, now, platform),
        Ok(None) => none_yet(),
        // The check of the data reports the reason.
        Err(_) => Finding::Skipped(bilingual("it cannot be read", "无法读取")),
    }
}

fn none_yet() -> Finding {
    Finding::ok("none yet", "尚无记录")
}

fn compare(record: Timestamp, now: Timestamp, platform: Option<bool>) -> Finding {
    let ahead = SignedDuration::from_millis(now.millis().saturating_sub(record.millis()));
    let apart = SignedDuration::from_secs(ahead.as_secs().abs());
    if apart <= MAX_RECORD_GAP || (platform == Some(true) && ahead.is_positive()) {
        return Finding::ok(
            format!("the newest differs from this machine's time by {apart:#}"),
            format!("最新记录与本机时间相差 {apart:#}"),
        );
    }
    if platform == Some(false) {
        return Finding::bad(
            bilingual(
                format!(
                    "this machine's time differs from the newest record by {apart:#}, and from the platform's time"
                ),
                format!("本机时间与最新记录相差 {apart:#}，且与{{platform}}的时间不符"),
            ),
            bilingual(
                "set this machine's clock (timedatectl set-ntp true); until then no expired data is removed",
                "请校准本机时钟（timedatectl set-ntp true），在此期间不会清理任何过期数据",
            ),
        );
    }
    if ahead.is_positive() {
        return Finding::bad(
            bilingual(
                format!("this machine is {apart:#} ahead of the newest record, and no independent clock confirms it"),
                format!("本机时间比最新记录快 {apart:#}，且没有独立时钟确认"),
            ),
            bilingual(
                "check the machine's clock (timedatectl); until then no expired data is removed. If it is right, make \
                 the platform reachable, or run `deskpass clock repair`",
                "请检查本机时钟（timedatectl），在此期间不会清理任何过期数据。如时间正确，请恢复与{platform}的连接，或运行 `deskpass clock repair`",
            ),
        );
    }
    Finding::bad(
        bilingual(
            format!("this machine is {apart:#} behind the newest record"),
            format!("本机时间比最新记录慢 {apart:#}"),
        ),
        bilingual(
            "check the machine's clock (timedatectl); if it is right, stop the service and run `deskpass clock repair`",
            "请检查本机时钟（timedatectl）；如时间正确，请停止服务并运行 `deskpass clock repair`",
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RECORD: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn a_day_is_the_farthest_apart_without_confirmation() {
        let message = |now, platform| format!("{:?}", compare(RECORD, now, platform));
        for near in [RECORD - DAY, RECORD, RECORD + DAY] {
            assert!(message(near, None).starts_with("Good"), "{}", message(near, None));
        }
        let ahead = message(RECORD + DAY * 800, None);
        assert!(ahead.starts_with("Bad") && ahead.contains("ahead of the newest record"), "{ahead}");
        assert!(message(RECORD + DAY * 7, Some(true)).starts_with("Good"), "it was switched off for a week");
        let contradicted = message(RECORD + DAY * 800, Some(false));
        assert!(contradicted.starts_with("Bad") && contradicted.contains("set this machine's clock"), "{contradicted}");
        for platform in [None, Some(true)] {
            let behind = message(RECORD - DAY * 800, platform);
            assert!(behind.starts_with("Bad") && behind.contains("deskpass clock repair"), "{behind}");
        }
    }
}
