//! Notifies agents of changes to their account, and administrators of sign-ins that employees disowned, through the platform.

use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_store::{Notice, NoticeSubject};
use tokio::time::{sleep, timeout};

use crate::App;
use crate::http::device_name;

/// How often the task retries notices that could not be delivered.
const POLL_INTERVAL: Duration = Duration::from_secs(30);

/// Delivers notices until it is dropped. A failure is only logged.
pub(super) async fn deliver(app: App) {
    loop {
        match app.auth.deliver_notices(render).await {
            Ok(0) => drop(timeout(POLL_INTERVAL, app.auth.notices_due.notified()).await),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot read notices");
                sleep(POLL_INTERVAL).await;
            }
        }
    }
}

/// Renders a notice in both languages, since its reader's language is not known and a message is sent once.
fn render(notice: &Notice) -> String {
    let account = |texts| account_notice(notice, texts);
    let [english, chinese] = match notice.subject {
        NoticeSubject::DeviceBound => {
            account(["a one-time-password device was bound to your account", "您的账号绑定了一次性密码设备"])
        }
        NoticeSubject::DeviceUnbound => {
            account(["the one-time-password device of your account was unbound", "您的账号解绑了一次性密码设备"])
        }
        NoticeSubject::PasswordUsed => account(["your password was used to sign in", "有人使用您的密码登录"]),
        NoticeSubject::PasswordChanged => account(["the password of your account was changed", "您的账号密码已修改"]),
        NoticeSubject::SignInDisowned => disowned(notice),
        NoticeSubject::NewNetwork => new_network(notice),
    };
    // The reference distinguishes two notices of the same second, also for the platform, which drops duplicate messages.
    let reference = notice.id.get(notice.id.len().saturating_sub(6)..).unwrap_or_default();
    format!("IT help desk: {english}\nIT 服务台：{chinese}\n(ref {reference})")
}

/// A notice for agents about their own account.
fn account_notice(notice: &Notice, [english, chinese]: [&str; 2]) -> [String; 2] {
    let (at, from) = (to_second(notice.at), &notice.address);
    [
        format!("{english} ({at}, {from}). If this was not you, contact your administrator immediately."),
        format!("{chinese}（{at}，{from}）。如非本人操作，请立即联系管理员。"),
    ]
}

/// A notice for administrators about a sign-in that an employee disowned.
fn disowned(notice: &Notice) -> [String; 2] {
    let [english, chinese] = notice.about.as_ref().map_or(["an employee", "有员工"], |about| [&*about.who; 2]);
    let at = to_second(notice.about.as_ref().map_or(notice.at, |about| about.at));
    let from = &notice.address;
    [
        format!(
            "{english} reported that the sign-in at {at} from {from} was not theirs. Its session, if any, has ended. \
             Check their rows in the audit log and end their other sessions; if it was by password, reset the \
             password."
        ),
        format!(
            "{chinese} 表示 {at} 来自 {from} 的登录并非本人操作。如由此产生会话，该会话已结束。请在审计日志中查看该员工的记录，并结束其其他会话；如系密码登录，请重置其密码。"
        ),
    ]
}

/// A notice for employees about a QR sign-in from a network that is new for them.
fn new_network(notice: &Notice) -> [String; 2] {
    let (at, from, device) = (to_second(notice.at), &notice.address, device_name(&notice.user_agent));
    let [english, chinese] = if device.is_empty() { ["unknown browser", "未知浏览器"] } else { [&*device; 2] };
    [
        format!(
            "you signed in with a QR code from a new network ({at}, {english}, {from}). If this was not you, open \
             Recent sign-ins at the help desk, choose \"That was not me\", and contact your administrator \
             immediately."
        ),
        format!(
            "您的账号从新的网络扫码登录（{at}，{chinese}，{from}）。\
             如非本人操作，请在服务台“最近的登录”中选择“不是我本人”，并立即联系管理员。"
        ),
    ]
}

fn to_second(moment: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_second(moment.millis() / 1_000).unwrap_or_default()
}
