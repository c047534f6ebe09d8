//! An event of the platform counts once, and a leaver is locked out with it.

use deskpass_core::{IdentifiedPerson, LeftReason, LoginMethod};
use deskpass_store::{
    AuditEvent, BeginOutcome, ClaimedEvent, LogEntry, PendingEvent, Precondition, ReceivedEvent, Store,
};
use tokio::task::JoinSet;

use crate::agents::fixture::{DAY, Fixture, SKEW, agent01, at, digest, entry, leaving, new_session, on_every_store};
use crate::people::scene::{details, key, stored};

fn event(name: &str) -> ReceivedEvent {
    let change = format!("{{\"event\":\"{name}\"}}");
    let (digest, happened_at) = (digest(name), at(1_500));
    ReceivedEvent { digest, change, happened_at, is_urgent: false, is_immediate: false, leaver: None, leaving: None }
}

/// An event that says that `agent01` left.
fn left(name: &str) -> ReceivedEvent {
    let leaving = Some(leaving(&agent01(), LeftReason::Left, 2_000));
    ReceivedEvent { is_urgent: true, leaver: Some(agent01()), leaving, ..event(name) }
}

/// The same, of very many: the lock follows.
fn left_later(name: &str, id: &str) -> ReceivedEvent {
    ReceivedEvent { is_urgent: true, leaver: Some(key(id)), ..event(name) }
}

async fn receive(store: &Store, events: Vec<ReceivedEvent>) -> Vec<bool> {
    store.receive_events(events, at(2_000)).await.unwrap().is_new
}

/// The number of events that are still to be handled.
async fn claimable(store: &Store) -> usize {
    store.claim_events(at(9_000), at(9_000), 1_000).await.unwrap().len()
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
        assert_eq!(claimable(store).await, 4);
    }
}

on_every_store! {
    async fn of_very_many_leavers_each_is_locked_out_once_afterwards(fixture: &Fixture) {
        let store = fixture.store();
        let names: Vec<_> = (0..250).map(|number| format!("event {number}")).collect();
        let events: Vec<_> = names.iter().map(|name| left_later(name, &format!("person {name}"))).collect();
        fixture.session("one", LoginMethod::Oauth2, None).await;
        let mut all = events.clone();
        all.push(left_later("agent", "agent01"));
        assert_eq!(receive(store, all.clone()).await, [true; 251]);
        assert_eq!(receive(&fixture.node(1), all).await, [false; 251]);
        assert!(fixture.lives("one").await);
        let mut locked = Vec::new();
        loop {
            let waiting = store.leavers_to_lock(100).await.unwrap();
            if waiting.is_empty() {
                break;
            }
            let of = |event: &ClaimedEvent| {
                let who = if event.digest == digest("agent") { agent01() } else { key("nobody") };
                (event.digest, Some(leaving(&who, LeftReason::OutOfRange, 2_000)))
            };
            let locks: Vec<_> = waiting.iter().map(of).collect();
            locked.extend(store.lock_leavers(locks.clone()).await.unwrap());
            assert_eq!(fixture.node(1).lock_leavers(locks).await.unwrap(), [], "once");
        }
        assert_eq!(locked, [(agent01(), LeftReason::OutOfRange)]);
        assert!(!fixture.lives("one").await);
        assert_eq!(claimable(store).await, 251, "they are handled as others are");
    }
}

on_every_store! {
    async fn leavers_are_handled_first(fixture: &Fixture) {
        let store = fixture.store();
        receive(store, vec![event("a"), event("b")]).await;
        store.receive_events(vec![left("left")], at(2_001)).await.unwrap();
        let removed = ReceivedEvent { is_immediate: true, ..event("removed") };
        store.receive_events(vec![removed], at(2_002)).await.unwrap();
        let claimed = store.claim_events(at(3_000), at(9_000), 3).await.unwrap();
        assert_eq!((claimed.len(), claimed[0].digest, claimed[1].digest), (3, digest("removed"), digest("left")));
        assert_eq!(store.claim_events(at(3_000), at(9_000), 2).await.unwrap().len(), 1);
        let pending = async || store.pending_immediate_events().await.unwrap();
        let ClaimedEvent { change, received_at, happened_at, .. } = claimed[0].clone();
        assert_eq!(pending().await, [PendingEvent { change, received_at, happened_at }], "also one that a node is at");
        assert_eq!((received_at, happened_at), (at(2_002), at(1_500)));
        store.finish_event(digest("removed")).await.unwrap();
        assert!(pending().await.is_empty());
    }
}

