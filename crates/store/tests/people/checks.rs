//! Whom the platform is asked about next.

use deskpass_core::{EmployeeKey, LeftReason};
use deskpass_store::{ChangeAuthor, Store};

use crate::agents::fixture::{DAY, Fixture, HOUR, at, entry, leaving, on_every_store};
use crate::lists::scene::sign_in;
use crate::people::scene::key;

const NOW: i64 = 5_000;

/// The identifiers of those to check, as the corporation writes them.
async fn to_check(store: &Store, before: i64, limit: i64) -> Vec<String> {
    let found = store.people_to_check("ww".to_owned(), at(before), at(NOW), limit).await.unwrap();
    assert!(found.iter().all(|(key, id)| key.id() == id.to_lowercase()), "{found:?}");
    found.into_iter().map(|(_, id)| id).collect()
}

on_every_store! {
    async fn people_with_live_sessions_are_checked_the_longest_unchecked_first(fixture: &Fixture) {
        let store = fixture.store();
        for id in ["a", "b", "c", "absent", "expired", "disabled", "gone"] {
            fixture.employ(id).await;
        }
        for id in ["a", "b", "c", "disabled", "gone"] {
            sign_in(store, id, &key(id), 1_000, "192.0.2.1").await;
        }
        // Two sessions of one person are one check.
        sign_in(store, "a again", &key("a"), 2_000, "192.0.2.1").await;
        sign_in(store, "expired", &key("expired"), NOW - 8 * HOUR, "192.0.2.1").await;
        fixture.employ_in("wwother", "elsewhere").await;
        sign_in(store, "elsewhere", &EmployeeKey::from_parts("wwother", "elsewhere"), 1_000, "192.0.2.1").await;
        store.disable(ChangeAuthor::NoSession, key("disabled"), true, at(DAY), entry()).await.unwrap();
        store.mark_left(leaving(&key("gone"), LeftReason::Left, 2_000)).await.unwrap();
        assert_eq!(to_check(store, NOW, 10).await, ["A", "B", "C"]);
        store.mark_checked(vec![key("b"), key("nobody")], at(3_000)).await.unwrap();
        store.mark_checked(vec![key("a")], at(2_000)).await.unwrap();
        assert_eq!(to_check(store, NOW, 10).await, ["C", "A", "B"]);
        assert_eq!(to_check(store, NOW, 2).await, ["C", "A"]);
        assert_eq!(to_check(store, 3_000, 10).await, ["C", "A"], "the other was checked at that time");
        // A late answer does not undo a newer one.
        store.mark_checked(vec![key("b"), key("c")], at(2_500)).await.unwrap();
        assert_eq!(to_check(store, NOW, 10).await, ["A", "C", "B"]);
        assert!(store.mark_returned(key("gone"), at(4_000), entry()).await.unwrap());
        sign_in(store, "back", &key("gone"), 4_000, "192.0.2.1").await;
        assert_eq!(to_check(store, NOW, 10).await, ["A", "C", "B", "GONE"], "a return is a check");
    }
}
