//! Each end of a session is delivered to its clients by one node.

use deskpass_store::{LogoutBacklog, LogoutNotice, Store};
use tokio::task::JoinSet;

use crate::agents::fixture::{DAY, Fixture, SKEW, at, entry, on_every_store};
use crate::oidc::scene::{begin, sid, signed_in};

/// Claims the ends that the client `desk` is to be told, at one time and until another.
async fn claim(store: &Store, now: i64, until: i64) -> Vec<LogoutNotice> {
    store.claim_logouts_of("desk".to_owned(), at(now), at(until), 10).await.unwrap()
}

on_every_store! {
    async fn an_end_is_due_until_it_was_delivered(fixture: &Fixture) {
        let store = fixture.store();
        let due_clients = async |now| store.due_logout_clients(at(now), 10).await.unwrap();
        assert!(due_clients(9).await.is_empty() && claim(store, 9, 60).await.is_empty());
        signed_in(fixture, "first").await;
        assert!(store.end_grant("first".to_owned(), at(3_000), true, None).await.unwrap());
        // Due at once by the clock of every node: that of the node that wrote it may be ahead.
        let due_at = 3_000 - SKEW;
        assert!(due_clients(due_at - 1).await.is_empty() && claim(store, due_at - 1, 9_000).await.is_empty());
        assert_eq!(due_clients(due_at).await, ["desk"]);
        let due = claim(store, due_at, 4_000).await;
        assert_eq!((due.len(), &*due[0].sid, &*due[0].client_id), (1, &*sid("first", "desk"), "desk"));
        assert_eq!((&*due[0].subject, due[0].at, due[0].tries, &*due[0].status), ("subject of agent01", at(3_000), 0, ""));
        assert!(due_clients(3_999).await.is_empty() && claim(store, 3_999, 4_999).await.is_empty());
        assert_eq!(claim(store, 4_000, 4_500).await[0].tries, 0, "nothing was tried");
        store.postpone_logout(due[0].sid.clone(), due[0].at, at(5_000), "HTTP 500".to_owned()).await.unwrap();
        assert!(claim(store, 4_999, 9_000).await.is_empty());
        let again = claim(store, 5_000, 6_000).await;
        assert_eq!((again[0].tries, &*again[0].status), (1, "HTTP 500"));
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
        let first = claim(store, 3_000, 9_000).await.remove(0);
        store.postpone_logout(first.sid.clone(), first.at, at(4_000), "HTTP 500".to_owned()).await.unwrap();
        begin(store, "first", "desk", "second").await;
        // At the same time, by the clock.
        assert!(store.end_grant("second".to_owned(), at(3_000), true, None).await.unwrap());
        store.postpone_logout(first.sid.clone(), first.at, at(DAY), "late".to_owned()).await.unwrap();
        store.delete_logout(first.sid.clone(), first.at).await.unwrap();
        let second = claim(store, 3_000, 9_000).await.remove(0);
        assert_eq!((&second.sid, second.tries), (&first.sid, 0));
        assert_ne!(second.at, first.at);
    }
}

on_every_store! {
    async fn of_many_nodes_that_deliver_one_has_each(fixture: &Fixture) {
        for number in 0..40 {
            signed_in(fixture, &format!("session {number}")).await;
        }
        let due = fixture.store().logouts_due();
        assert_eq!(fixture.store().end_all_sessions(None, None, at(DAY), entry()).await.unwrap().ended, 40);
        due.notified().await;
        let mut tasks = JoinSet::new();
        for number in 0..16 {
            let node = fixture.node(number);
            tasks.spawn(async move { node.claim_logouts_of("desk".to_owned(), at(5_000), at(9_000), 5).await.unwrap() });
        }
        let mut claimed: Vec<_> = tasks.join_all().await.concat();
        claimed.extend(fixture.store().claim_logouts_of("desk".to_owned(), at(5_000), at(9_000), 100).await.unwrap());
        let mut once: Vec<_> = claimed.iter().map(|notice| &*notice.sid).collect();
        once.sort_unstable();
        once.dedup();
        assert_eq!((once.len(), claimed.len()), (40, 40));
    }
}

on_every_store! {
    async fn a_client_with_a_long_queue_does_not_delay_the_others(fixture: &Fixture) {
        let store = fixture.store();
        for number in 0..20 {
            signed_in(fixture, &format!("session {number}")).await;
        }
        for client in ["admin", "wiki", "zulip"] {
            begin(store, "session 0", client, client).await;
        }
        assert_eq!(store.end_all_sessions(None, None, at(DAY), entry()).await.unwrap().ended, 20);
        let due = async |limit| store.due_logout_clients(at(5_000), limit).await.unwrap();
        assert_eq!(due(10).await, ["admin", "desk", "wiki", "zulip"]);
        assert_eq!(due(2).await, ["admin", "desk"]);
        let claim = async |client: &str| store.claim_logouts_of(client.to_owned(), at(5_000), at(9_000), 15).await.unwrap();
        assert_eq!((claim("wiki").await.len(), claim("desk").await.len()), (1, 15));
        assert_eq!(due(10).await, ["admin", "desk", "zulip"], "five of the others wait");
        assert_eq!((claim("desk").await.len(), claim("desk").await.len()), (5, 0));
        assert_eq!(due(10).await, ["admin", "zulip"]);
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
