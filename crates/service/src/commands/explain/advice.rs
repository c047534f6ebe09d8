//! What an operator should do about a refusal, given what is so by now: advice that was followed is not repeated.

use deskpass_auth::{ReasonExplanation, explain_reason};
use deskpass_core::{Role, Roles};

use crate::config::Language;

/// What is so by now about an employee who was refused.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and any combination occurs")]
pub(super) struct Situation {
    /// Whether there is such an employee.
    pub(super) exists: bool,
    /// Whether the employee is disabled here.
    pub(super) disabled: bool,
    /// Whether they are locked out because of what the platform says.
    pub(super) left: bool,
    /// Whether the person who has the identifier now is to be confirmed.
    pub(super) unconfirmed: bool,
    /// The roles with which they can sign in through the platform.
    pub(super) roles: Roles,
    /// The role that was refused, if it is known.
    pub(super) role: Option<Role>,
    /// The agent record, if there is one.
    pub(super) agent: Option<AgentSituation>,
    /// Whether one of the roles may be active from the address of the attempt.
    pub(super) address_allowed: bool,
    /// Whether they have signed in since the attempt.
    pub(super) signed_in_since: bool,
}

/// What is so by now about an agent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AgentSituation {
    pub(super) disabled: bool,
    /// Whether attempts are paused or locked.
    pub(super) shut: bool,
    pub(super) has_password: bool,
}

/// Why a request was refused, and what to do about it now; `None` for a reason of a later version. `typed` is the employee as
/// typed on the command line.
pub(super) fn explain(reason: &str, now: &Situation, typed: &str, language: Language) -> Option<[String; 2]> {
    let ReasonExplanation { what, next } = explain_reason(reason)?;
    let texts = [what, settled(reason, now).or(other_fix(reason, now)).unwrap_or(next)];
    let (roles, role) = (names(now.roles), now.role.map_or("ROLE", Role::name));
    // The employee comes last: an identifier may look like one of the other words.
    Some(texts.map(|text| language.of(text).replace("ROLES", &roles).replace("ROLE", role).replace("EMPLOYEE", typed)))
}

fn names(roles: Roles) -> String {
    roles.iter().map(Role::name).collect::<Vec<_>>().join(", ")
}

/// The advice where the cause is gone.
fn settled(reason: &str, now: &Situation) -> Option<[&'static str; 2]> {
    let gone = cause_gone(reason, now);
    let left_again = reason == "left_platform" && now.left;
    let signed_in = now.signed_in_since && ends_with_a_sign_in(reason) && !left_again;
    if now.disabled && (signed_in || gone.is_some()) {
        return Some([
            "That is settled, but they are disabled here now; to enable: `deskpass employee enable EMPLOYEE`.",
            "该问题已解决，但该员工现已在本系统停用；如需启用：`deskpass employee enable EMPLOYEE`。",
        ]);
    }
    let nothing = ["They have signed in since: there is nothing to do.", "该员工此后已成功登录，无需处理。"];
    if signed_in { Some(nothing) } else { gone }
}

/// Whether the cause is gone once the person has signed in, in whatever way.
fn ends_with_a_sign_in(reason: &str) -> bool {
    matches!(
        reason,
        "left_platform"
            | "disabled_here"
            | "disabled"
            | "no_role"
            | "role_taken_away"
            | "unknown_employee"
            | "not_a_member"
            | "somebody_else"
            | "denied"
            | "invalid_code"
            | "over"
    )
}

