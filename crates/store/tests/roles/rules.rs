//! What rules give stays for as long as they give it, and no rule takes the role from the last administrator.

use deskpass_core::{LoginMethod, Role, RoleRule, Roles};
use deskpass_store::{AuditEvent, ChangeAuthor, RevokeOutcome, RuleRolesOutcome, SetRolesOutcome, Store};

use super::scene::{
    self, ADMIN, USER, apply, department, evaluate, grant, held, key, logged, origin, revoke, set, tag,
};
use crate::agents::fixture::{Fixture, agent01, at, on_every_store};
use crate::lists::scene::{bulk, entry, soon};

const AGENT: Roles = Roles::NONE.with(Role::Agent);

async fn set_rules(store: &Store, corp: &str, rules: &[RoleRule]) -> bool {
    let entry = entry(AuditEvent::RoleRulesChanged, &agent01());
    store.set_role_rules(ChangeAuthor::NoSession, corp.to_owned(), rules.to_vec(), entry).await.unwrap()
}

async fn rules(store: &Store, corp: &str) -> Vec<RoleRule> {
    store.access_rules().await.unwrap().role_rules(corp).to_vec()
}

on_every_store! {
    async fn the_rules_are_what_was_set_last_for_each_corporation(fixture: &Fixture) {
        let store = fixture.store();
        assert!(rules(store, "ww").await.is_empty());
        let wanted = [tag(Role::Supervisor, "t"), department(Role::Agent, "2"), department(Role::Agent, "1")];
        assert!(set_rules(store, "ww", &wanted).await);
        assert!(set_rules(store, "wwother", &[department(Role::Admin, "1")]).await);
        let sorted = [department(Role::Agent, "1"), department(Role::Agent, "2"), tag(Role::Supervisor, "t")];
        assert_eq!(rules(store, "ww").await, sorted);
        let twice: Vec<_> = sorted.iter().chain(&sorted).cloned().collect();
        assert!(!set_rules(store, "ww", &twice).await, "the same once more");
        assert_eq!(rules(store, "wwother").await, [department(Role::Admin, "1")]);
        assert!(rules(store, "wwnone").await.is_empty());
        assert!(set_rules(store, "ww", &[]).await);
        assert!(rules(store, "ww").await.is_empty());
        assert_eq!(rules(store, "wwother").await.len(), 1);
        let told = logged(store, AuditEvent::RoleRulesChanged).await;
        let all = "department 1: agent, department 2: agent, tag t: supervisor";
        assert_eq!(told, [format!("{all} -> none"), "none -> department 1: admin".into(), format!("none -> {all}")]);
        let there = fixture.node(1);
        assert!(soon(async || rules(&there, "ww").await.is_empty()).await, "on the other node too");
    }
}

on_every_store! {
    async fn what_a_rule_gives_cannot_be_revoked_by_hand(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        assert_eq!(apply(store, "one", AGENT).await, RuleRolesOutcome { gained: AGENT, ..RuleRolesOutcome::default() });
        assert_eq!(revoke(store, "one", Role::Agent).await, RevokeOutcome::FromRule);
        assert_eq!(set(store, "one", USER.with(Role::Security)).await, SetRolesOutcome::FromRule(Role::Agent));
        assert_eq!(held(store, "one").await, USER.with(Role::Agent), "nothing of it");
        assert!(logged(store, AuditEvent::RolesChanged).await.is_empty());
        // What was granted beside the rule is taken back.
        assert!(grant(store, "one", Role::Agent).await);
        assert_eq!(revoke(store, "one", Role::Agent).await, RevokeOutcome::FromRule);
        assert!(!origin(store, "one", Role::Agent).await.unwrap().by_hand);
        assert_eq!(logged(store, AuditEvent::RolesChanged).await, ["agent stays: from a rule", ""]);
        assert_eq!(apply(store, "one", Roles::NONE).await, RuleRolesOutcome { lost: AGENT, ..RuleRolesOutcome::default() });
        assert_eq!(revoke(store, "one", Role::Agent).await, RevokeOutcome::NotHeld);
        assert_eq!(logged(store, AuditEvent::RuleRoles).await, ["gained: none; lost: agent", "gained: agent; lost: none"]);
    }
}

on_every_store! {
    async fn what_was_granted_by_hand_outlives_the_rule(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        assert!(grant(store, "one", Role::Agent).await);
        assert_eq!(apply(store, "one", AGENT).await, RuleRolesOutcome::default(), "held before");
        let both = origin(store, "one", Role::Agent).await.unwrap();
        assert!(both.by_hand && both.by_rule);
        assert_eq!(apply(store, "one", Roles::NONE).await, RuleRolesOutcome::default());
        assert!(held(store, "one").await.holds(Role::Agent));
        assert_eq!(apply(store, "nobody", AGENT).await, RuleRolesOutcome::default());
        assert!(logged(store, AuditEvent::RuleRoles).await.is_empty(), "nobody gained or lost a role");
    }
}

on_every_store! {
    async fn a_session_with_a_default_role_ends_when_rules_change_the_roles(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("by default", LoginMethod::Dev, Some(Role::Security)).await;
        fixture.session("own", LoginMethod::Dev, None).await;
        assert_eq!(apply(store, "agent01", Roles::NONE).await, RuleRolesOutcome::default());
        assert!(fixture.lives("by default").await, "nothing changed");
        assert_eq!(apply(store, "agent01", AGENT).await.gained, AGENT);
        assert!(!fixture.lives("by default").await);
        assert!(fixture.lives("own").await);
        assert!(store.person(&agent01()).await.unwrap().unwrap().roles.holds(Role::Agent));
    }
}

