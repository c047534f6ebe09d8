//! Sweeps delete expired records and keep those still in use.

use deskpass_core::{EmployeeKey, Role};
use deskpass_store::{AttemptKind, ChangeAuthor, PartialSessionLookup};

use crate::agents::fixture::{DAY, Fixture, HOUR, agent01, at, digest, on_every_store};

on_every_store! {
    async fn a_few_guesses_of_strangers_go_after_a_day_and_those_of_agents_stay(fixture: &Fixture) {
        let store = fixture.store();
        let stranger = EmployeeKey::from_parts("ww", "nobody");
        let (known, lost) = (AttemptKind::KnownBrowser(digest("known")), AttemptKind::KnownBrowser(digest("lost")));
        store.remember_browser(digest("known"), agent01(), at(99 * DAY)).await.unwrap();
        let namesake = EmployeeKey::from_parts("wwother", "agent01");
        fixture.employ_in("wwother", "agent01").await;
        assert!(store.add_agent(ChangeAuthor::NoSession, namesake.clone(), Role::Agent, at(0), None).await.unwrap());
        let all = [
            (agent01(), AttemptKind::Password),
            (agent01(), known),
            (agent01(), lost),
            (stranger, AttemptKind::Password),
            (namesake, known),
        ];
        for (key, trial) in &all {
            for _ in 0..4 {
                store.count_attempt(key.clone(), *trial, at(0)).await.unwrap().unwrap();
            }
        }
        assert_eq!(store.sweep(at(DAY - 1), at(0), 100).await.unwrap(), 0);
        assert_eq!(store.sweep(at(DAY), at(0), 1).await.unwrap(), 1);
        assert_eq!(store.sweep(at(DAY), at(0), 100).await.unwrap(), 2);
        assert_eq!(store.sweep(at(9 * DAY), at(0), 100).await.unwrap(), 0);
        let open = [false, false, true, true, true];
        for ((key, trial), open) in all.into_iter().zip(open) {
            store.count_attempt(key.clone(), trial, at(0)).await.unwrap().unwrap();
            assert_eq!(store.count_attempt(key, trial, at(0)).await.unwrap().is_ok(), open, "{trial:?}");
        }
    }
}

on_every_store! {
    async fn more_than_a_few_guesses_of_strangers_stay_for_a_month(fixture: &Fixture) {
        let (store, stranger) = (fixture.store(), EmployeeKey::from_parts("ww", "nobody"));
        for _ in 0..5 {
            store.count_attempt(stranger.clone(), AttemptKind::Password, at(0)).await.unwrap().unwrap();
        }
        assert_eq!(store.sweep(at(30 * DAY - 1), at(0), 100).await.unwrap(), 0);
        assert_eq!(store.sweep(at(30 * DAY), at(0), 100).await.unwrap(), 1);
        for number in 0..100 {
            store.count_attempt(stranger.clone(), AttemptKind::Password, at(number * HOUR)).await.unwrap().unwrap();
        }
        let last = 99 * HOUR;
        assert_eq!(store.sweep(at(last + 30 * DAY - 1), at(0), 100).await.unwrap(), 0);
        assert!(store.count_attempt(stranger.clone(), AttemptKind::Password, at(last + 9 * DAY)).await.unwrap().is_err());
        assert_eq!(store.sweep(at(last + 30 * DAY), at(0), 100).await.unwrap(), 1);
        assert!(store.count_attempt(stranger, AttemptKind::Password, at(last + 30 * DAY)).await.unwrap().is_ok());
    }
}

on_every_store! {
    async fn halves_browsers_and_notices_go_when_they_are_over(fixture: &Fixture) {
        let store = fixture.store();
        fixture.set_password("hash").await;
        assert!(fixture.half("half", "hash").await);
        store.remember_browser(digest("browser"), agent01(), at(DAY)).await.unwrap();
        assert_eq!(store.sweep(at(DAY - 1), at(599_999), 100).await.unwrap(), 0);
        assert_eq!(store.sweep(at(DAY - 1), at(600_000), 100).await.unwrap(), 1);
        assert!(matches!(store.partial_session(&digest("half")).await.unwrap(), PartialSessionLookup::NotFound));
        assert_eq!(store.sweep(at(DAY), at(0), 100).await.unwrap(), 1);
        assert!(!store.is_browser_known_to(digest("browser"), agent01(), at(0)).await.unwrap());
        assert_eq!(store.sweep(at(2 * DAY), at(0), 100).await.unwrap(), 0);
        assert_eq!(store.sweep(at(2 * DAY + 1), at(0), 100).await.unwrap(), 2);
        assert!(store.claim_notices(at(9 * DAY), at(9 * DAY), 100).await.unwrap().is_empty());
    }
}
