//! Whom the platform is asked about next.

use deskpass_core::{EmployeeKey, LeftReason};
use deskpass_store::{ChangeAuthor, Leaving, LeftOutcome, Store};

use crate::agents::fixture::{DAY, Fixture, HOUR, at, entry, leaving, on_every_store};
use crate::lists::scene::{bulk, sign_in};
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
        // One whom the platform said nothing about waits for the next turn, and may still be locked out by an older answer.
        store.mark_tried(vec![key("a"), key("b")], at(3_500)).await.unwrap();
        assert_eq!(to_check(store, NOW, 10).await, ["C", "A", "B"]);
        let older = Leaving { asked_at: Some(at(3_200)), ..leaving(&key("b"), LeftReason::Left, 3_200) };
        assert!(matches!(store.mark_left(older).await.unwrap(), LeftOutcome::Ended(1)));
        assert!(store.mark_returned(key("b"), at(3_500), entry()).await.unwrap());
        sign_in(store, "b again", &key("b"), 3_500, "192.0.2.1").await;
        assert!(store.mark_returned(key("gone"), at(4_000), entry()).await.unwrap());
        sign_in(store, "back", &key("gone"), 4_000, "192.0.2.1").await;
        assert_eq!(to_check(store, NOW, 10).await, ["C", "A", "B", "GONE"], "a return is a check");
    }
}

on_every_store! {
    async fn people_without_a_session_are_set_aside(fixture: &Fixture) {
        let store = fixture.store();
        bulk(
            fixture,
            "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at, watched)
             SELECT 'ww', 'person' || n, 'PERSON' || n, 'P', '', '', 0, CASE WHEN n <= 300 THEN 1 ELSE 0 END FROM numbers",
            3_000,
        )
        .await;
        for id in ["person7", "person2999"] {
            sign_in(store, id, &key(id), 1_000, "192.0.2.1").await;
        }
        // Behind many who have no session any more.
        assert_eq!(to_check(store, NOW, 1).await, ["PERSON2999"]);
        assert_eq!(to_check(store, NOW, 10).await, ["PERSON2999", "PERSON7"]);
        let at_hand = to_check(store, NOW, 0).await;
        assert!(at_hand.is_empty());
        // Signing in again is enough.
        sign_in(store, "again", &key("person8"), 2_000, "192.0.2.1").await;
        assert_eq!(to_check(store, NOW, 10).await, ["PERSON2999", "PERSON7", "PERSON8"]);
    }
}

on_every_store! {
    async fn a_sign_in_is_not_overlooked_while_a_person_is_set_aside(fixture: &Fixture) {
        for round in 0..10 {
            let id = format!("person{round}");
            fixture.employ(&id).await;
            // An expired session: the next search sets the person aside.
            sign_in(fixture.store(), &format!("old {round}"), &key(&id), NOW - 9 * HOUR, "192.0.2.1").await;
            let (here, there) = (fixture.node(0), fixture.node(1));
            let (name, who) = (format!("new {round}"), key(&id));
            tokio::join!(to_check(&here, NOW, 50), sign_in(&there, &name, &who, 1_000, "192.0.2.1"));
            let found = to_check(&here, NOW, 50).await;
            assert!(found.contains(&id.to_uppercase()), "round {round}: {found:?}");
        }
    }
}

/// A database that is far away takes a while for each statement, and a transaction must end in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_people_are_set_aside_in_few_statements() {
    let fixture = Fixture::scaled_out().await;
    for statement in [
        "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at, watched)
         SELECT 'ww', 'person' || n, 'PERSON' || n, 'P', '', '', 0, 1 FROM numbers",
        "CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_sleep(0.002); RETURN NULL; END $$",
        "CREATE TRIGGER pause BEFORE UPDATE ON employee FOR EACH STATEMENT EXECUTE FUNCTION pause()",
    ] {
        bulk(&fixture, statement, 2_600).await;
    }
    assert!(to_check(fixture.store(), NOW, 2_500).await.is_empty());
}