/// The advice where the cause is gone, as far as the records say.
fn cause_gone(reason: &str, now: &Situation) -> Option<[&'static str; 2]> {
    let agent = now.agent;
    let (gone, advice) = match reason {
        "disabled_here" => {
            (!now.disabled, ["They are enabled now: ask them to sign in again.", "现已启用，请让其重新登录。"])
        }
        "holder_unconfirmed" => {
            (!now.unconfirmed, ["They are confirmed now: ask them to sign in again.", "现已确认，请让其重新登录。"])
        }
        "disabled" => (
            now.exists && !now.disabled,
            [
                "They are enabled here. If they still cannot sign in, check in the platform's console (通讯录) that they are not disabled there.",
                "该员工在本系统已启用。如仍无法登录，请在{platform}管理后台的通讯录中确认未被禁用。",
            ],
        ),
        "role_not_held" | "role_taken_away" if now.role.is_some() => (
            now.role.is_some_and(|role| now.roles.holds(role)),
            ["They hold the role ROLE now: ask them to try again.", "现已拥有角色 ROLE，请让其重试。"],
        ),
        "device_not_allowed" => (
            now.roles.iter().any(|role| role != Role::User) && !agent.is_some_and(|agent| agent.disabled),
            ["They may bind one now: ask them to try again.", "现已允许绑定，请让其重试。"],
        ),
        "no_role" | "role_taken_away" => (
            !now.roles.is_empty(),
            ["They have a role now (ROLES): ask them to sign in again.", "现已有角色（ROLES），请让其重新登录。"],
        ),
        "unknown_employee" => (
            now.exists,
            [
                "The employee exists now: ask them to sign in again. For a link, run `deskpass link list`.",
                "该员工现已存在，请让其重新登录。互联企业的人员请运行 `deskpass link list` 查看。",
            ],
        ),
        "not_an_agent" => (
            agent.is_some_and(|agent| !agent.disabled),
            ["They are an agent now: ask them to sign in again.", "现已是坐席，请让其重新登录。"],
        ),
        "no_password" => (
            agent.is_some_and(|agent| agent.has_password),
            ["They have a password now: ask them to sign in again.", "现已设置密码，请让其重新登录。"],
        ),
        "too_many_failures" | "locked" => (
            agent.is_some_and(|agent| !agent.shut),
            [
                "Attempts are accepted again. If the agent did not make the failed ones, it is an attack: check the addresses.",
                "现已恢复，可以重试。如不是坐席本人操作，则可能是攻击：请查看来源地址。",
            ],
        ),
        "address_not_allowed" => (
            now.address_allowed,
            [
                "The allow-lists permit this address now: ask them to sign in again.",
                "白名单现已允许该地址，请让其重新登录。",
            ],
        ),
        _ => return None,
    };
    gone.then_some(advice)
}

