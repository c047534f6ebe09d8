//! A refresh token gives one successor.

use deskpass_store::{AuditEvent, ChangeAuthor, RefreshOutcome, RefreshRequest};

use crate::agents::fixture::{DAY, Fixture, HOUR, agent01, at, digest, entry, on_every_store};
use crate::oidc::scene::{
    access, deliver, grant, is_live, logged, refresh, refresh_at, refreshing, sid, signed_in, told,
};

on_every_store! {
    async fn a_token_is_used_once_and_repeated_for_ten_seconds(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        let known = grant(store, "first").await.unwrap();
        assert_eq!(refresh_at(store, "first", 5_000).await, RefreshOutcome::Rotated(known.clone(), at(5_000)));
        assert_eq!(store.refresh_used_at(refresh("first")).await.unwrap(), Some(at(5_000)));
        let again = refresh_at(&fixture.node(1), "first", 14_999).await;
        assert_eq!(again, RefreshOutcome::Repeated(known.clone(), at(5_000)));
        let next = store.oidc_access(&access("first+")).await.unwrap().unwrap();
        assert_eq!((next.expires_at, &next.grant), (at(905_000), &known));
        assert_eq!(refresh_at(store, "first+", 6_000).await, RefreshOutcome::Rotated(known, at(6_000)));
        assert!(is_live(store, "first").await && told(store).await.is_empty());
        // A clock that is behind.
        assert!(matches!(refresh_at(store, "first", 4_000).await, RefreshOutcome::Repeated(..)));
    }
}

on_every_store! {
    async fn a_late_second_use_ends_the_grant(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        assert!(matches!(refresh_at(store, "first", 5_000).await, RefreshOutcome::Rotated(..)));
        let RefreshOutcome::Reused(ended) = refresh_at(&fixture.node(1), "first", 15_000).await else { panic!("it is late") };
        assert_eq!((ended.ended_at, &*ended.id), (Some(at(15_000)), "first"));
        assert_eq!(logged(store, AuditEvent::OidcReused).await, 1);
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
        for name in ["first", "first+"] {
            assert_eq!(refresh_at(store, name, 15_000).await, RefreshOutcome::Invalid, "{name}");
        }
        assert_eq!(logged(store, AuditEvent::OidcReused).await, 1);
    }
}

on_every_store! {
    async fn a_token_is_of_one_client_and_no_longer_than_its_session(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        let another = RefreshRequest { client_id: "wiki".to_owned(), ..refreshing("first", 5_000) };
        assert_eq!(store.refresh_grant(another).await.unwrap(), RefreshOutcome::Invalid);
        assert_eq!(refresh_at(store, "first", 8 * HOUR).await, RefreshOutcome::Invalid);
        assert_eq!(refresh_at(store, "unknown", 5_000).await, RefreshOutcome::Invalid);
        assert!(matches!(refresh_at(store, "first", 8 * HOUR - 1_000).await, RefreshOutcome::Rotated(..)));
        assert_eq!(store.oidc_access(&access("first+")).await.unwrap().unwrap().expires_at, at(8 * HOUR));
        assert!(store.end_session(digest("first"), at(DAY), entry()).await.unwrap());
        assert_eq!(refresh_at(store, "first+", 9_000).await, RefreshOutcome::Invalid);
    }
}

on_every_store! {
    async fn a_disabled_employee_refreshes_nothing(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        store.disable(ChangeAuthor::NoSession, agent01(), true, at(DAY), entry()).await.unwrap();
        assert_eq!(refresh_at(&fixture.node(1), "first", 5_000).await, RefreshOutcome::Invalid);
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
    }
}
