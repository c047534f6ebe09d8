//! A password replaces only the one that the request has seen, and ends the sessions that began with it.

use deskpass_core::{LoginMethod, Role};
use deskpass_store::{
    AttemptKind, ChangeAuthor, EndReason, NewPassword, PartialSessionLookup, PasswordPrecondition, SessionLookup,
};

use crate::agents::fixture::{DAY, Fixture, agent01, at, digest, entry, on_every_store, password};

async fn set(fixture: &Fixture, hash: &str, precondition: PasswordPrecondition) -> Option<usize> {
    fixture.store().set_password(ChangeAuthor::NoSession, password(hash, precondition, at(1_000))).await.unwrap()
}

async fn kept(fixture: &Fixture) -> Option<String> {
    fixture.store().agent(agent01()).await.unwrap().unwrap().password
}

on_every_store! {
    async fn a_password_takes_the_place_of_what_was_there_and_of_nothing_else(fixture: &Fixture) {
        assert_eq!(set(fixture, "one", PasswordPrecondition::Hash("zero".to_owned())).await, None);
        assert_eq!(set(fixture, "one", PasswordPrecondition::SetupCode(digest("code"))).await, None);
        assert_eq!(kept(fixture).await, None);
        assert_eq!(set(fixture, "one", PasswordPrecondition::NoPassword).await, Some(0));
        assert_eq!(set(fixture, "two", PasswordPrecondition::NoPassword).await, None);
        assert_eq!(set(fixture, "two", PasswordPrecondition::Hash("zero".to_owned())).await, None);
        assert_eq!(kept(fixture).await.as_deref(), Some("one"));
        assert_eq!(set(fixture, "two", PasswordPrecondition::Hash("one".to_owned())).await, Some(0));
        assert_eq!(kept(fixture).await.as_deref(), Some("two"));
        fixture.store().disable_agent(ChangeAuthor::NoSession, agent01(), at(DAY), entry()).await.unwrap();
        assert_eq!(set(fixture, "three", PasswordPrecondition::Hash("two".to_owned())).await, None);
        fixture.store().enable_agent(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap();
        fixture.store().disable(ChangeAuthor::NoSession, agent01(), true, at(DAY), entry()).await.unwrap();
        assert_eq!(set(fixture, "three", PasswordPrecondition::Hash("two".to_owned())).await, None);
        assert_eq!(kept(fixture).await.as_deref(), Some("two"));
    }
}

on_every_store! {
    async fn other_sessions_and_halves_end_and_guesses_are_forgotten(fixture: &Fixture) {
        let store = fixture.store();
        fixture.set_password("one").await;
        for name in ["mine", "other", "another"] {
            fixture.session(name, LoginMethod::Oauth2, None).await;
        }
        assert!(fixture.half("half", "one").await);
        let browser = AttemptKind::KnownBrowser(digest("browser"));
        for trial in [AttemptKind::Password, AttemptKind::Otp, browser] {
            for _ in 0..5 {
                store.count_attempt(agent01(), trial, at(0)).await.unwrap().unwrap();
            }
        }
        let new = password("two", PasswordPrecondition::Hash("one".to_owned()), at(1_000));
        let new = NewPassword { keep: Some(digest("mine")), ..new };
        assert_eq!(store.set_password(ChangeAuthor::NoSession, new).await.unwrap(), Some(2));
        assert!(fixture.lives("mine").await);
        for name in ["other", "another"] {
            let found = store.session(&digest(name)).await.unwrap();
            assert!(matches!(found, SessionLookup::Denied(EndReason::Kicked)), "{name}: {found:?}");
        }
        assert!(matches!(store.partial_session(&digest("half")).await.unwrap(), PartialSessionLookup::Denied(EndReason::Kicked)));
        assert_eq!(store.count_attempt(agent01(), AttemptKind::Password, at(0)).await.unwrap(), Ok(()));
        assert_eq!(store.count_attempt(agent01(), browser, at(0)).await.unwrap(), Ok(()));
        assert!(store.count_attempt(agent01(), AttemptKind::Otp, at(0)).await.unwrap().is_err());
    }
}

on_every_store! {
    async fn a_setup_code_is_good_once_and_for_a_while(fixture: &Fixture) {
        let store = fixture.store();
        fixture.set_password("one").await;
        for name in ["platform", "by password"] {
            let method = if name == "platform" { LoginMethod::Oauth2 } else { LoginMethod::Password };
            fixture.session(name, method, Some(Role::User)).await;
        }
        assert!(fixture.half("half", "one").await);
        store.remember_browser(digest("browser"), agent01(), at(DAY)).await.unwrap();
        let reset = store.reset_password(ChangeAuthor::NoSession, agent01(), digest("code"), at(1_001), at(DAY), entry()).await.unwrap();
        assert_eq!(reset, Some(1));
        assert!(fixture.lives("platform").await && !fixture.lives("by password").await);
        assert!(matches!(store.partial_session(&digest("half")).await.unwrap(), PartialSessionLookup::Denied(EndReason::Kicked)));
        assert!(!store.is_browser_known_to(digest("browser"), agent01(), at(0)).await.unwrap());
        let agent = store.agent(agent01()).await.unwrap().unwrap();
        assert_eq!((agent.password, agent.setup_code_until), (None, Some(at(1_001))));
        assert!(!fixture.half("again", "one").await);
        for (code, now, counts) in [("other", 0, false), ("code", 1_000, true), ("code", 1_001, false)] {
            assert_eq!(store.is_setup_code_valid(agent01(), digest(code), at(now)).await.unwrap(), counts, "{code} {now}");
        }
        assert_eq!(set(fixture, "two", PasswordPrecondition::SetupCode(digest("other"))).await, None);
        assert_eq!(set(fixture, "two", PasswordPrecondition::SetupCode(digest("code"))).await, Some(1));
        assert_eq!(set(fixture, "three", PasswordPrecondition::SetupCode(digest("code"))).await, None);
        store.reset_password(ChangeAuthor::NoSession, agent01(), digest("code"), at(1_000), at(DAY), entry()).await.unwrap();
        assert_eq!(set(fixture, "three", PasswordPrecondition::SetupCode(digest("code"))).await, None, "its time is over");
        assert_eq!(kept(fixture).await, None);
        store.reset_password(ChangeAuthor::NoSession, agent01(), digest("code"), at(DAY), at(DAY), entry()).await.unwrap();
        store.disable(ChangeAuthor::NoSession, agent01(), true, at(DAY), entry()).await.unwrap();
        assert!(!store.is_setup_code_valid(agent01(), digest("code"), at(0)).await.unwrap(), "they are shut out");
        assert_eq!(set(fixture, "three", PasswordPrecondition::SetupCode(digest("code"))).await, None);
        let nobody = deskpass_core::EmployeeKey::from_parts("ww", "nobody");
        assert_eq!(store.reset_password(ChangeAuthor::NoSession, nobody, digest("code"), at(0), at(0), entry()).await.unwrap(), None);
    }
}

on_every_store! {
    async fn nothing_prints_a_hash(fixture: &Fixture) {
        fixture.set_password("canary").await;
        fixture.bind("canary", &[]).await;
        let agent = fixture.store().agent(agent01()).await.unwrap().unwrap();
        let new = password("x", PasswordPrecondition::Hash("canary".to_owned()), at(0));
        let (device, binding) = (agent.device.clone(), crate::agents::fixture::binding("canary", &[]));
        let printed = format!("{agent:?} {device:?} {binding:?} {:?} {new:?}", new.precondition);
        assert!(!printed.contains("canary"), "{printed}");
    }
}