/// The advice where the usual command would not help.
fn other_fix(reason: &str, now: &Situation) -> Option<[&'static str; 2]> {
    let record_disabled = now.agent.is_some_and(|agent| agent.disabled);
    match reason {
        "left_platform" if now.disabled => Some([
            "If the platform is wrong, enable the member in its console (通讯录); they are also disabled here: then run `deskpass employee enable EMPLOYEE`.",
            "如与事实不符，请在{platform}管理后台的通讯录中启用该成员；该员工在本系统也已停用，之后还需运行 `deskpass employee enable EMPLOYEE`。",
        ]),
        "left_platform" if now.left => Some([
            "If the platform is wrong, enable the member in its console (通讯录) and ask them to sign in; if that does not help, run `deskpass employee return EMPLOYEE`.",
            "如与事实不符，请在{platform}管理后台的通讯录中启用该成员并让其重新登录；如仍无效，请运行 `deskpass employee return EMPLOYEE`。",
        ]),
        // There is nothing to enable: a command would answer that there is no such employee.
        "disabled" if !now.exists => Some([
            "There is no such employee here, so they had left at the platform. If that is wrong, enable the member in its console (通讯录).",
            "本系统没有该员工，说明其已在{platform}离职或被禁用。如与事实不符，请在{platform}管理后台的通讯录中启用该成员。",
        ]),
        "no_role" | "role_not_held" | "role_taken_away" if !now.exists => Some([
            "There is no such employee now; they are added at their next sign-in, or by `deskpass employee add EMPLOYEE`.",
            "现在没有该员工；其下次登录时会自动添加，也可运行 `deskpass employee add EMPLOYEE`。",
        ]),
        "not_an_agent" if record_disabled => Some([
            "The agent record is disabled; to enable: `deskpass agent enable EMPLOYEE`.",
            "坐席记录已停用；如需启用：`deskpass agent enable EMPLOYEE`。",
        ]),
        _ => None,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// A situation × the advice: what both languages must say, and what they must not.
    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn advice_follows_from_the_situation_and_is_not_repeated_once_it_was_followed() {
        let none = Situation::default;
        let here = || Situation { exists: true, ..none() };
        let disabled = || Situation { disabled: true, ..here() };
        let with_role = || Situation { roles: Roles::NONE.with(Role::User), ..here() };
        let signed_in = || Situation { signed_in_since: true, ..with_role() };
        let agent = |agent: AgentSituation| Situation { agent: Some(agent), ..here() };
        let plain = AgentSituation::default;
        let (enable, grant, add) = ("employee enable left01", "role grant left01", "employee add left01");
        let (agent_add, agent_enable) = ("agent add left01", "agent enable left01");
        let (unlock, reset, rules) = ("agent unlock left01", "agent reset-password left01", "ip-rule list");
        for (reason, situation, says, never) in [
            // Left at the platform: nothing here enables them.
            ("left_platform", none(), "通讯录", enable),
            ("left_platform", here(), "通讯录", enable),
            ("left_platform", disabled(), enable, "nothing to enable"),
            // The advice was followed, also at the platform.
            ("left_platform", signed_in(), "", "通讯录"),
            ("left_platform", Situation { disabled: true, ..signed_in() }, enable, "通讯录"),
            // They left again.
            ("left_platform", Situation { left: true, ..signed_in() }, "通讯录", enable),
            ("left_platform", Situation { left: true, ..here() }, "employee return left01", enable),
            ("left_platform", here(), "通讯录", "employee return"),
            ("disabled", signed_in(), "", "通讯录"),
            ("no_role", signed_in(), "", grant),
            ("role_not_held", signed_in(), grant, add),
            // Somebody who is disabled cannot sign in again.
            ("no_role", Situation { disabled: true, ..with_role() }, enable, "user"),
            ("unknown_employee", disabled(), enable, "link list"),
            ("locked", Situation { disabled: true, ..agent(plain()) }, enable, unlock),
            ("disabled_here", disabled(), enable, "通讯录"),
            ("disabled_here", here(), "", enable),
            // Rows of earlier versions do not say which.
            ("disabled", none(), "通讯录", enable),
            ("disabled", disabled(), enable, add),
            ("disabled", here(), "通讯录", enable),
            ("no_role", here(), grant, add),
            ("no_role", with_role(), "user", grant),
            ("no_role", none(), add, grant),
            ("role_taken_away", with_role(), "user", grant),
            ("role_not_held", with_role(), grant, add),
            ("unknown_employee", none(), add, "link list"),
            ("unknown_employee", here(), "link list", add),
            ("not_an_agent", here(), agent_add, agent_enable),
            ("not_an_agent", agent(AgentSituation { disabled: true, ..plain() }), agent_enable, agent_add),
            ("not_an_agent", agent(plain()), "", agent_add),
            ("no_password", agent(plain()), reset, agent_add),
            ("no_password", agent(AgentSituation { has_password: true, ..plain() }), "", reset),
            ("locked", agent(AgentSituation { shut: true, ..plain() }), unlock, reset),
            ("locked", agent(plain()), "", unlock),
            ("too_many_failures", agent(plain()), "", unlock),
            ("role_not_held", Situation { role: Some(Role::Agent), ..with_role() }, "role grant left01 agent", add),
            ("role_not_held", Situation { role: Some(Role::User), ..with_role() }, "user", grant),
            ("role_taken_away", Situation { role: Some(Role::Agent), ..with_role() }, "role grant left01 agent", add),
            ("device_not_allowed", with_role(), grant, rules),
            ("device_not_allowed", Situation { roles: Roles::NONE.with(Role::Agent), ..here() }, "", grant),
            ("over", here(), "", "nothing to do"),
            ("over", signed_in(), "", "QR"),
            ("address_not_allowed", with_role(), rules, grant),
            ("address_not_allowed", Situation { address_allowed: true, ..with_role() }, "", rules),
        ] {
            for language in [Language::En, Language::Zh] {
                let [what, next] = explain(reason, &situation, "left01", language).unwrap();
                assert!(next.contains(says) && !next.contains(never), "{reason} {situation:?}: {next}");
                assert!(!what.is_empty() && !next.contains("EMPLOYEE") && !next.contains("ROLES"), "{reason}: {next}");
                assert_eq!(next.ends_with('。'), language == Language::Zh, "{reason}: {next}");
            }
        }
    }

    #[test]
    fn a_reason_of_a_later_version_has_no_explanation() {
        assert_eq!(explain("invented", &Situation::default(), "user01", Language::En), None);
    }
}
