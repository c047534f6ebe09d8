//! A temporary role ends at its end, and neither sooner nor later.

use deskpass_core::{LoginMethod, Role, Roles};
use deskpass_store::{
    Actor, AuditEvent, ChangeAuthor, ChangeError, DisableOutcome, GrantUntilOutcome, Notice, NoticeSubject, Revocation,
    RevokeOutcome, SetRolesOutcome, Store,
};

use super::scene::{
    ADMIN, MINUTE, USER, apply, due, end, entry_at, grant, grant_until, held, key, logged, origin, revoke, set,
};
use crate::agents::fixture::{DAY, Fixture, HOUR, at, digest, notice, on_every_store};

fn ends_soon(id: &str, number: usize) -> Notice {
    Notice { employee: key(id), ..notice(&format!("{id} {number}"), NoticeSubject::RoleEndsSoon) }
}

on_every_store! {
    async fn a_role_ends_at_its_time_and_its_person_is_told_before(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        assert_eq!(grant_until(store, "one", Role::Agent, 0, HOUR).await, GrantUntilOutcome::Granted);
        assert_eq!(held(store, "one").await, USER.with(Role::Agent));
        assert!(store.person(&key("one")).await.unwrap().unwrap().roles.holds(Role::Agent));
        assert!(store.roles_due(at(49 * MINUTE), at(59 * MINUTE), 10).await.unwrap().is_empty());
        let soon = store.roles_due(at(50 * MINUTE), at(HOUR), 10).await.unwrap();
        assert_eq!(soon, [due("one", Role::Agent, HOUR, false)]);
        assert!(!end(store, soon[0].clone(), HOUR - 1).await, "not yet");
        assert!(store.tell_role_ends(soon[0].clone(), at(50 * MINUTE), ends_soon("one", 0)).await.unwrap());
        assert!(!store.tell_role_ends(soon[0].clone(), at(50 * MINUTE), ends_soon("one", 1)).await.unwrap(), "told once");
        assert_eq!(store.pending_notices().await.unwrap(), 1);
        assert!(store.roles_due(at(50 * MINUTE), at(HOUR), 10).await.unwrap().is_empty(), "told, and not over");
        let over = store.roles_due(at(HOUR), at(HOUR), 10).await.unwrap();
        assert_eq!(over, [due("one", Role::Agent, HOUR, true)]);
        assert!(end(store, over[0].clone(), HOUR).await);
        assert!(!end(store, over[0].clone(), HOUR).await, "once");
        assert_eq!(held(store, "one").await, USER);
        assert!(!store.person(&key("one")).await.unwrap().unwrap().roles.holds(Role::Agent));
        assert_eq!(logged(store, AuditEvent::RoleEnded).await, [""]);
        assert_eq!(grant_until(store, "nobody", Role::Agent, 0, HOUR).await, GrantUntilOutcome::Unknown);
    }
}

on_every_store! {
    async fn the_last_end_counts(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        for until in [2 * HOUR, HOUR, 3 * HOUR] {
            assert_eq!(grant_until(store, "one", Role::Agent, 0, until).await, GrantUntilOutcome::Granted);
            assert_eq!(origin(store, "one", Role::Agent).await.unwrap().until, Some(at(until)));
        }
        assert!(!end(store, due("one", Role::Agent, HOUR, false), 4 * HOUR).await, "it ends at another time");
        assert!(!store.tell_role_ends(due("one", Role::Agent, HOUR, false), at(0), ends_soon("one", 0)).await.unwrap());
        assert!(grant(store, "one", Role::Agent).await, "for good");
        assert!(!grant(store, "one", Role::Agent).await);
        assert!(!end(store, due("one", Role::Agent, 3 * HOUR, false), 4 * HOUR).await);
        assert_eq!(grant_until(store, "one", Role::Agent, 0, HOUR).await, GrantUntilOutcome::HeldForGood);
        assert_eq!(origin(store, "one", Role::Agent).await.unwrap().until, None);
    }
}

