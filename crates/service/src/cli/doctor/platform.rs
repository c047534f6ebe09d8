//! Checks whether the platform is reachable, and accepts the credentials.

use deskpass_core::Timestamp;
use deskpass_platform::SettingsError;
use jiff::SignedDuration;
use jiff::fmt::rfc2822;

use super::platform_access::PlatformAccess;
use super::platform_error;
use super::report::{Finding, bilingual};
use crate::config::Settings;

/// A one-time password is valid for 30 seconds, and the service accepts one step before and after.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(60);

/// The platform's client, and the platform's time as it sent it.
pub(super) struct ReachablePlatform {
    pub(super) access: PlatformAccess,
    pub(super) date: Option<String>,
}

/// Checks whether the platform's address responds.
pub(super) async fn reach(
    settings: &Settings,
    access: Result<PlatformAccess, SettingsError>,
) -> Finding<ReachablePlatform> {
    let access = match access {
        Ok(access) => access,
        Err(error) => {
            return Finding::bad(
                bilingual(error.to_string(), format!("配置不可用：{error}")),
                bilingual("correct it in the platform's settings", "请修改 platform 相关配置"),
            );
        }
    };
    let address = &access.route.api;
    match access.client.date().await {
        Ok(date) => {
            let message = bilingual(format!("reachable at {address}"), format!("可以访问 {address}"));
            Finding::good(ReachablePlatform { access, date }, message)
        }
        Err(_) if settings.development.enabled => Finding::bad(
            bilingual(format!("no response from {address}"), format!("{address} 没有响应")),
            bilingual(
                "in development mode the service simulates the platform: start `deskpass serve --dev` first",
                "开发模式下由服务自身模拟{platform}：请先运行 `deskpass serve --dev`",
            ),
        ),
        Err(error) => platform_error::finding(&error, &access),
    }
}

/// Checks whether this machine's clock and the platform's agree.
pub(super) fn compare(date: Option<&str>, now: Timestamp) -> Finding {
    let message = date.and_then(|date| rfc2822::parse(date).ok()).map(|date| date.timestamp());
    let Some(platform) = message else {
        return Finding::Skipped(bilingual("the platform did not report its time", "{platform}没有返回时间"));
    };
    let ours = jiff::Timestamp::from_millisecond(now.millis()).unwrap_or_default();
    let ahead = SignedDuration::from_secs(ours.duration_since(platform).as_secs());
    let apart = ahead.abs();
    if apart <= MAX_CLOCK_SKEW {
        return Finding::ok(
            format!("differs from the platform's by {apart:#}"),
            format!("与{{platform}}相差 {apart:#}"),
        );
    }
    let (english, chinese) = if ahead.is_positive() { ("ahead of", "快") } else { ("behind", "慢") };
    Finding::bad(
        bilingual(
            format!("this machine is {apart:#} {english} the platform"),
            format!("本机时间比{{platform}}{chinese} {apart:#}"),
        ),
        bilingual(
            "synchronise it with NTP (timedatectl set-ntp true): one-time passwords and expiry depend on it",
            "请启用 NTP 校时（timedatectl set-ntp true）：一次性密码和有效期都以时钟为准",
        ),
    )
}

/// Checks whether the platform accepts the credentials.
pub(super) async fn credentials(access: &PlatformAccess) -> Finding {
    match access.client.check_credentials().await {
        Ok(()) => Finding::ok("accepted", "已通过"),
        Err(error) => platform_error::finding(&error, access),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report for a platform whose clock shows 08:49:37, when this machine's clock is ahead by this many seconds.
    fn apart(seconds: i64) -> String {
        let now = Timestamp::from_millis((784_111_777 + seconds) * 1_000);
        format!("{:?}", compare(Some("Sun, 06 Nov 1994 08:49:37 GMT"), now))
    }

    #[test]
    fn a_minute_is_the_farthest_apart() {
        for near in [-60, -1, 0, 1, 60] {
            assert!(apart(near).starts_with("Good"), "{near}: {}", apart(near));
        }
        assert!(apart(61).contains("1m 1s ahead of the platform") && apart(61).contains("比{platform}快 1m 1s"));
        assert!(
            apart(-7_261).contains("2h 1m 1s behind the platform") && apart(-7_261).contains("比{platform}慢 2h 1m 1s")
        );
    }

    #[test]
    fn a_platform_that_tells_no_time_is_no_fault_of_ours() {
        for date in [None, Some(""), Some("yesterday"), Some("Mon, 06 Nov 1994 08:49:37 GMT")] {
            assert!(format!("{:?}", compare(date, Timestamp::from_millis(0))).starts_with("Skipped"), "{date:?}");
        }
    }
}
