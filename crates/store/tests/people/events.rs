//! An event of the platform counts once, and a leaver is locked out with it.

use deskpass_core::{LeftReason, LoginMethod};
use deskpass_store::{AuditEvent, ClaimedEvent, LogEntry, ReceivedEvent, Store};
use tokio::task::JoinSet;

use crate::agents::fixture::{DAY, Fixture, agent01, at, digest, entry, leaving, on_every_store};
use crate::people::scene::{details, stored};

fn event(name: &str) -> ReceivedEvent {
    ReceivedEvent { digest: digest(name), change: format!("{{\"event\":\"{name}\"}}"), leaving: None }
}

/// An event that says that `agent01` left.
fn left(name: &str) -> ReceivedEvent {
    ReceivedEvent { leaving: Some(leaving(&agent01(), LeftReason::Left, 2_000)), ..event(name) }
}

async fn receive(store: &Store, events: Vec<ReceivedEvent>) -> Vec<bool> {
    store.receive_events(events, at(2_000)).await.unwrap()
}

on_every_store! {
    async fn an_event_counts_once_and_locks_its_leaver_out(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("one", LoginMethod::Oauth2, None).await;
        assert_eq!(receive(store, Vec::new()).await, [false; 0]);
        assert_eq!(receive(&fixture.node(1), vec![event("a"), left("b"), event("a")]).await, [true, true, false]);
        assert!(!fixture.lives("one").await);
        assert_eq!(stored(store, &agent01()).await.left, Some(LeftReason::Left));
        assert_eq!(details(store, "ww", AuditEvent::EmployeeLeft).await, ["left; 1 session(s) ended"]);
        let returned = LogEntry { event: AuditEvent::EmployeeReturned, ..entry() };
        assert!(store.mark_returned(agent01(), at(3_000), returned).await.unwrap());
        assert_eq!(receive(store, vec![event("c"), left("b")]).await, [true, false]);
        assert_eq!(stored(store, &agent01()).await.left, None, "a second delivery changes nothing");
        assert_eq!(receive(store, vec![left("d")]).await, [true]);
        assert_eq!(stored(store, &agent01()).await.left, Some(LeftReason::Left));
        assert_eq!(store.pending_events().await.unwrap(), 4);
    }
}

on_every_store! {
    async fn of_concurrent_deliveries_one_counts(fixture: &Fixture) {
        for round in 0..5 {
            fixture.session(&format!("session {round}"), LoginMethod::Oauth2, None).await;
            let mut tasks = JoinSet::new();
            for number in 0..16 {
                let node = fixture.node(number);
                // In any order.
                let mut events = vec![left(&format!("left {round}")), event(&format!("other {round}"))];
                if number % 3 == 0 {
                    events.reverse();
                }
                tasks.spawn(async move { receive(&node, events).await });
            }
            let new = tasks.join_all().await.concat().into_iter().filter(|is_new| *is_new).count();
            assert_eq!(new, 2, "round {round}");
            assert!(!fixture.lives(&format!("session {round}")).await, "round {round}");
            assert!(fixture.store().mark_returned(agent01(), at(3_000), entry()).await.unwrap());
        }
        assert_eq!(details(fixture.store(), "ww", AuditEvent::EmployeeLeft).await, ["left; 1 session(s) ended"; 5]);
    }
}

on_every_store! {
    async fn an_event_is_due_until_it_is_handled(fixture: &Fixture) {
        let store = fixture.store();
        assert!(store.claim_events(at(9_000), at(9_000), 10).await.unwrap().is_empty());
        store.receive_events(vec![event("late")], at(2_001)).await.unwrap();
        receive(store, vec![event("a")]).await;
        let claimed = |name: &str, received_at, tries| {
            let ReceivedEvent { digest, change, .. } = event(name);
            ClaimedEvent { digest, change, received_at: at(received_at), tries }
        };
        assert!(store.claim_events(at(1_999), at(9_000), 10).await.unwrap().is_empty());
        assert_eq!(store.claim_events(at(2_001), at(9_000), 1).await.unwrap(), [claimed("a", 2_000, 1)]);
        assert_eq!(store.claim_events(at(2_001), at(9_000), 10).await.unwrap(), [claimed("late", 2_001, 1)]);
        assert!(store.claim_events(at(8_999), at(9_000), 10).await.unwrap().is_empty());
        store.finish_event(digest("a")).await.unwrap();
        // It was handled meanwhile.
        store.postpone_event(digest("a"), at(5_000)).await.unwrap();
        store.postpone_event(digest("late"), at(5_000)).await.unwrap();
        assert_eq!(store.pending_events().await.unwrap(), 1);
        assert_eq!(store.claim_events(at(5_000), at(9_000), 10).await.unwrap(), [claimed("late", 2_001, 2)]);
        assert_eq!(receive(store, vec![event("a")]).await, [false], "it is recognised after it was handled");
    }
}

on_every_store! {
    async fn of_many_nodes_one_handles_each_event(fixture: &Fixture) {
        receive(fixture.store(), (0..40).map(|number| event(&number.to_string())).collect()).await;
        let mut tasks = JoinSet::new();
        for number in 0..16 {
            let node = fixture.node(number);
            tasks.spawn(async move { node.claim_events(at(2_000), at(9_000), 5).await.unwrap() });
        }
        let claimed = tasks.join_all().await.concat();
        let rest = fixture.store().claim_events(at(2_000), at(9_000), 100).await.unwrap();
        assert_eq!(claimed.len() + rest.len(), 40);
        assert!(claimed.iter().all(|event| event.tries == 1));
    }
}

on_every_store! {
    async fn an_event_is_recognised_for_three_days(fixture: &Fixture) {
        let store = fixture.store();
        receive(store, vec![event("handled"), event("pending")]).await;
        store.finish_event(digest("handled")).await.unwrap();
        assert_eq!(store.sweep(at(3 * DAY + 1_999), at(0), 100).await.unwrap(), 0);
        assert_eq!(receive(store, vec![event("handled")]).await, [false]);
        assert_eq!(store.sweep(at(3 * DAY + 2_000), at(0), 100).await.unwrap(), 2);
        assert_eq!(receive(store, vec![event("handled")]).await, [true]);
    }
}
