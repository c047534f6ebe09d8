//! Partial sessions.

use deskpass_core::{Digest, LoginMethod};
use deskpass_store::{BeginOutcome, ChangeAuthor, EndReason, PartialSessionLookup, Precondition};

use crate::agents::desk::{DAY, Desk, agent01, at, digest, entry, new_session, on_every_store};

/// The end of a partial session: `None` while it is valid.
async fn ended(desk: &Desk, name: &str) -> Option<Option<EndReason>> {
    match desk.store().partial_session(&digest(name)).await.unwrap() {
        PartialSessionLookup::Found(half) => {
            assert_eq!((half.digest, half.employee, half.expires_at), (digest(name), agent01(), at(600_000)));
            None
        }
        PartialSessionLookup::Denied(why) => Some(Some(why)),
        PartialSessionLookup::NotFound => Some(None),
    }
}

async fn complete(desk: &Desk, session: &str, half: Digest) -> BeginOutcome {
    let new_session = new_session(session, LoginMethod::Password, None, Precondition::PartialSession(half));
    desk.store().begin_session(new_session).await.unwrap()
}

on_every_store! {
    async fn a_half_is_completed_once(desk: &Desk) {
        desk.set_password("hash").await;
        assert!(desk.half("half", "hash").await);
        assert_eq!(ended(desk, "half").await, None);
        assert_eq!(complete(desk, "one", digest("half")).await, BeginOutcome::Begun);
        assert_eq!(complete(desk, "two", digest("half")).await, BeginOutcome::PreconditionFailed);
        assert!(desk.lives("one").await && !desk.lives("two").await);
        assert_eq!(ended(desk, "half").await, Some(None));
        assert!(!desk.store().end_partial_session(digest("half"), at(DAY)).await.unwrap());
    }
}

on_every_store! {
    async fn a_half_that_was_ended_or_has_expired_completes_nothing(desk: &Desk) {
        desk.set_password("hash").await;
        assert!(desk.half("half", "hash").await);
        assert!(desk.store().end_partial_session(digest("half"), at(DAY)).await.unwrap());
        assert_eq!(ended(desk, "half").await, Some(Some(EndReason::SignedOut)));
        assert_eq!(complete(desk, "one", digest("half")).await, BeginOutcome::PreconditionFailed);
        assert!(desk.half("late", "hash").await);
        let mut new_session = new_session("two", LoginMethod::Password, None, Precondition::PartialSession(digest("late")));
        new_session.session.created_at = at(600_000);
        assert_eq!(desk.store().begin_session(new_session).await.unwrap(), BeginOutcome::PreconditionFailed);
        assert_eq!(complete(desk, "three", digest("nothing")).await, BeginOutcome::PreconditionFailed);
    }
}

on_every_store! {
    async fn a_half_is_good_for_its_own_agent_alone(desk: &Desk) {
        desk.set_password("hash").await;
        desk.employ("agent02").await;
        let other = deskpass_core::EmployeeKey::from_parts("ww", "agent02");
        desk.store().add_agent(ChangeAuthor::NoSession, other.clone(), deskpass_core::Role::Admin, at(0), None).await.unwrap();
        assert!(desk.half("half", "hash").await);
        let mut new_session = new_session("one", LoginMethod::Password, None, Precondition::PartialSession(digest("half")));
        new_session.session.employee = other;
        assert_eq!(desk.store().begin_session(new_session).await.unwrap(), BeginOutcome::PreconditionFailed);
        assert_eq!(complete(desk, "two", digest("half")).await, BeginOutcome::Begun);
    }
}

on_every_store! {
    async fn nothing_begins_without_the_password_that_counts(desk: &Desk) {
        assert!(!desk.half("none yet", "hash").await);
        desk.set_password("hash").await;
        assert!(!desk.half("another", "old hash").await);
        assert_eq!(ended(desk, "another").await, Some(None));
        desk.store().disable_agent(ChangeAuthor::NoSession, agent01(), at(DAY), entry()).await.unwrap();
        assert!(!desk.half("disabled", "hash").await);
        assert!(desk.store().enable_agent(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap());
        assert!(desk.half("enabled", "hash").await);
    }
}

on_every_store! {
    async fn a_disabled_employee_has_no_partial_session(desk: &Desk) {
        let store = desk.store();
        desk.set_password("hash").await;
        assert!(desk.half("agent", "hash").await);
        store.disable_agent(ChangeAuthor::NoSession, agent01(), at(DAY), entry()).await.unwrap();
        assert_eq!(ended(desk, "agent").await, Some(Some(EndReason::Disabled)));
        assert_eq!(complete(desk, "one", digest("agent")).await, BeginOutcome::PreconditionFailed);
        store.enable_agent(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap();
        assert_eq!(ended(desk, "agent").await, Some(Some(EndReason::Disabled)), "for good");
        assert!(desk.half("employee", "hash").await);
        store.disable(ChangeAuthor::NoSession, agent01(), true, at(DAY), entry()).await.unwrap();
        assert!(!desk.half("other", "hash").await);
        assert_eq!(ended(desk, "employee").await, Some(Some(EndReason::Disabled)));
        store.enable(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap();
        assert_eq!(complete(desk, "two", digest("employee")).await, BeginOutcome::PreconditionFailed);
    }
}