on_every_store! {
    async fn no_rule_takes_the_role_from_the_last_administrator(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        fixture.employ("two").await;
        assert!(grant(store, "one", Role::Admin).await);
        assert_eq!(apply(store, "two", ADMIN).await.gained, ADMIN);
        assert_eq!(revoke(store, "one", Role::Admin).await, RevokeOutcome::Revoked, "one by a rule is another");
        let kept = RuleRolesOutcome { kept_last_admin: true, ..RuleRolesOutcome::default() };
        assert_eq!(apply(store, "two", Roles::NONE).await, kept);
        assert_eq!(logged(store, AuditEvent::RuleRoles).await.len(), 1);
        assert!(origin(store, "two", Role::Admin).await.unwrap().by_rule, "the next evaluation tries again");
        // An administrator of another corporation, or a temporary one, is none.
        fixture.employ_in("wwother", "three").await;
        let three = deskpass_core::EmployeeKey::from_parts("wwother", "three");
        assert!(store.grant(ChangeAuthor::NoSession, three.clone(), Role::Admin, entry(AuditEvent::RolesChanged, &three)).await.unwrap());
        scene::grant_until(store, "one", Role::Admin, 0, 60_000).await;
        assert_eq!(apply(store, "two", Roles::NONE).await, kept);
        // Also if the rule's administrator has the role temporarily as well: it would end.
        scene::grant_until(store, "two", Role::Admin, 0, 60_000).await;
        assert_eq!(apply(store, "two", Roles::NONE).await, kept);
        assert!(grant(store, "one", Role::Admin).await);
        assert_eq!(apply(store, "two", Roles::NONE).await, RuleRolesOutcome::default(), "the rest of its time remains");
        assert!(scene::end(store, scene::due("two", Role::Admin, 60_000, false), 60_000).await);
        assert!(!held(store, "two").await.holds(Role::Admin));
    }
}

on_every_store! {
    async fn of_two_administrators_who_lose_the_rule_at_once_one_stays(fixture: &Fixture) {
        fixture.employ("one").await;
        fixture.employ("two").await;
        for round in 0..30 {
            let (here, there) = (fixture.node(0), fixture.node(1));
            apply(&here, "one", ADMIN).await;
            apply(&here, "two", ADMIN).await;
            let (one, two) = tokio::join!(apply(&here, "one", Roles::NONE), apply(&there, "two", Roles::NONE));
            assert_ne!(one.kept_last_admin, two.kept_last_admin, "round {round}: {one:?} {two:?}");
            assert_ne!(one.lost == ADMIN, two.lost == ADMIN, "round {round}");
        }
    }
}

on_every_store! {
    async fn a_rule_and_a_revocation_at_once_agree(fixture: &Fixture) {
        fixture.employ("one").await;
        for round in 0..30 {
            let (here, there) = (fixture.node(0), fixture.node(1));
            grant(&here, "one", Role::Agent).await;
            let (revoked, _) = tokio::join!(revoke(&here, "one", Role::Agent), apply(&there, "one", AGENT));
            assert!(matches!(revoked, RevokeOutcome::Revoked | RevokeOutcome::FromRule), "round {round}: {revoked:?}");
            let left = origin(&here, "one", Role::Agent).await.unwrap();
            assert!(left.by_rule && !left.by_hand, "round {round}: {left:?}");
            apply(&here, "one", Roles::NONE).await;
            assert_eq!(held(&here, "one").await, USER, "round {round}");
        }
    }
}

on_every_store! {
    async fn a_disabled_administrator_loses_the_role_of_a_rule(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        assert_eq!(apply(store, "one", ADMIN).await.gained, ADMIN);
        let disabled = store.disable(ChangeAuthor::NoSession, key("one"), true, at(0), entry(AuditEvent::EmployeeDisabled, &key("one")));
        disabled.await.unwrap();
        assert_eq!(apply(store, "one", Roles::NONE).await.lost, ADMIN);
    }
}

on_every_store! {
    /// Another node may have removed it a moment ago, or a synchronisation may have begun before.
    async fn a_rule_that_was_removed_gives_nothing(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        assert!(!store.has_rule_roles("ww".to_owned()).await.unwrap());
        assert!(set_rules(store, "ww", &[department(Role::Admin, "7")]).await);
        assert_eq!(rules(store, "ww").await.len(), 1);
        // The cache of this node still has it.
        bulk(fixture, "DELETE FROM role_rule", 0).await;
        assert_eq!(evaluate(store, "one", &["7"], Vec::new()).await, RuleRolesOutcome::default());
        assert_eq!(held(store, "one").await, USER);
        assert!(set_rules(store, "ww", &[department(Role::Admin, "7")]).await);
        let gained = RuleRolesOutcome { gained: ADMIN.with(Role::Agent), ..RuleRolesOutcome::default() };
        assert_eq!(evaluate(store, "one", &["7"], vec![department(Role::Agent, "7")]).await, gained);
        assert!(store.has_rule_roles("ww".to_owned()).await.unwrap());
        assert!(!store.has_rule_roles("wwother".to_owned()).await.unwrap());
    }
}
