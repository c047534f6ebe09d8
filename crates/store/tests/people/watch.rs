//! People who have a session and no mark, since a node of a version before the mark began it.

use deskpass_store::Store;

use crate::agents::fixture::{Fixture, at, on_every_store};
use crate::lists::scene::{bulk, sign_in};
use crate::people::scene::{key, stored};

const NOW: i64 = 5_000;

async fn to_check(store: &Store) -> usize {
    store.people_to_check("ww".to_owned(), at(NOW), at(NOW), 5_000).await.unwrap().len()
}

on_every_store! {
    async fn sessions_that_were_begun_without_the_mark_are_found(fixture: &Fixture) {
        let store = fixture.store();
        for statement in [
            "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at)
             SELECT 'ww', 'person' || n, 'person' || n, 'P', '', '', 0 FROM numbers",
            "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
             SELECT (100000 + n) || 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'ww', 'person' || n, 3, 'dev', 'h5', n,
             9223372036854775000 FROM numbers",
        ] {
            bulk(fixture, statement, 1_100).await;
        }
        assert_eq!(to_check(store).await, 0);
        let watch = async |after| store.watch_people_with_sessions("ww".to_owned(), after).await.unwrap();
        let last = watch(None).await;
        assert!(last.is_some());
        assert_eq!(to_check(store).await, 1_000, "a page");
        assert_eq!(watch(last).await, None);
        assert_eq!(to_check(store).await, 1_100);
        // However many sessions people have, they are on one page.
        bulk(fixture, "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
             SELECT (200000 + n) || 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'wwmany', 'person' || n % 3, 3, 'dev', 'h5', n,
             9223372036854775000 FROM numbers", 1_500).await;
        assert_eq!(store.watch_people_with_sessions("wwmany".to_owned(), None).await.unwrap(), None);
        // A mark that is there stays, and a session of another corporation is of no interest.
        fixture.employ_in("wwother", "elsewhere").await;
        assert_eq!(store.watch_people_with_sessions("wwother".to_owned(), None).await.unwrap(), None);
        assert_eq!(to_check(store).await, 1_100);
    }
}

on_every_store! {
    async fn that_the_platform_showed_a_person_is_kept(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("a").await;
        sign_in(store, "a", &key("a"), 1_000, "192.0.2.1").await;
        assert!(!stored(store, &key("a")).await.seen);
        assert!(!store.person(&key("a")).await.unwrap().unwrap().seen);
        for _ in 0..2 {
            store.mark_seen(key("a")).await.unwrap();
            assert!(stored(store, &key("a")).await.seen);
            assert!(store.person(&key("a")).await.unwrap().unwrap().seen, "the cache follows");
        }
        store.mark_seen(key("nobody")).await.unwrap();
    }
}
