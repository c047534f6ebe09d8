//! Ending all sessions: what else ends, and sessions that a clock which is behind dates back.

use deskpass_core::{LoginMethod, TotpStep};
use deskpass_store::{ChangeAuthor, EndedBatch, LogEntry, Store};

use crate::agents::fixture::{DAY, Fixture, HOUR, agent01, at, binding, entry, on_every_store, pending, used};

/// Runs a step at this time, for sessions that began before two seconds.
async fn step(store: &Store, after: Option<String>) -> EndedBatch {
    let entry = LogEntry { at: at(5_000), ..entry() };
    store.end_all_sessions(Some(at(2_000)), after, at(DAY), entry).await.unwrap()
}

on_every_store! {
    async fn used_codes_end_too(fixture: &Fixture) {
        fixture.bind("sealed", &[]).await;
        let store = fixture.store();
        let entry = LogEntry { at: at(HOUR), ..entry() };
        let ended = store.end_all_sessions(None, None, at(DAY), entry).await.unwrap();
        assert_eq!(ended, EndedBatch { ended: 0, next: None });
        let current = TotpStep::at(at(HOUR)).number();
        for (number, is_accepted) in [(current, false), (current + 1, false), (current + 2, true)] {
            let outcome = store.use_totp_step(ChangeAuthor::NoSession, used("sealed", number)).await.unwrap();
            assert_eq!(outcome, is_accepted, "{number}");
        }
    }
}

on_every_store! {
    async fn a_setup_under_way_ends_too(fixture: &Fixture) {
        let store = fixture.store();
        assert!(store.begin_device(ChangeAuthor::NoSession, agent01(), pending("sealed", DAY), at(0)).await.unwrap());
        step(store, None).await;
        assert!(!store.bind_device(ChangeAuthor::NoSession, binding("sealed", &[])).await.unwrap());
    }
}

on_every_store! {
    async fn a_session_that_is_dated_back_meanwhile_ends_too(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("first", LoginMethod::Oauth2, None).await;
        let passed = step(store, None).await;
        assert_eq!(passed, EndedBatch { ended: 1, next: Some(String::new()) });
        fixture.session("second", LoginMethod::Oauth2, None).await;
        let passed = step(store, passed.next).await;
        assert_eq!(passed.ended, 1);
        assert_eq!(step(store, passed.next).await, EndedBatch { ended: 0, next: None });
        assert!(!fixture.lives("first").await && !fixture.lives("second").await);
    }
}