on_every_store! {
    async fn nobody_is_told_of_the_end_of_twenty_minutes(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        grant_until(store, "one", Role::Agent, HOUR, HOUR + 20 * MINUTE).await;
        grant_until(store, "one", Role::Security, HOUR, HOUR + 20 * MINUTE + 1).await;
        let due_roles = store.roles_due(at(HOUR), at(2 * HOUR), 10).await.unwrap();
        assert_eq!(due_roles, [due("one", Role::Security, HOUR + 20 * MINUTE + 1, false)]);
        let all = store.roles_due(at(2 * HOUR), at(2 * HOUR), 10).await.unwrap();
        assert_eq!(all[0], due("one", Role::Agent, HOUR + 20 * MINUTE, true), "the earliest first");
        assert_eq!(store.roles_due(at(2 * HOUR), at(2 * HOUR), 1).await.unwrap(), all[..1]);
    }
}

on_every_store! {
    async fn a_role_that_a_rule_gives_as_well_stays(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        assert_eq!(apply(store, "one", Roles::NONE.with(Role::Agent)).await.gained, Roles::NONE.with(Role::Agent));
        assert_eq!(grant_until(store, "one", Role::Agent, 0, HOUR).await, GrantUntilOutcome::Granted);
        assert!(end(store, due("one", Role::Agent, HOUR, false), HOUR).await);
        let kept = origin(store, "one", Role::Agent).await.unwrap();
        assert_eq!((kept.by_hand, kept.by_rule, kept.until, kept.reason), (false, true, None, None));
        assert_eq!(logged(store, AuditEvent::RoleEnded).await, ["stays: from a rule"]);
        // The other way round: the rule goes first.
        assert_eq!(grant_until(store, "one", Role::Agent, 0, 2 * HOUR).await, GrantUntilOutcome::Granted);
        assert_eq!(apply(store, "one", Roles::NONE).await.lost, Roles::NONE);
        assert!(held(store, "one").await.holds(Role::Agent));
        assert!(end(store, due("one", Role::Agent, 2 * HOUR, false), 2 * HOUR).await);
        assert_eq!(held(store, "one").await, USER);
    }
}

on_every_store! {
    async fn an_extension_is_never_lost_to_the_end(fixture: &Fixture) {
        fixture.employ("one").await;
        let (here, there) = (fixture.node(0), fixture.node(1));
        for round in 1..40_i64 {
            let (until, later) = (round * HOUR, (round + 100) * HOUR);
            assert_eq!(grant_until(&here, "one", Role::Agent, 0, until).await, GrantUntilOutcome::Granted);
            let (_, extended) = tokio::join!(
                end(&here, due("one", Role::Agent, until, false), until),
                grant_until(&there, "one", Role::Agent, until, later)
            );
            assert_eq!(extended, GrantUntilOutcome::Granted, "round {round}");
            assert_eq!(origin(&here, "one", Role::Agent).await.unwrap().until, Some(at(later)), "round {round}");
            let (_, granted) = tokio::join!(
                end(&there, due("one", Role::Agent, later, false), later),
                grant(&here, "one", Role::Agent)
            );
            assert!(granted && origin(&here, "one", Role::Agent).await.unwrap().by_hand, "round {round}");
            assert_eq!(revoke(&here, "one", Role::Agent).await, RevokeOutcome::Revoked);
        }
    }
}

on_every_store! {
    async fn of_many_nodes_one_ends_a_role_and_one_tells(fixture: &Fixture) {
        fixture.employ("one").await;
        for round in 1..20_i64 {
            let until = round * HOUR;
            grant_until(fixture.store(), "one", Role::Agent, 0, until).await;
            let role = || due("one", Role::Agent, until, false);
            let tell = async |number: usize| {
                let id = usize::try_from(round).unwrap() * 2 + number;
                fixture.node(number).tell_role_ends(role(), at(until), ends_soon("one", id)).await.unwrap()
            };
            let (one, two) = tokio::join!(tell(0), tell(1));
            assert_ne!(one, two, "round {round}");
            let (here, there) = (fixture.node(0), fixture.node(1));
            let (one, two) = tokio::join!(end(&here, role(), until), end(&there, role(), until));
            assert_ne!(one, two, "round {round}");
        }
    }
}

