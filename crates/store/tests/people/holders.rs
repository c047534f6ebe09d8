//! Who holds a role, and so is told of an alarm.

use deskpass_core::{EmployeeKey, LeftReason, Role};
use deskpass_store::{ChangeAuthor, Store};

use crate::agents::fixture::{DAY, Fixture, at, entry, leaving, on_every_store};
use crate::people::scene::{key, with_admin};

const BY: ChangeAuthor = ChangeAuthor::NoSession;

async fn holders(store: &Store, role: Role, except: &str, at_most: usize) -> Vec<EmployeeKey> {
    store.role_holders("ww".to_owned(), role, key(except), at_most).await.unwrap()
}

on_every_store! {
    async fn only_people_who_may_sign_in_and_hold_the_role_are_found(fixture: &Fixture) {
        let store = fixture.store();
        for id in ["sec1", "sec2", "sec3", "sec4"] {
            fixture.employ(id).await;
            assert!(store.grant(BY, key(id), Role::Security, entry()).await.unwrap());
        }
        with_admin(fixture, "boss").await;
        store.mark_left(leaving(&key("sec2"), LeftReason::Left, 1)).await.unwrap();
        store.disable(BY, key("sec3"), true, at(DAY), entry()).await.unwrap();
        assert_eq!(holders(store, Role::Security, "boss", 10).await, [key("sec1"), key("sec4")]);
        assert_eq!(holders(store, Role::Security, "sec1", 10).await, [key("sec4")]);
        assert_eq!(holders(store, Role::Security, "boss", 1).await, [key("sec1")]);
        assert!(!holders(store, Role::Admin, "boss", 10).await.contains(&key("boss")));
    }
}