/// A sign-in that began before may add the record afterwards.
fn newcomer(id: &str) -> IdentifiedPerson {
    let (name, none) = (Some("Newcomer".to_owned()), None);
    let employee_id = id.to_uppercase();
    IdentifiedPerson {
        key: key(id),
        employee_id,
        through: None,
        name,
        department: none.clone(),
        department_id: none.clone(),
        avatar: none.clone(),
        email: none,
        asked_at: None,
        identified_at: None,
        seen: false,
        holder: None,
    }
}

on_every_store! {
    async fn who_left_before_the_first_sign_in_ended_begins_locked(fixture: &Fixture) {
        let store = fixture.store();
        receive(store, vec![left_later("one", "late"), left_later("two", "later")]).await;
        store.upsert_person(newcomer("late"), at(2_500)).await.unwrap();
        assert_eq!(stored(store, &key("late")).await.left, Some(LeftReason::Left));
        let mut session = new_session("late", LoginMethod::Qrcode, None, Precondition::None);
        session.session.employee = key("late");
        assert_eq!(store.begin_session(session).await.unwrap(), BeginOutcome::EmployeeDisabled);
        // The platform was asked, and knows the person.
        assert!(store.mark_returned(key("late"), at(3_000), entry()).await.unwrap());
        store.upsert_person(newcomer("late"), at(3_500)).await.unwrap();
        assert_eq!(stored(store, &key("late")).await.left, None, "the record is not new any more");
        // One whom the platform was asked about after the event.
        receive(store, vec![left_later("three", "asked")]).await;
        let asked = |at_millis| IdentifiedPerson { asked_at: Some(at(at_millis)), ..newcomer("asked") };
        store.upsert_person(asked(2_000), at(2_500)).await.unwrap();
        assert_eq!(stored(store, &key("asked")).await.left, None);
        store.finish_event(digest("two")).await.unwrap();
        store.upsert_person(newcomer("later"), at(9_000)).await.unwrap();
        assert_eq!(stored(store, &key("later")).await.left, None, "the event is over");
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
            ClaimedEvent { digest, change, received_at: at(received_at), tries, happened_at: at(1_500) }
        };
        // Due at once by the clock of every node: that of the node that received it may be ahead.
        assert!(store.claim_events(at(1_999 - SKEW), at(9_000), 10).await.unwrap().is_empty());
        assert_eq!(store.claim_events(at(2_000 - SKEW), at(9_000), 1).await.unwrap(), [claimed("a", 2_000, 1)]);
        assert_eq!(store.claim_events(at(2_001), at(9_000), 10).await.unwrap(), [claimed("late", 2_001, 1)]);
        assert!(store.claim_events(at(8_999), at(9_000), 10).await.unwrap().is_empty());
        store.finish_event(digest("a")).await.unwrap();
        // It was handled meanwhile.
        store.postpone_event(digest("a"), at(5_000)).await.unwrap();
        store.postpone_event(digest("late"), at(5_000)).await.unwrap();
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

on_every_store! {
    async fn no_pending_event_is_left_out_however_many_there_are(fixture: &Fixture) {
        let store = fixture.store();
        let immediate = |number| ReceivedEvent { is_immediate: true, ..event(&format!("event {number}")) };
        receive(store, (0..1_203).map(immediate).collect()).await;
        assert_eq!(store.pending_immediate_events().await.unwrap().len(), 1_203);
    }
}
