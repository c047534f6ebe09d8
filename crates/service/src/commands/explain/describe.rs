//! Descriptions of people, roles, agents and networks that several explanations share, in the operator's language.

use deskpass_auth::{Auth, DefaultRoleGrant, Error};
use deskpass_core::{AllowLists, EmployeeKey, Person, Role, Roles, Timestamp};
use deskpass_store::ListedAgent;
use jiff::tz::TimeZone;

use super::super::text::{describe_error, role_list};
use crate::config::Language;
use crate::timestamp::local_time;

/// A person with their name.
pub(super) fn person_label(person: &Person, language: Language) -> String {
    let Person { employee_id: id, name, key, .. } = person;
    let corp = key.corp();
    language.of([format!("{id} ({name}) of {corp}"), format!("{id}（{name}，{corp}）")])
}

/// An employee of whom only the key is known.
pub(super) fn employee_label(key: &EmployeeKey, language: Language) -> String {
    let (id, corp) = (key.id(), key.corp());
    language.of([format!("{id} of {corp}"), format!("{id}（{corp}）")])
}

/// The names of the roles.
pub(super) fn role_names(roles: Roles, language: Language) -> String {
    if roles.is_empty() { language.of(["no role", "没有角色"]).to_owned() } else { role_list(roles) }
}

/// The roles of a person who signs in through the platform, and the reason for them.
pub(super) async fn effective_roles(
    auth: &Auth,
    person: &Person,
    language: Language,
) -> Result<(Roles, String), String> {
    let (roles, default_role) = auth.platform_sign_in_roles(person).await.map_err(|error| failure(error, language))?;
    let message = match default_role {
        _ if person.unconfirmed => language.of([
            format!("{}; those of the record do not count until the person is confirmed", role_names(roles, language)),
            format!("{}；在确认身份之前，记录中的角色不生效", role_names(roles, language)),
        ]),
        None => role_names(roles, language),
        Some(DefaultRoleGrant { role, by_record: true }) => language.of([
            format!("none assigned; {role} by default (agent record)"),
            format!("未分配；默认为 {role}（来自坐席记录）"),
        ]),
        Some(DefaultRoleGrant { role, by_record: false }) => language.of([
            format!("none assigned; {role} by default for sign-ins through the platform (default_role)"),
            format!("未分配；通过{{platform}}登录时默认为 {role}（default_role）"),
        ]),
    };
    Ok((roles, message))
}

/// The networks from which a role may be active.
pub(super) fn allowed_networks(lists: &AllowLists, role: Role, language: Language) -> String {
    let networks: Vec<_> = lists.list(role).iter().map(ToString::to_string).collect();
    if networks.is_empty() {
        return language.of(["from anywhere", "不限地址"]).to_owned();
    }
    let networks = networks.join(", ");
    language.of([format!("only from {networks}"), format!("仅限 {networks}")])
}

/// The record of an agent: role, state, password and device. Of an employee who is no agent: the device and its state.
pub(super) fn agent_record(listed: &ListedAgent, now: Timestamp, zone: &TimeZone, language: Language) -> String {
    let shown = |moment: Timestamp| local_time(zone, moment);
    let agent = &listed.agent;
    let role = agent.role;
    let states = [
        // For nodes of the previous version, the row of a device alone is a disabled record.
        (agent.disabled && !agent.device_only).then(|| language.of(["disabled", "已停用"]).to_owned()),
        listed.employee_disabled.then(|| language.of(["employee disabled", "员工已停用"]).to_owned()),
        listed.locked.then(|| language.of(["locked", "已锁定"]).to_owned()),
        listed.shut_until.map(|until| {
            let until = shown(until);
            language.of([format!("paused until {until}"), format!("暂停至 {until}")])
        }),
    ];
    let states: Vec<_> = states.into_iter().flatten().collect();
    let state = if states.is_empty() { language.of(["enabled", "已启用"]).to_owned() } else { states.join(", ") };
    let password = match agent.setup_code_until.filter(|until| now < *until).map(shown) {
        _ if agent.password.is_some() => language.of(["set", "已设置"]).to_owned(),
        Some(until) => language.of([format!("code until {until}"), format!("设置码有效期至 {until}")]),
        None => language.of(["not set", "未设置"]).to_owned(),
    };
    let device = agent.device.as_ref().map_or_else(
        || language.of(["none", "无"]).to_owned(),
        |device| {
            let (since, unproven) = (shown(device.bound_at), !device.proven);
            let [english, chinese] = if unproven { [", unproven", "，未经{platform}确认"] } else { [""; 2] };
            language.of([format!("since {since}{english}"), format!("{since} 绑定{chinese}")])
        },
    );
    if agent.device_only {
        let [english, chinese] = if states.is_empty() { [""; 2] } else { ["; ", "；"] };
        let states = states.join(", ");
        return language.of([
            format!("no record; authenticator: {device}{english}{states}"),
            format!("无记录；身份验证器：{device}{chinese}{states}"),
        ]);
    }
    language.of([
        format!("{role}, {state}; password: {password}; authenticator: {device}"),
        format!("{role}，{state}；密码：{password}；身份验证器：{device}"),
    ])
}

/// The message for an error that has no specific one, with the place to look for the cause.
pub(super) fn failure(error: impl Into<Error>, language: Language) -> String {
    let error = error.into();
    match language {
        Language::En => describe_error(error),
        Language::Zh => format!("内部错误（{error}）；请查看服务日志，并运行 `deskpass doctor` 查找原因"),
    }
}

#[cfg(test)]
mod tests {
    use deskpass_store::Agent;

    use super::*;

    /// The device of an administrator who is no agent can be locked, too.
    #[test]
    fn the_state_of_a_device_without_an_agent_record_is_shown() {
        let at = Timestamp::from_millis(1_800_000_000_000);
        let agent = Agent {
            key: EmployeeKey::from_parts("wwdeskpass", "boss"),
            device_only: true,
            role: Role::User,
            disabled: true,
            created_at: at,
            password: None,
            code_needed: false,
            device: None,
            pending: None,
            recovery_codes: 0,
            setup_code_until: None,
            device_code_until: None,
        };
        let (employee_id, name) = ("boss".to_owned(), "Boss".to_owned());
        let free = ListedAgent { agent, employee_id, name, employee_disabled: false, locked: false, shut_until: None };
        let locked = ListedAgent { locked: true, ..free.clone() };
        let paused = ListedAgent { shut_until: Some(at), ..free.clone() };
        for (listed, english, chinese) in [
            (free, "no record; authenticator: none", "无记录；身份验证器：无"),
            (locked, "no record; authenticator: none; locked", "无记录；身份验证器：无；已锁定"),
            (
                paused,
                "no record; authenticator: none; paused until 2027-01-15 08:00:00 UTC+00:00",
                "无记录；身份验证器：无；暂停至 2027-01-15 08:00:00 UTC+00:00",
            ),
        ] {
            let shown =
                [Language::En, Language::Zh].map(|language| agent_record(&listed, at, &TimeZone::UTC, language));
            assert_eq!(shown, [english, chinese]);
        }
    }
}
