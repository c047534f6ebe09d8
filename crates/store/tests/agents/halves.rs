//! Sign-ins that are half done.

use deskpass_core::{Digest, LoginMethod};
use deskpass_store::{Beginning, By, Ended, Grounds, HalfFound};

use crate::desk::{DAY, Desk, agent01, at, birth, digest, entry, on_every_store};

/// What became of a half: `None` when it stands.
async fn ended(desk: &Desk, name: &str) -> Option<Option<Ended>> {
    match desk.store().half(&digest(name)).await.unwrap() {
        HalfFound::Half(half) => {
            assert_eq!((half.digest, half.employee, half.expires_at), (digest(name), agent01(), at(600_000)));
            None
        }
        HalfFound::Denied(why) => Some(Some(why)),
        HalfFound::Nothing => Some(None),
    }
}

async fn complete(desk: &Desk, session: &str, half: Digest) -> Beginning {
    let birth = birth(session, LoginMethod::Password, None, Grounds::Half(half));
    desk.store().begin_session(birth).await.unwrap()
}

on_every_store! {
    async fn a_half_is_completed_once(desk: &Desk) {
        desk.set_password("hash").await;
        assert!(desk.half("half", "hash").await);
        assert_eq!(ended(desk, "half").await, None);
        assert_eq!(complete(desk, "one", digest("half")).await, Beginning::Begun);
        assert_eq!(complete(desk, "two", digest("half")).await, Beginning::Groundless);
        assert!(desk.lives("one").await && !desk.lives("two").await);
        assert_eq!(ended(desk, "half").await, Some(None));
        assert!(!desk.store().end_half(digest("half"), at(DAY)).await.unwrap());
    }
}

on_every_store! {
    async fn a_half_that_was_ended_or_has_expired_completes_nothing(desk: &Desk) {
        desk.set_password("hash").await;
        assert!(desk.half("half", "hash").await);
        assert!(desk.store().end_half(digest("half"), at(DAY)).await.unwrap());
        assert_eq!(ended(desk, "half").await, Some(Some(Ended::SignedOut)));
        assert_eq!(complete(desk, "one", digest("half")).await, Beginning::Groundless);
        assert!(desk.half("late", "hash").await);
        let mut birth = birth("two", LoginMethod::Password, None, Grounds::Half(digest("late")));
        birth.session.created_at = at(600_000);
        assert_eq!(desk.store().begin_session(birth).await.unwrap(), Beginning::Groundless);
        assert_eq!(complete(desk, "three", digest("nothing")).await, Beginning::Groundless);
    }
}

on_every_store! {
    async fn a_half_is_good_for_its_own_agent_alone(desk: &Desk) {
        desk.set_password("hash").await;
        desk.employ("agent02").await;
        let other = deskpass_core::EmployeeKey::from_parts("ww", "agent02");
        desk.store().add_agent(By::NoSession, other.clone(), deskpass_core::Role::Admin, at(0), None).await.unwrap();
        assert!(desk.half("half", "hash").await);
        let mut birth = birth("one", LoginMethod::Password, None, Grounds::Half(digest("half")));
        birth.session.employee = other;
        assert_eq!(desk.store().begin_session(birth).await.unwrap(), Beginning::Groundless);
        assert_eq!(complete(desk, "two", digest("half")).await, Beginning::Begun);
    }
}

on_every_store! {
    async fn nothing_begins_without_the_password_that_counts(desk: &Desk) {
        assert!(!desk.half("none yet", "hash").await);
        desk.set_password("hash").await;
        assert!(!desk.half("another", "old hash").await);
        assert_eq!(ended(desk, "another").await, Some(None));
        desk.store().disable_agent(By::NoSession, agent01(), at(DAY), entry()).await.unwrap();
        assert!(!desk.half("disabled", "hash").await);
        assert!(desk.store().enable_agent(By::NoSession, agent01(), entry()).await.unwrap());
        assert!(desk.half("enabled", "hash").await);
    }
}

on_every_store! {
    async fn whoever_is_shut_out_has_no_half(desk: &Desk) {
        let store = desk.store();
        desk.set_password("hash").await;
        assert!(desk.half("agent", "hash").await);
        store.disable_agent(By::NoSession, agent01(), at(DAY), entry()).await.unwrap();
        assert_eq!(ended(desk, "agent").await, Some(Some(Ended::Disabled)));
        assert_eq!(complete(desk, "one", digest("agent")).await, Beginning::Groundless);
        store.enable_agent(By::NoSession, agent01(), entry()).await.unwrap();
        assert_eq!(ended(desk, "agent").await, Some(Some(Ended::Disabled)), "for good");
        assert!(desk.half("employee", "hash").await);
        store.disable(By::NoSession, agent01(), true, at(DAY), entry()).await.unwrap();
        assert!(!desk.half("other", "hash").await);
        assert_eq!(ended(desk, "employee").await, Some(Some(Ended::Disabled)));
        store.enable(By::NoSession, agent01(), entry()).await.unwrap();
        assert_eq!(complete(desk, "two", digest("employee")).await, Beginning::Groundless);
    }
}
