//! An employee's roles are exactly those that were granted, and at least one administrator remains.

use deskpass_core::{EmployeeKey, Role, Roles};
use deskpass_store::{AuditEvent, ChangeAuthor, DisableOutcome, LogFilter, SetRolesOutcome, Store};

use crate::agents::fixture::{DAY, Fixture, at, on_every_store};
use crate::lists::people::{add, person};
use crate::lists::scene::entry;

const ADMIN: Roles = Roles::NONE.with(Role::Admin);
const USER: Roles = Roles::NONE.with(Role::User);

fn key(id: &str) -> EmployeeKey {
    EmployeeKey::from_parts("ww", id)
}

async fn set(store: &Store, id: &str, roles: Roles) -> SetRolesOutcome {
    store
        .set_roles(ChangeAuthor::NoSession, key(id), roles, false, at(DAY), entry(AuditEvent::RolesChanged, &key(id)))
        .await
        .unwrap()
}

async fn roles(store: &Store, id: &str) -> Roles {
    store.person(&key(id)).await.unwrap().unwrap().roles
}

async fn two_admins(store: &Store) {
    add(store, person("ww", "one", "One", "", ADMIN)).await;
    add(store, person("ww", "two", "Two", "", ADMIN)).await;
    add(store, person("wwother", "three", "Three", "", ADMIN)).await;
}

on_every_store! {
    async fn roles_are_those_given_and_the_log_tells_of_both(fixture: &Fixture) {
        let store = fixture.store();
        two_admins(store).await;
        let both = USER.with(Role::Security);
        assert_eq!(set(store, "agent01", both).await, SetRolesOutcome::Changed(USER));
        assert_eq!(set(store, "agent01", both).await, SetRolesOutcome::Unchanged);
        assert_eq!(roles(store, "agent01").await, both);
        assert_eq!(set(store, "agent01", Roles::NONE).await, SetRolesOutcome::Changed(both));
        assert_eq!(roles(store, "agent01").await, Roles::NONE);
        assert_eq!(set(store, "nobody", both).await, SetRolesOutcome::Unknown);
        let filter = LogFilter { corp: "ww".to_owned(), event: Some(AuditEvent::RolesChanged), ..LogFilter::default() };
        let told = store.log_page(filter, None, 10).await.unwrap().rows;
        let told: Vec<_> = told.iter().map(|row| &*row.detail).collect();
        assert_eq!(told, ["user, security -> none", "user -> user, security"], "one row for each change");
    }
}

on_every_store! {
    async fn the_last_administrator_who_can_sign_in_stays_one(fixture: &Fixture) {
        let store = fixture.store();
        two_admins(store).await;
        let disabled = store.disable(ChangeAuthor::NoSession, key("two"), false, at(DAY), entry(AuditEvent::EmployeeDisabled, &key("two"))).await.unwrap();
        assert_eq!(disabled, DisableOutcome::Done(0));
        assert_eq!(set(store, "one", USER).await, SetRolesOutcome::LastAdmin, "the others are shut out, or of elsewhere");
        assert_eq!(set(store, "one", ADMIN.with(Role::User)).await, SetRolesOutcome::Changed(ADMIN));
        assert_eq!(set(store, "two", USER).await, SetRolesOutcome::Changed(ADMIN), "who is shut out is not missed");
        assert_eq!(roles(store, "one").await, ADMIN.with(Role::User));
        let even_last = store.set_roles(ChangeAuthor::NoSession, key("one"), USER, true, at(DAY), entry(AuditEvent::RolesChanged, &key("one"))).await.unwrap();
        assert_eq!(even_last, SetRolesOutcome::Changed(ADMIN.with(Role::User)));
    }
}

on_every_store! {
    async fn of_two_who_take_the_role_from_each_other_one_does(fixture: &Fixture) {
        two_admins(fixture.store()).await;
        for round in 0..200 {
            let (here, there) = (fixture.node(0), fixture.node(1));
            let (one, two) = tokio::join!(set(&here, "one", USER), set(&there, "two", USER));
            assert!(
                matches!((one, two), (SetRolesOutcome::Changed(_), SetRolesOutcome::LastAdmin) | (SetRolesOutcome::LastAdmin, SetRolesOutcome::Changed(_))),
                "round {round}: {one:?} {two:?}"
            );
            let lost = if one == SetRolesOutcome::LastAdmin { "two" } else { "one" };
            assert_eq!(set(fixture.store(), lost, ADMIN).await, SetRolesOutcome::Changed(USER), "round {round}");
        }
    }
}

on_every_store! {
    async fn of_two_concurrent_role_changes_one_wins(fixture: &Fixture) {
        two_admins(fixture.store()).await;
        let wanted = [Roles::NONE.with(Role::Agent), Roles::NONE.with(Role::Security).with(Role::Supervisor)];
        for round in 0..50 {
            let (here, there) = (fixture.node(0), fixture.node(1));
            let both = tokio::join!(set(&here, "agent01", wanted[0]), set(&there, "agent01", wanted[1]));
            assert!(matches!(both, (SetRolesOutcome::Changed(_), SetRolesOutcome::Changed(_))), "round {round}: {both:?}");
            let page = fixture.store().people(crate::lists::people::of("ww", crate::lists::people::term("agent01")), deskpass_store::PageStart::Offset(0), 5);
            let roles = page.await.unwrap().people[0].person.roles;
            assert!(wanted.contains(&roles), "round {round}: {roles:?}");
            assert_eq!(set(fixture.store(), "agent01", USER).await, SetRolesOutcome::Changed(roles));
        }
    }
}
