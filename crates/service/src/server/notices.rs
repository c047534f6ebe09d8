//! Notifies agents of changes to their account, and administrators of sign-ins that employees disowned, of devices of people whom the
//! platform cannot reach, of callers who were not who they said, of many people who seem to have left at once, and of identifiers that
//! passed to another person.

use std::time::Duration;

use deskpass_core::{Reference, Timestamp};
use deskpass_store::{Notice, NoticeAbout, NoticeSubject};
use jiff::tz::TimeZone;
use tokio::time::{sleep, timeout};

use crate::app::current::CurrentApp;
use crate::http::device_names;
use crate::timestamp::local_time;

/// How often the task retries notices that could not be delivered.
const POLL_INTERVAL: Duration = Duration::from_secs(30);

/// Delivers notices until it is dropped. A failure is only logged.
pub(super) async fn deliver(mut app: CurrentApp) {
    loop {
        let zone = app.refresh().settings.notices.zone();
        match app.auth.deliver_notices(|notice| render(notice, &zone)).await {
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
fn render(notice: &Notice, zone: &TimeZone) -> String {
    let account = |texts| account_notice(zone, notice, texts);
    let [english, chinese] = match notice.subject {
        NoticeSubject::DeviceBound => {
            account(["an authenticator was set up for your account", "您的账号绑定了身份验证器"])
        }
        NoticeSubject::DeviceUnbound => {
            account(["the authenticator of your account was removed", "您的账号解绑了身份验证器"])
        }
        NoticeSubject::PasswordUsed => account(["your password was used to sign in", "有人使用您的密码登录"]),
        NoticeSubject::PasswordChanged => account(["the password of your account was changed", "您的账号密码已修改"]),
        NoticeSubject::SignInDisowned => disowned(zone, notice),
        NoticeSubject::NewNetwork => new_network(zone, notice),
        NoticeSubject::PartnerDeviceBound => partner_device(zone, notice),
        NoticeSubject::RoleEndsSoon => role_ends_soon(zone, notice),
        NoticeSubject::ApprovalRefused => approval_refused(zone, notice),
        NoticeSubject::CallerRefused => caller_refused(zone, notice),
        NoticeSubject::ManyLeavers => many_leavers(zone, notice),
        NoticeSubject::SetupCodeNeeded => setup_code_needed(notice),
        NoticeSubject::IdentifierPassedOn => identifier_passed_on(notice),
        NoticeSubject::RenameUnanswered => rename_unanswered(notice),
        NoticeSubject::HolderUnconfirmed => holder_unconfirmed(notice),
    };
    let text = format!("IT help desk: {english}\nIT 服务台：{chinese}");
    if !notice.subject.has_row() {
        // The end of the id would be a reference that nothing finds.
        return text;
    }
    // The reference distinguishes two notices of the same second, also for the platform, which drops duplicate messages.
    let start = notice.id.len().saturating_sub(Reference::DIGITS);
    let reference = notice.id.get(start..).unwrap_or_default();
    format!("{text}\n(ref {reference})")
}

/// A notice for agents about their own account.
fn account_notice(zone: &TimeZone, notice: &Notice, [english, chinese]: [&str; 2]) -> [String; 2] {
    let (at, from) = (local_time(zone, notice.at), &notice.address);
    [
        format!("{english} ({at}, {from}). If this was not you, contact your administrator immediately."),
        format!("{chinese}（{at}，{from}）。如非本人操作，请立即联系管理员。"),
    ]
}

/// The employee whose sign-in or device a notice is about, and when it happened.
fn sign_in(notice: &Notice) -> ([&str; 2], Timestamp) {
    match &notice.about {
        Some(NoticeAbout::SignIn { who, at }) => ([who.as_str(); 2], *at),
        _ => (["an employee", "有员工"], notice.at),
    }
}

/// A notice for administrators about a sign-in that an employee disowned.
fn disowned(zone: &TimeZone, notice: &Notice) -> [String; 2] {
    let ([english, chinese], at) = sign_in(notice);
    let (at, from) = (local_time(zone, at), &notice.address);
    [
        format!(
            "{english} reported that the sign-in at {at} from {from} was not theirs. Its session, if any, has ended. \
             Check their rows in the audit log and end their other sessions; if it was by password, reset the \
             password."
        ),
        format!(
            "{chinese} 表示 {at} 来自 {from} 的登录并非本人操作。如由此产生会话，该会话已结束。请在审计日志中查看该员工的记录，并结束该员工的其他会话；如为密码登录，请重置其密码。"
        ),
    ]
}

/// A notice for administrators about the device of an employee of a connected corporation.
fn partner_device(zone: &TimeZone, notice: &Notice) -> [String; 2] {
    let ([english, chinese], at) = sign_in(notice);
    let (at, from) = (local_time(zone, at), &notice.address);
    [
        format!(
            "{english} of a connected corporation set up an authenticator ({at}, {from}). They get no message about \
             it: ask them. If it was not them, disable them and reset the authenticator."
        ),
        format!(
            "互联企业的 {chinese} 绑定了身份验证器（{at}，{from}）。系统无法通知本人，请与其确认；如非本人操作，请停用该员工并重置其身份验证器。"
        ),
    ]
}

/// A notice for employees about a QR sign-in from a network that is new for them.
fn new_network(zone: &TimeZone, notice: &Notice) -> [String; 2] {
    let (at, from) = (local_time(zone, notice.at), &notice.address);
    let [english, chinese] = match device_names(&notice.user_agent) {
        [english, _] if english.is_empty() => ["unknown browser", "未知浏览器"].map(str::to_owned),
        names => names,
    };
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

/// A notice for people whose role ends soon.
fn role_ends_soon(zone: &TimeZone, notice: &Notice) -> [String; 2] {
    let (role, until) = match &notice.about {
        Some(NoticeAbout::Role { role, until }) => (role.name(), *until),
        _ => ("?", notice.at),
    };
    let at = local_time(zone, until);
    [
        format!("your role {role} ends at {at}. If you still need it, ask an administrator."),
        format!("您的角色 {role} 将于 {at} 到期。如仍需要，请联系管理员。"),
    ]
}

/// A notice about an approval that was refused on the phone: for its owner, and for administrators.
fn approval_refused(zone: &TimeZone, notice: &Notice) -> [String; 2] {
    let Some(NoticeAbout::Approval { who }) = &notice.about else {
        let texts = ["a change that was to be approved on your phone was refused", "您的一项手机批准请求已被拒绝"];
        return account_notice(zone, notice, texts);
    };
    let (at, from) = (local_time(zone, notice.at), &notice.address);
    [
        format!(
            "an approval was refused on the phone of {who} ({at}, asked from {from}). Ask them whether they began it. \
             If not, another person uses their session: end their sessions, and check what was changed."
        ),
        format!(
            "{who} 的一项手机批准请求被拒绝（{at}，请求来自 {from}）。请向其本人确认是否由其发起；如不是，说明有他人在使用其会话：请结束其会话，并检查有无变更。"
        ),
    ]
}

/// A notice about a caller who did not prove who they are: for administrators, and for the employee who was asked.
fn caller_refused(zone: &TimeZone, notice: &Notice) -> [String; 2] {
    let at = local_time(zone, notice.at);
    let Some(NoticeAbout::Caller { asked, asker, wrong_number }) = &notice.about else {
        return [
            format!(
                "a caller was to be verified with your phone, and the wrong number was picked ({at}). If you were not \
                 on the phone with the help desk, contact your administrator immediately."
            ),
            format!(
                "有人请求通过您的手机确认来电人身份，但所选数字不正确（{at}）。如您当时并未与服务台通话，请立即联系管理员。"
            ),
        ];
    };
    let [english, chinese] = if *wrong_number {
        ["the verification of a caller was answered with a wrong number", "来电人身份确认选错了数字"]
    } else {
        ["a caller was not who they claimed to be", "来电人身份未通过确认"]
    };
    [
        format!(
            "{english}: {asked} (asked by {asker}) ({at}). Access may be sought by telephone: warn your agents, and \
             check what was changed for this employee."
        ),
        format!(
            "{chinese}：{asked}，由 {asker} 发起（{at}）。可能有人试图通过电话骗取访问权限，请提醒坐席，并检查该员工的账号是否有变更。"
        ),
    ]
}

/// A notice for administrators about a person with credentials who has another identifier.
fn setup_code_needed(notice: &Notice) -> [String; 2] {
    let change = match &notice.about {
        Some(NoticeAbout::Renamed { from, to }) => format!("{from} -> {to}"),
        _ => "?".to_owned(),
    };
    [
        format!(
            "the platform gave an employee another identifier ({change}). Their password and authenticator were deleted, \
             and new ones need a setup code. Ask the employee in person before you make one."
        ),
        format!(
            "平台更改了一名员工的账号（{change}）。其密码和身份验证器已删除，重新设置须使用设置码。请先当面向本人确认，再生成设置码。"
        ),
    ]
}

/// A notice for administrators about an identifier whose former holder is not known any more.
fn identifier_passed_on(notice: &Notice) -> [String; 2] {
    let (id, change) = match &notice.about {
        Some(NoticeAbout::PassedOn { id, from: Some(from) }) => (id.as_str(), format!("{from} -> {id}")),
        Some(NoticeAbout::PassedOn { id, from: None }) => (id.as_str(), id.clone()),
        _ => ("?", "?".to_owned()),
    };
    [
        format!(
            "the platform gave the identifier {id} to another employee ({change}), and did not say in time which identifier \
             its former holder has now. To keep the two apart, their sessions ended, and the former holder's roles, password \
             and authenticator were deleted. Ask both who they are, and check their roles."
        ),
        format!(
            "平台将账号 {id} 给了另一名员工（{change}），但未及时告知原持有人的新账号。为避免混淆，相关会话已结束，原持有人的角色、密码和身份验证器已删除。请向双方确认身份，并检查其角色。"
        ),
    ]
}

/// A notice for administrators about a change of an identifier about which the platform cannot be asked.
fn rename_unanswered(notice: &Notice) -> [String; 2] {
    let (change, id) = match &notice.about {
        Some(NoticeAbout::Renamed { from, to }) => (format!("{from} -> {to}"), to.as_str()),
        _ => ("?".to_owned(), "?"),
    };
    [
        format!(
            "the platform gave an employee another identifier ({change}), and could not be asked about it since. Until it \
             answers, nothing is decided, and whoever had {id} before stays signed out. Check the connection to the platform: \
             `deskpass doctor`."
        ),
        format!(
            "平台更改了一名员工的账号（{change}），但一直无法向平台查询。平台恢复应答之前不作任何变更，{id} 的原持有人保持退出状态。请检查与平台的连接：`deskpass doctor`。"
        ),
    ]
}

/// A notice for administrators about an identifier that another person seems to have now.
fn holder_unconfirmed(notice: &Notice) -> [String; 2] {
    let Some(NoticeAbout::Holder { employee, former, now }) = &notice.about else {
        return ["?"; 2].map(str::to_owned);
    };
    let [former, now] = [former, now].map(|name| if name.is_empty() { "?" } else { name });
    [
        format!(
            "{employee} seems to be another person now ({former} -> {now}). Their roles do not count until an administrator \
             confirms them: in the list of people, or with `deskpass employee confirm {employee}`. Ask in person first; take \
             away what another person may not have."
        ),
        format!(
            "账号 {employee} 似已转给另一人（{former} -> {now}）。在管理员确认之前，其角色不生效：请在人员列表中确认，或运行 \
             `deskpass employee confirm {employee}`。确认前请当面核实；如确为另一人，请先收回其不应拥有的角色。"
        ),
    ]
}

/// A notice for administrators about many people who seem to have left at once.
fn many_leavers(zone: &TimeZone, notice: &Notice) -> [String; 2] {
    let at = local_time(zone, notice.at);
    let number = match &notice.about {
        Some(NoticeAbout::Leavers(number)) => number.to_string(),
        _ => "?".to_owned(),
    };
    [
        format!(
            "{number} people seem to have left at once ({at}), so nobody was locked out. Check who may use the application at \
             the platform. If it is right, run `deskpass sync --force`."
        ),
        format!(
            "{number} 名员工似乎同时离职（{at}），因此未锁定任何人。请在管理后台检查应用的可见范围；如确实如此，请运行 `deskpass sync --force`。"
        ),
    ]
}

#[cfg(test)]
mod tests {
    use deskpass_core::EmployeeKey;

    use super::*;

    fn rendered(subject: NoticeSubject, about: NoticeAbout) -> String {
        let notice = Notice {
            id: "0123456789abcdef".to_owned(),
            employee: EmployeeKey::from_parts("ww", "admin01"),
            subject,
            address: "192.0.2.1".to_owned(),
            user_agent: String::new(),
            at: Timestamp::from_millis(0),
            about: Some(about),
            tries: 0,
        };
        render(&notice, &TimeZone::UTC)
    }

    #[test]
    fn identifiers_with_blanks_are_shown_whole() {
        let asker = "agent 01".to_owned();
        let about = NoticeAbout::Caller { asked: "ada lovelace".to_owned(), asker, wrong_number: false };
        let text = rendered(NoticeSubject::CallerRefused, about);
        assert!(text.contains("they claimed to be: ada lovelace (asked by agent 01) ("), "{text}");
        assert!(text.contains("：ada lovelace，由 agent 01 发起（"), "{text}");
        let (from, to) = ("ada b".to_owned(), "ada lovelace".to_owned());
        let text = rendered(NoticeSubject::SetupCodeNeeded, NoticeAbout::Renamed { from, to });
        assert!(text.contains("(ada b -> ada lovelace)") && text.contains("（ada b -> ada lovelace）"), "{text}");
        let (from, id) = (Some("ada b".to_owned()), "ada lovelace".to_owned());
        let text = rendered(NoticeSubject::IdentifierPassedOn, NoticeAbout::PassedOn { id, from });
        assert!(text.contains("(ada b -> ada lovelace)") && text.contains("账号 ada lovelace 给了"), "{text}");
    }
}
