//! Tells agents, through the platform, what happened to their account.

use std::time::Duration;

use deskpass_store::{Notice, Subject};
use tokio::time::{sleep, timeout};

use crate::Desk;

/// How often to look for what could not be delivered before.
const NOW_AND_THEN: Duration = Duration::from_secs(30);

/// Delivers notices until it is dropped. That one fails concerns nobody but whoever reads the log.
pub(super) async fn deliver(desk: Desk) {
    loop {
        match desk.auth.deliver_notices(write).await {
            Ok(0) => drop(timeout(NOW_AND_THEN, desk.auth.noticed.notified()).await),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "notices to agents cannot be read");
                sleep(NOW_AND_THEN).await;
            }
        }
    }
}

/// What a notice says. Agents read either language, and a message comes once.
fn write(notice: &Notice) -> String {
    let [english, chinese] = match notice.subject {
        Subject::DeviceBound => {
            ["a one-time-password device was bound to your account", "您的账号绑定了一次性密码设备"]
        }
        Subject::DeviceUnbound => {
            ["the one-time-password device of your account was unbound", "您的账号解绑了一次性密码设备"]
        }
        Subject::PasswordUsed => ["somebody used your password to sign in", "有人使用您的密码登录"],
        Subject::PasswordChanged => ["the password of your account was changed", "您的账号密码已修改"],
    };
    let (at, from) = (jiff::Timestamp::from_second(notice.at.millis() / 1_000).unwrap_or_default(), &notice.address);
    // Two of the same second are told apart by it, also by the platform, which leaves out what it was told before.
    let reference = notice.id.get(notice.id.len().saturating_sub(6)..).unwrap_or_default();
    format!(
        "IT help desk: {english} ({at}, {from}). If that was not you, tell your administrator at once.\n\
         IT 服务台：{chinese}（{at}，{from}）。如非本人操作，请立即联系管理员。\n(ref {reference})"
    )
}