on_every_store! {
    async fn a_temporary_administrator_is_no_other_administrator(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        fixture.employ("two").await;
        assert!(grant(store, "one", Role::Admin).await);
        assert_eq!(grant_until(store, "two", Role::Admin, 0, HOUR).await, GrantUntilOutcome::Granted);
        assert_eq!(set(store, "one", USER).await, SetRolesOutcome::LastAdmin);
        assert_eq!(revoke(store, "one", Role::Admin).await, RevokeOutcome::LastAdmin);
        let disabled = store.disable(ChangeAuthor::NoSession, key("one"), false, at(DAY), entry_at(AuditEvent::EmployeeDisabled, "one", 0));
        assert_eq!(disabled.await.unwrap(), DisableOutcome::LastAdmin);
        // Replacing the roles of the other does not make that role permanent.
        assert_eq!(set(store, "two", ADMIN).await, SetRolesOutcome::Changed(ADMIN.with(Role::User)));
        assert_eq!(origin(store, "two", Role::Admin).await.unwrap().until, Some(at(HOUR)));
        assert!(end(store, due("two", Role::Admin, HOUR, false), HOUR).await);
        // One by a rule counts.
        assert_eq!(apply(store, "two", ADMIN).await.gained, ADMIN);
        assert_eq!(set(store, "one", USER).await, SetRolesOutcome::Changed(ADMIN.with(Role::User)));
    }
}

on_every_store! {
    /// Nothing takes the role back here.
    async fn a_role_is_over_at_its_time_even_if_nothing_takes_it_back(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("one", LoginMethod::Oauth2, None).await;
        for role in [Role::Security, Role::Supervisor, Role::Agent] {
            assert_eq!(grant_until(store, "agent01", role, 0, HOUR).await, GrantUntilOutcome::Granted);
        }
        apply(store, "agent01", Roles::NONE.with(Role::Supervisor)).await;
        assert!(grant(store, "agent01", Role::Agent).await, "for good");
        let kept = USER.with(Role::Supervisor).with(Role::Agent);
        for person in [store.person(&key("agent01")).await.unwrap().unwrap().roles_at(at(HOUR)), held_at(store, HOUR).await] {
            assert_eq!(person, kept);
        }
        assert_eq!(held_at(store, HOUR - 1).await, kept.with(Role::Security));
        let switch = async |role: Role, now: i64| {
            let (session, employee) = (digest("one"), key("agent01"));
            let actor = Actor { session, employee, role: None, from: None, now: at(now) };
            store.switch_role(actor, role, entry_at(AuditEvent::SwitchRole, "agent01", now)).await.unwrap()
        };
        assert!(switch(Role::Security, HOUR - 1).await);
        assert!(!switch(Role::Security, HOUR).await);
        assert!(switch(Role::Supervisor, HOUR).await && switch(Role::Agent, HOUR).await);
        // What it allowed is over as well.
        let author = |role: Role, now: i64| {
            let (session, employee) = (digest("one"), key("agent01"));
            ChangeAuthor::Session(Actor { session, employee, role: Some(role), from: None, now: at(now) })
        };
        assert!(switch(Role::Security, HOUR - 1).await && store.check_author(author(Role::Security, HOUR - 1)).await.is_ok());
        let refused = store.check_author(author(Role::Security, HOUR)).await;
        assert!(matches!(refused, Err(ChangeError::Revoked(Revocation::RoleTakenAway(Role::Security)))), "{refused:?}");
    }
}

/// The roles that `agent01` holds at this time, past the cache.
async fn held_at(store: &Store, now: i64) -> Roles {
    store.listed_person(key("agent01")).await.unwrap().unwrap().person.roles_at(at(now))
}
