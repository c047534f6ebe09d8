//! The sentences about people.

use deskpass_auth::Error;
use deskpass_core::{Digest, Person, Role, Roles};

use super::given::{Given, plain};
use super::text::{Text, both, role_titles};

/// Says what is added and what is taken away, and what is held now.
pub(super) async fn set_roles(given: &Given<'_>) -> Result<Text, Error> {
    let [who, who_zh] = given.person_in_body().await?;
    let (wanted, held) = (given.list("roles"), held_roles(given).await?);
    let added: Vec<_> = wanted.iter().copied().filter(|name| !holds(held.assigned, name)).collect();
    let removed = held.assigned.iter().map(Role::name).filter(|name| !wanted.contains(name));
    let removed: Vec<_> = removed.collect();
    let (word_added, word_removed) = (role_word(added.len()), role_word(removed.len()));
    let [now, now_zh] = role_titles(held.effective.iter().map(Role::name));
    let has = (!added.is_empty(), !removed.is_empty());
    let ([add, add_zh], [remove, remove_zh]) = (role_titles(added), role_titles(removed));
    let [text, chinese] = match has {
        (true, false) => [format!("Give {who} the {word_added} {add}"), format!("为 {who_zh} 添加角色：{add_zh}")],
        (false, true) => {
            [format!("Take the {word_removed} {remove} from {who}"), format!("移除 {who_zh} 的角色：{remove_zh}")]
        }
        (true, true) => [
            format!("Give {who} the {word_added} {add}, and take away {remove}"),
            format!("为 {who_zh} 添加角色：{add_zh}，并移除：{remove_zh}"),
        ],
        (false, false) => [format!("Leave the roles of {who} as they are"), format!("{who_zh} 的角色保持不变")],
    };
    Ok([format!("{text}. Now: {now}"), format!("{chinese}。当前角色：{now_zh}")])
}

/// The roles of a person: those that are assigned, and those that count, which may be a default one.
struct HeldRoles {
    assigned: Roles,
    effective: Roles,
}

async fn held_roles(given: &Given<'_>) -> Result<HeldRoles, Error> {
    let Some(person) = given.record_in_body().await? else {
        return Ok(HeldRoles { assigned: Roles::NONE, effective: Roles::NONE });
    };
    let assigned = person.roles_at(given.app.auth.clock.now());
    let (admitted, _) = given.app.auth.platform_sign_in_roles(&person).await?;
    Ok(HeldRoles { assigned, effective: if assigned.is_empty() { admitted } else { assigned } })
}

const fn role_word(count: usize) -> &'static str {
    if count == 1 { "role" } else { "roles" }
}

fn holds(roles: Roles, name: &str) -> bool {
    Role::from_name(name).is_some_and(|role| roles.holds(role))
}

pub(super) async fn grant_temporarily(given: &Given<'_>) -> Result<Text, Error> {
    let [who, who_zh] = given.person_in_body().await?;
    let [role, role_zh] = role_titles(given.field("role"));
    let [time, time_zh] = duration(given.field("minutes").unwrap_or_default());
    let reason = plain(given.field("reason").unwrap_or_default());
    Ok([
        format!("Give {who} the role {role} for {time}. Reason: {reason}"),
        format!("授予 {who_zh} 临时角色：{role_zh}，期限 {time_zh}。原因：{reason}"),
    ])
}

/// A number of minutes, in the largest unit that fits.
fn duration(minutes: &str) -> Text {
    let Ok(minutes) = minutes.parse::<u64>() else { return both(minutes) };
    let (count, unit, unit_zh) = match minutes {
        _ if minutes % 1_440 == 0 => (minutes / 1_440, "day", "天"),
        _ if minutes % 60 == 0 => (minutes / 60, "hour", "小时"),
        _ => (minutes, "minute", "分钟"),
    };
    let plural = if count == 1 { "" } else { "s" };
    [format!("{count} {unit}{plural}"), format!("{count} {unit_zh}")]
}

pub(super) async fn disable_or_enable(given: &Given<'_>) -> Result<Text, Error> {
    let [who, who_zh] = given.person_in_path().await?;
    if given.field("disabled") == Some("true") {
        return Ok([format!("Disable {who}, and end their sessions"), format!("停用 {who_zh}，并结束其会话")]);
    }
    Ok([format!("Enable {who} again"), format!("重新启用 {who_zh}")])
}

