//! Why a person holds roles, and why the platform keeps a person out, in words.

use deskpass_core::{LeftReason, Timestamp};
use deskpass_store::RoleOrigin;
use jiff::tz::TimeZone;

use crate::config::Language;
use crate::timestamp::local_time;

/// The state of a person whom the platform keeps out.
pub(super) fn left_words(why: LeftReason) -> [&'static str; 2] {
    match why {
        LeftReason::Left => [
            "locked out: they left the corporation at the platform; lifted when they sign in there again as a member",
            "已锁定：已在{platform}离职；以成员身份再次登录时自动恢复",
        ],
        LeftReason::Suspended => [
            "locked out: disabled at the platform; lifted at the next sign-in after they are enabled there",
            "已锁定：已在{platform}被禁用；在{platform}启用后，下次登录时自动恢复",
        ],
        LeftReason::OutOfRange => [
            "locked out: outside the application's visible range at the platform; lifted at the next sign-in once they are in it",
            "已锁定：不在应用的可见范围内；加入可见范围后，下次登录时自动恢复",
        ],
        LeftReason::Renamed => [
            "locked out: they have another identifier at the platform now, which has the roles",
            "已锁定：在{platform}的标识已变更，角色已转到新标识",
        ],
        LeftReason::CorporationRemoved => [
            "locked out: their corporation is no longer connected at the platform",
            "已锁定：其所属企业在{platform}已不再互联",
        ],
    }
}

/// Where the roles come from; `None` if all were assigned by hand, permanently.
pub(super) fn role_origins(origins: &[RoleOrigin], zone: &TimeZone, language: Language) -> Option<String> {
    let special = origins.iter().filter(|origin| origin.by_rule || origin.until.is_some());
    let texts: Vec<_> = special.map(|origin| describe(origin, zone, language)).collect();
    (!texts.is_empty()).then(|| texts.join(language.of(["; ", "；"])))
}

fn describe(origin: &RoleOrigin, zone: &TimeZone, language: Language) -> String {
    let by_hand = origin.by_hand.then(|| language.of(["assigned by hand", "手动分配"]).to_owned());
    let by_rule = origin.by_rule.then(|| language.of(["from a rule", "来自规则"]).to_owned());
    let until = origin.until.map(|until| describe_end(until, origin.reason.as_deref(), zone, language));
    let parts: Vec<_> = [by_hand, by_rule, until].into_iter().flatten().collect();
    let (role, parts) = (origin.role, parts.join(language.of([", ", "，"])));
    language.of([format!("{role}: {parts}"), format!("{role}：{parts}")])
}

fn describe_end(until: Timestamp, reason: Option<&str>, zone: &TimeZone, language: Language) -> String {
    let (until, reason) = (local_time(zone, until), reason.unwrap_or_default());
    let [english, chinese] =
        if reason.is_empty() { <[String; 2]>::default() } else { [format!(" ({reason})"), format!("（{reason}）")] };
    language.of([format!("until {until}{english}"), format!("至 {until}{chinese}")])
}

#[cfg(test)]
mod tests {
    use deskpass_core::Role;

    use super::*;

    #[test]
    fn only_roles_that_are_not_simply_assigned_are_described() {
        let by_hand = RoleOrigin { role: Role::User, by_hand: true, by_rule: false, until: None, reason: None };
        let by_rule = RoleOrigin { role: Role::Agent, by_rule: true, ..by_hand.clone() };
        let timed = RoleOrigin {
            role: Role::Admin,
            by_hand: false,
            until: Some(Timestamp::from_millis(1_800_000_000_000)),
            reason: Some("migration".to_owned()),
            ..by_hand.clone()
        };
        let described = |origins: &[RoleOrigin], language| role_origins(origins, &TimeZone::UTC, language);
        assert_eq!(described(std::slice::from_ref(&by_hand), Language::En), None);
        let all = [by_hand, by_rule, timed];
        assert_eq!(
            described(&all, Language::En).as_deref(),
            Some("agent: assigned by hand, from a rule; admin: until 2027-01-15 08:00:00 UTC+00:00 (migration)")
        );
        assert_eq!(
            described(&all, Language::Zh).as_deref(),
            Some("agent：手动分配，来自规则；admin：至 2027-01-15 08:00:00 UTC+00:00（migration）")
        );
    }
}
