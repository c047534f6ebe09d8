//! Whatever is granted and revoked permanently, temporarily and by rules, in any order: each person holds what a simple model says.

use std::collections::BTreeMap;

use deskpass_core::{Role, Roles};
use deskpass_store::{GrantUntilOutcome, RevokeOutcome, RoleOrigin, RuleRolesOutcome, SetRolesOutcome, Store};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::scene::{MINUTE, apply, end, grant, grant_until, held, origins, revoke, set};
use crate::agents::fixture::{Fixture, at, on_every_store};

const PEOPLE: [&str; 2] = ["one", "two"];
const STEPS: usize = 200;

/// Why a role is held, in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Why {
    hand: bool,
    rule: bool,
    until: Option<i64>,
}

impl Why {
    fn holds(self) -> bool {
        self.hand || self.rule || self.until.is_some()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Grant(usize, Role),
    Revoke(usize, Role),
    Set(usize, Roles),
    GrantUntil(usize, Role, i64),
    ApplyRules(usize, Roles),
    Pass(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..PEOPLE.len();
    let role = || proptest::sample::select(vec![Role::Admin, Role::Admin, Role::Agent, Role::User]);
    let roles = || {
        let some = proptest::sample::subsequence(vec![Role::Admin, Role::Agent, Role::User], 0..=3);
        some.prop_map(|roles| roles.into_iter().collect::<Roles>())
    };
    prop_oneof![
        2 => (who.clone(), role()).prop_map(|(who, role)| Step::Grant(who, role)),
        3 => (who.clone(), role()).prop_map(|(who, role)| Step::Revoke(who, role)),
        2 => (who.clone(), roles()).prop_map(|(who, roles)| Step::Set(who, roles)),
        3 => (who.clone(), role(), 1..60_i64).prop_map(|(who, role, lifetime)| Step::GrantUntil(who, role, lifetime)),
        4 => (who, roles()).prop_map(|(who, roles)| Step::ApplyRules(who, roles)),
        2 => (1..30_i64).prop_map(Step::Pass),
    ]
}

/// The model: why each person holds each role. Times are in minutes.
#[derive(Debug, Default)]
struct Model {
    why: BTreeMap<(usize, Role), Why>,
    now: i64,
}

impl Model {
    fn of(&self, who: usize, role: Role) -> Why {
        self.why.get(&(who, role)).copied().unwrap_or_default()
    }

    fn put(&mut self, who: usize, role: Role, why: Why) {
        self.why.insert((who, role), why);
    }

    fn held(&self, who: usize) -> Roles {
        Role::ALL.into_iter().filter(|role| self.of(who, *role).holds()).collect()
    }

    /// Whether nobody else is an administrator whose role does not end by itself.
    fn is_last_admin(&self, who: usize) -> bool {
        let lasts = |why: Why| why.holds() && why.until.is_none();
        !(0..PEOPLE.len()).any(|other| other != who && lasts(self.of(other, Role::Admin)))
    }

    fn grant(&mut self, who: usize, role: Role) -> bool {
        let before = self.of(who, role);
        self.put(who, role, Why { hand: true, until: None, ..before });
        !before.hand
    }

    fn revoke(&mut self, who: usize, role: Role) -> RevokeOutcome {
        let before = self.of(who, role);
        if !before.rule && before.holds() && role == Role::Admin && self.is_last_admin(who) {
            return RevokeOutcome::LastAdmin;
        }
        self.put(who, role, Why { rule: before.rule, ..Why::default() });
        match (before.rule, before.holds()) {
            (true, _) => RevokeOutcome::FromRule,
            (false, true) => RevokeOutcome::Revoked,
            (false, false) => RevokeOutcome::NotHeld,
        }
    }

    fn set(&mut self, who: usize, roles: Roles) -> SetRolesOutcome {
        let before = self.held(who);
        if before == roles {
            return SetRolesOutcome::Unchanged;
        }
        let revoked: Vec<_> = before.iter().filter(|role| !roles.holds(*role)).collect();
        let from_rule: Vec<_> = revoked.iter().copied().filter(|role| self.of(who, *role).rule).collect();
        if let Some(first) = from_rule.first() {
            for role in &from_rule {
                self.put(who, *role, Why { rule: true, ..Why::default() });
            }
            return SetRolesOutcome::FromRule(*first);
        }
        if revoked.contains(&Role::Admin) && self.is_last_admin(who) {
            return SetRolesOutcome::LastAdmin;
        }
        for role in revoked {
            self.put(who, role, Why::default());
        }
        for role in roles.iter().filter(|role| !before.holds(*role)) {
            self.put(who, role, Why { hand: true, ..Why::default() });
        }
        SetRolesOutcome::Changed(before)
    }

    fn grant_until(&mut self, who: usize, role: Role, lifetime: i64) -> GrantUntilOutcome {
        let before = self.of(who, role);
        if before.hand {
            return GrantUntilOutcome::HeldForGood;
        }
        self.put(who, role, Why { until: Some(self.now + lifetime), ..before });
        GrantUntilOutcome::Granted
    }

    fn apply_rules(&mut self, who: usize, roles: Roles) -> RuleRolesOutcome {
        let before = self.held(who);
        let mut kept_last_admin = false;
        for role in Role::ALL {
            let why = self.of(who, role);
            let keeps = role == Role::Admin && why.rule && !why.hand && !roles.holds(role) && self.is_last_admin(who);
            kept_last_admin |= keeps;
            self.put(who, role, Why { rule: roles.holds(role) || keeps, ..why });
        }
        let after = self.held(who);
        let gained = after.iter().filter(|role| !before.holds(*role)).collect();
        let lost = before.iter().filter(|role| !after.holds(*role)).collect();
        RuleRolesOutcome { gained, lost, kept_last_admin }
    }

    /// Lets time pass; returns the number of roles whose time is over.
    fn pass(&mut self, minutes: i64) -> usize {
        self.now += minutes;
        let mut over = 0;
        for why in self.why.values_mut().filter(|why| why.until.is_some_and(|until| until <= self.now)) {
            why.until = None;
            over += 1;
        }
        over
    }

    fn origins(&self, who: usize) -> Vec<RoleOrigin> {
        let origin = |role| {
            let Why { hand, rule, until } = self.of(who, role);
            let (until, reason) = (until.map(|until| at(until * MINUTE)), until.map(|_| "on call".to_owned()));
            RoleOrigin { role, by_hand: hand, by_rule: rule, until, reason }
        };
        self.held(who).iter().map(origin).collect()
    }
}

/// Ends all roles whose time is over; returns their number.
async fn end_due(store: &Store, now: i64) -> usize {
    let due = store.roles_due(at(now), at(now), 100).await.unwrap();
    let count = due.len();
    for role in due {
        assert!(end(store, role, now).await);
    }
    count
}

on_every_store! {
    async fn each_person_holds_what_the_model_says(fixture: &Fixture) {
        let (store, mut runner, mut model, mut history) = (fixture.store(), TestRunner::default(), Model::default(), Vec::new());
        for (who, id) in PEOPLE.into_iter().enumerate() {
            fixture.employ(id).await;
            model.put(who, Role::User, Why { hand: true, ..Why::default() });
        }
        for _ in 0..STEPS {
            let step = step().new_tree(&mut runner).unwrap().current();
            history.push(step.clone());
            let now = model.now * MINUTE;
            match step {
                Step::Grant(who, role) => assert_eq!(grant(store, PEOPLE[who], role).await, model.grant(who, role), "{history:?}"),
                Step::Revoke(who, role) => assert_eq!(revoke(store, PEOPLE[who], role).await, model.revoke(who, role), "{history:?}"),
                Step::Set(who, roles) => assert_eq!(set(store, PEOPLE[who], roles).await, model.set(who, roles), "{history:?}"),
                Step::GrantUntil(who, role, lifetime) => {
                    let outcome = grant_until(store, PEOPLE[who], role, now, now + lifetime * MINUTE).await;
                    assert_eq!(outcome, model.grant_until(who, role, lifetime), "{history:?}");
                }
                Step::ApplyRules(who, roles) => assert_eq!(apply(store, PEOPLE[who], roles).await, model.apply_rules(who, roles), "{history:?}"),
                Step::Pass(minutes) => {
                    let over = model.pass(minutes);
                    assert_eq!(end_due(store, model.now * MINUTE).await, over, "{history:?}");
                }
            }
            for (who, id) in PEOPLE.into_iter().enumerate() {
                assert_eq!(origins(store, id).await, model.origins(who), "{id} after {history:?}");
                assert_eq!(held(store, id).await, model.held(who), "{id} after {history:?}");
            }
        }
    }
}
