//! Partial sessions.

use deskpass_core::{Digest, LoginMethod};
use deskpass_store::{BeginOutcome, ChangeAuthor, EndReason, PartialSessionLookup, Precondition};

use crate::agents::fixture::{DAY, Fixture, agent01, at, digest, entry, new_session, on_every_store};

/// The end of a partial session: `None` while it is valid.
async fn ended(fixture: &Fixture, name: &str) -> Option<Option<EndReason>> {
    match fixture.store().partial_session(&digest(name)).await.unwrap() {
        PartialSessionLookup::Found(half) => {
            assert_eq!((half.digest, half.employee, half.expires_at), (digest(name), agent01(), at(600_000)));
            None
        }
        PartialSessionLookup::Denied(why) => Some(Some(why)),
        PartialSessionLookup::NotFound => Some(None),
    }
}

async fn complete(fixture: &Fixture, session: &str, half: Digest) -> BeginOutcome {
    let new_session = new_session(session, LoginMethod::Password, None, Precondition::PartialSession(half));
    fixture.store().begin_session(new_session).await.unwrap()
}

on_every_store! {
    async fn a_half_is_completed_once(fixture: &Fixture) {
        fixture.set_password("hash").await;
        assert!(fixture.half("half", "hash").await);
        assert_eq!(ended(fixture, "half").await, None);
        assert_eq!(complete(fixture, "one", digest("half")).await, BeginOutcome::Begun);
        assert_eq!(complete(fixture, "two", digest("half")).await, BeginOutcome::PreconditionFailed);
        assert!(fixture.lives("one").await && !fixture.lives("two").await);
        assert_eq!(ended(fixture, "half").await, Some(None));
        assert!(!fixture.store().end_partial_session(digest("half"), at(DAY)).await.unwrap());
        // A retry of the same sign-in finds its session. Once that has ended, a retry does not bring it back.
        assert_eq!(complete(fixture, "one", digest("half")).await, BeginOutcome::AlreadyBegun);
        assert!(fixture.store().end_session(digest("one"), at(DAY), entry()).await.unwrap());
        assert_eq!(complete(fixture, "one", digest("half")).await, BeginOutcome::PreconditionFailed);
        assert!(!fixture.lives("one").await);
    }
}

on_every_store! {
    async fn a_half_that_was_ended_or_has_expired_completes_nothing(fixture: &Fixture) {
        fixture.set_password("hash").await;
        assert!(fixture.half("half", "hash").await);
        assert!(fixture.store().end_partial_session(digest("half"), at(DAY)).await.unwrap());
        assert_eq!(ended(fixture, "half").await, Some(Some(EndReason::SignedOut)));
        assert_eq!(complete(fixture, "one", digest("half")).await, BeginOutcome::PreconditionFailed);
        assert!(fixture.half("late", "hash").await);
        let mut new_session = new_session("two", LoginMethod::Password, None, Precondition::PartialSession(digest("late")));
        new_session.session.created_at = at(600_000);
        assert_eq!(fixture.store().begin_session(new_session).await.unwrap(), BeginOutcome::PreconditionFailed);
        assert_eq!(complete(fixture, "three", digest("nothing")).await, BeginOutcome::PreconditionFailed);
    }
}

on_every_store! {
    async fn a_half_is_good_for_its_own_agent_alone(fixture: &Fixture) {
        fixture.set_password("hash").await;
        fixture.employ("agent02").await;
        let other = deskpass_core::EmployeeKey::from_parts("ww", "agent02");
        fixture.store().add_agent(ChangeAuthor::NoSession, other.clone(), deskpass_core::Role::Admin, at(0), None).await.unwrap();
        assert!(fixture.half("half", "hash").await);
        let mut new_session = new_session("one", LoginMethod::Password, None, Precondition::PartialSession(digest("half")));
        new_session.session.employee = other;
        assert_eq!(fixture.store().begin_session(new_session).await.unwrap(), BeginOutcome::PreconditionFailed);
        assert_eq!(complete(fixture, "two", digest("half")).await, BeginOutcome::Begun);
    }
}

on_every_store! {
    async fn nothing_begins_without_the_password_that_counts(fixture: &Fixture) {
        assert!(!fixture.half("none yet", "hash").await);
        fixture.set_password("hash").await;
        assert!(!fixture.half("another", "old hash").await);
        assert_eq!(ended(fixture, "another").await, Some(None));
        fixture.store().disable_agent(ChangeAuthor::NoSession, agent01(), at(DAY), entry()).await.unwrap();
        assert!(!fixture.half("disabled", "hash").await);
        assert!(fixture.store().enable_agent(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap());
        assert!(fixture.half("enabled", "hash").await);
    }
}

on_every_store! {
    async fn a_disabled_employee_has_no_partial_session(fixture: &Fixture) {
        let store = fixture.store();
        fixture.set_password("hash").await;
        assert!(fixture.half("agent", "hash").await);
        store.disable_agent(ChangeAuthor::NoSession, agent01(), at(DAY), entry()).await.unwrap();
        assert_eq!(ended(fixture, "agent").await, Some(Some(EndReason::Disabled)));
        assert_eq!(complete(fixture, "one", digest("agent")).await, BeginOutcome::PreconditionFailed);
        store.enable_agent(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap();
        assert_eq!(ended(fixture, "agent").await, Some(Some(EndReason::Disabled)), "for good");
        assert!(fixture.half("employee", "hash").await);
        store.disable(ChangeAuthor::NoSession, agent01(), true, at(DAY), entry()).await.unwrap();
        assert!(!fixture.half("other", "hash").await);
        assert_eq!(ended(fixture, "employee").await, Some(Some(EndReason::Disabled)));
        store.enable(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap();
        assert_eq!(complete(fixture, "two", digest("employee")).await, BeginOutcome::PreconditionFailed);
    }
}
