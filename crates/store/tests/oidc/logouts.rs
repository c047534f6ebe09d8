//! Each end of a session is delivered to its clients by one node.

use deskpass_store::LogoutBacklog;
use tokio::task::JoinSet;

use crate::agents::fixture::{DAY, Fixture, at, digest, entry, on_every_store};
use crate::oidc::scene::{begin, sid, signed_in};

on_every_store! {
    async fn an_end_is_due_until_it_was_delivered(fixture: &Fixture) {
        let store = fixture.store();
        assert!(store.claim_logouts(at(9), at(60), 10).await.unwrap().is_empty());
        signed_in(fixture, "first").await;
        assert!(store.end_grant("first".to_owned(), at(3_000), true, None).await.unwrap());
        assert!(store.claim_logouts(at(2_999), at(9_000), 10).await.unwrap().is_empty());
        let due = store.claim_logouts(at(3_000), at(4_000), 10).await.unwrap();
        assert_eq!((due.len(), &*due[0].sid, &*due[0].client_id), (1, &*sid("first", "desk"), "desk"));
        assert_eq!((&*due[0].subject, due[0].at, due[0].tries, &*due[0].status), ("subject of agent01", at(3_000), 1, ""));
        assert!(store.claim_logouts(at(3_999), at(4_999), 10).await.unwrap().is_empty());
        store.postpone_logout(due[0].sid.clone(), due[0].at, at(5_000), "HTTP 500".to_owned()).await.unwrap();
        assert!(store.claim_logouts(at(4_999), at(9_000), 10).await.unwrap().is_empty());
        let again = store.claim_logouts(at(5_000), at(6_000), 10).await.unwrap();
        assert_eq!((again[0].tries, &*again[0].status), (2, "HTTP 500"));
        let (client_id, last_status) = ("desk".to_owned(), "HTTP 500".to_owned());
        let backlog = LogoutBacklog { client_id, count: 1, oldest: at(3_000), last_status };
        assert_eq!(store.pending_logouts().await.unwrap(), [backlog]);
        store.delete_logout(again[0].sid.clone(), again[0].at).await.unwrap();
        assert!(store.pending_logouts().await.unwrap().is_empty());
    }
}

on_every_store! {
    async fn a_second_end_is_not_lost_with_the_first(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        assert!(store.end_grant("first".to_owned(), at(3_000), true, None).await.unwrap());
        let first = store.claim_logouts(at(3_000), at(9_000), 10).await.unwrap().remove(0);
        begin(store, "first", "desk", "second").await;
        // At the same time, by the clock.
        assert!(store.end_grant("second".to_owned(), at(3_000), true, None).await.unwrap());
        store.postpone_logout(first.sid.clone(), first.at, at(DAY), "late".to_owned()).await.unwrap();
        store.delete_logout(first.sid.clone(), first.at).await.unwrap();
        let second = store.claim_logouts(at(3_000), at(9_000), 10).await.unwrap().remove(0);
        assert_eq!((&second.sid, second.tries), (&first.sid, 1));
        assert_ne!(second.at, first.at);
    }
}

on_every_store! {
    async fn of_many_nodes_that_deliver_one_has_each(fixture: &Fixture) {
        fixture.session("first", deskpass_core::LoginMethod::Oauth2, None).await;
        for number in 0..40 {
            begin(fixture.store(), "first", &format!("client {number}"), &format!("grant {number}")).await;
        }
        let due = fixture.store().logouts_due();
        assert!(fixture.store().end_session(digest("first"), at(DAY), entry()).await.unwrap());
        due.notified().await;
        let mut tasks = JoinSet::new();
        for number in 0..16 {
            let node = fixture.node(number);
            tasks.spawn(async move { node.claim_logouts(at(5_000), at(9_000), 5).await.unwrap() });
        }
        let mut claimed: Vec<_> = tasks.join_all().await.concat();
        claimed.extend(fixture.store().claim_logouts(at(5_000), at(9_000), 100).await.unwrap());
        assert!(claimed.iter().all(|notice| notice.tries == 1));
        let mut once: Vec<_> = claimed.iter().map(|notice| &*notice.sid).collect();
        once.sort_unstable();
        once.dedup();
        assert_eq!((once.len(), claimed.len()), (40, 40));
    }
}

on_every_store! {
    async fn what_cannot_be_delivered_for_two_days_is_dropped(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        assert!(store.end_grant("first".to_owned(), at(DAY), true, None).await.unwrap());
        store.sweep(at(3 * DAY - 1), at(0), 100).await.unwrap();
        assert_eq!(store.pending_logouts().await.unwrap().len(), 1);
        assert_eq!(store.sweep(at(3 * DAY), at(0), 100).await.unwrap(), 1);
        assert!(store.pending_logouts().await.unwrap().is_empty());
    }
}