/// Says which roles the person gets with the identifier.
pub(super) async fn confirm_holder(given: &Given<'_>) -> Result<Text, Error> {
    let ([who, who_zh], id) = (given.person_in_path().await?, plain(given.param("employee_id")));
    let record = given.record_in_path().await?;
    // Those that will count.
    let confirmed = record.map(|person| Person { unconfirmed: false, ..person });
    let roles = confirmed.map_or(Roles::NONE, |person| person.roles_at(given.app.auth.clock.now()));
    let (word, [roles, roles_zh]) = (role_word(roles.iter().count()), role_titles(roles.iter().map(Role::name)));
    Ok([
        format!("Confirm that {who} has the employee ID {id} now, with the {word} {roles}"),
        format!("确认员工账号 {id} 现由 {who_zh} 使用，角色：{roles_zh}"),
    ])
}

pub(super) async fn end_session(given: &Given<'_>) -> Result<Text, Error> {
    let found = match Digest::from_text(given.param("id")) {
        Some(id) => given.app.auth.store.find_session(id).await?,
        None => None,
    };
    let Some(found) = found else {
        return Ok(["End a session that is over already".to_owned(), "结束一个已失效的会话".to_owned()]);
    };
    let [who, who_zh] = given.named_by_key(&found.session.employee).await?;
    Ok([format!("End a session of {who}"), format!("结束 {who_zh} 的一个会话")])
}

pub(super) async fn end_sessions(given: &Given<'_>) -> Result<Text, Error> {
    let [who, who_zh] = given.person_in_path().await?;
    Ok([format!("End all sessions of {who}"), format!("结束 {who_zh} 的所有会话")])
}

pub(super) async fn add_agent(given: &Given<'_>) -> Result<Text, Error> {
    let [who, who_zh] = given.person_in_body().await?;
    let [role, role_zh] = role_titles([given.field("role").unwrap_or(Role::Agent.name())]);
    Ok([format!("Make {who} an agent, with the role {role}"), format!("将 {who_zh} 添加为坐席，角色：{role_zh}")])
}

pub(super) async fn unlock(given: &Given<'_>) -> Result<Text, Error> {
    let [who, who_zh] = given.person_in_path().await?;
    Ok([format!("Unlock {who}"), format!("解锁 {who_zh}")])
}

pub(super) async fn reset_authenticator(given: &Given<'_>) -> Result<Text, Error> {
    let [who, who_zh] = given.person_in_path().await?;
    Ok([
        format!("Reset the authenticator of {who}, and create a setup code"),
        format!("重置 {who_zh} 的身份验证器，并生成设置码"),
    ])
}

pub(super) async fn reset_password(given: &Given<'_>) -> Result<Text, Error> {
    let [who, who_zh] = given.person_in_path().await?;
    Ok([format!("Reset the password of {who}, and create a setup code"), format!("重置 {who_zh} 的密码，并生成设置码")])
}

pub(super) async fn approve_link(given: &Given<'_>) -> Result<Text, Error> {
    let (corp, user) = (plain(given.field("corp_id").unwrap_or_default()), given.field("user_id").unwrap_or_default());
    let employee = given.field("employee_id").unwrap_or_default();
    let [who, who_zh] = given.named(given.field("target_corp_id"), employee).await?;
    let user = plain(user);
    Ok([
        format!("Let {user} of the connected corporation {corp} act as {who}"),
        format!("允许互联企业 {corp} 的 {user} 以 {who_zh} 的身份登录"),
    ])
}

pub(super) fn remove_link(given: &Given<'_>) -> Text {
    let (corp, user) = (plain(given.param("corp_id")), plain(given.param("user_id")));
    [
        format!("No longer let {user} of the connected corporation {corp} act as an employee"),
        format!("不再允许互联企业 {corp} 的 {user} 以员工身份登录"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_in_the_largest_unit() {
        for (minutes, english, chinese) in [
            ("5", "5 minutes", "5 分钟"),
            ("60", "1 hour", "1 小时"),
            ("2880", "2 days", "2 天"),
            ("90", "90 minutes", "90 分钟"),
        ] {
            assert_eq!(duration(minutes), [english, chinese]);
        }
    }
}
