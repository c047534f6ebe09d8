//! A person who left has nothing, and gets nothing, until the platform says that they are back.

use deskpass_core::{EmployeeKey, LeftReason, LoginMethod, PlatformVouching};
use deskpass_store::{
    AuditEvent, BeginOutcome, ChangeAuthor, DisableOutcome, EndReason, GrantOutcome, Leaving, LeftOutcome, LogEntry,
    PartialSessionLookup, PasswordPrecondition, Precondition, RefreshOutcome, Revocation, SessionLookup,
};

use crate::agents::fixture::{
    DAY, Fixture, agent01, at, digest, entry, leaving, new_session, on_every_store, password,
};
use crate::lists::scene::{bulk, sign_in};
use crate::oidc::scene::{BEGUN, deliver, grant, new_grant, refresh_at, sid, signed_in};
use crate::people::scene::{details, key, stored, with_admin};

const BY: ChangeAuthor = ChangeAuthor::NoSession;

on_every_store! {
    async fn everything_of_a_leaver_ends_at_once_and_is_logged(fixture: &Fixture) {
        let store = fixture.store();
        fixture.set_password("hash").await;
        assert!(fixture.half("half", "hash").await);
        signed_in(fixture, "one").await;
        fixture.session("two", LoginMethod::Password, None).await;
        let left = fixture.node(1).mark_left(leaving(&agent01(), LeftReason::Suspended, 3_000)).await.unwrap();
        assert_eq!(left, LeftOutcome::Ended(2));
        for name in ["one", "two"] {
            let found = store.session(&digest(name)).await.unwrap();
            assert!(matches!(found, SessionLookup::Denied(EndReason::Left)), "{name}: {found:?}");
        }
        assert!(matches!(store.partial_session(&digest("half")).await.unwrap(), PartialSessionLookup::Denied(EndReason::Left)));
        assert_eq!(grant(store, "one").await, None);
        assert_eq!(refresh_at(store, "one", BEGUN + 1).await, RefreshOutcome::Invalid);
        assert_eq!(deliver(store).await, [sid("one", "desk")]);
        let person = stored(store, &agent01()).await;
        assert_eq!((person.left, person.disabled, person.is_admitted()), (Some(LeftReason::Suspended), false, false));
        let again = store.mark_left(leaving(&agent01(), LeftReason::Left, 4_000)).await.unwrap();
        assert_eq!(again, LeftOutcome::AlreadyLeft);
        assert_eq!(store.mark_left(leaving(&key("nobody"), LeftReason::Left, 4_000)).await.unwrap(), LeftOutcome::Unknown);
        assert_eq!(details(store, "ww", AuditEvent::EmployeeLeft).await, ["suspended; 2 session(s) ended"]);
    }
}

on_every_store! {
    async fn a_leaver_gets_nothing(fixture: &Fixture) {
        let store = fixture.store();
        fixture.set_password("hash").await;
        fixture.session("one", LoginMethod::Oauth2, None).await;
        assert_eq!(store.mark_left(leaving(&agent01(), LeftReason::Left, 3_000)).await.unwrap(), LeftOutcome::Ended(1));
        let begun = store.begin_session(new_session("two", LoginMethod::Oauth2, None, Precondition::None)).await.unwrap();
        assert_eq!(begun, BeginOutcome::EmployeeDisabled);
        assert!(!fixture.half("half", "hash").await);
        let new = password("other", PasswordPrecondition::Hash("hash".to_owned()), at(3_000));
        assert_eq!(store.set_password(BY, new).await.unwrap(), None);
        let reset = store.reset_password(BY, agent01(), digest("code"), at(DAY), at(DAY), entry()).await.unwrap();
        assert_eq!(reset, Some(0));
        assert!(!store.is_setup_code_valid(agent01(), digest("code"), at(3_000)).await.unwrap());
        let refused = store.begin_grant(new_grant("one", "desk", "late")).await.unwrap();
        assert_eq!(refused, GrantOutcome::Revoked(Revocation::Ended(EndReason::Left)));
        assert!(store.listed_agent(agent01(), at(3_000)).await.unwrap().unwrap().employee_disabled);
    }
}

on_every_store! {
    async fn returning_lifts_only_what_the_platform_said(fixture: &Fixture) {
        let store = fixture.store();
        let returned = || LogEntry { event: AuditEvent::EmployeeReturned, ..entry() };
        assert!(!store.mark_returned(agent01(), at(1), returned()).await.unwrap(), "who did not leave does not return");
        assert_eq!(store.disable(BY, agent01(), true, at(DAY), entry()).await.unwrap(), DisableOutcome::Done(0));
        assert_eq!(store.mark_left(leaving(&agent01(), LeftReason::Left, 2)).await.unwrap(), LeftOutcome::Ended(0));
        assert!(store.mark_returned(agent01(), at(3), returned()).await.unwrap());
        let person = stored(store, &agent01()).await;
        assert_eq!((person.disabled, person.left), (true, None), "an administrator disabled the account");
        assert_eq!(store.mark_left(leaving(&agent01(), LeftReason::Left, 4)).await.unwrap(), LeftOutcome::Ended(0));
        assert!(store.enable(BY, agent01(), entry()).await.unwrap());
        let person = stored(store, &agent01()).await;
        assert_eq!((person.disabled, person.left), (false, Some(LeftReason::Left)), "the platform says otherwise");
        assert!(store.mark_returned(agent01(), at(5), returned()).await.unwrap());
        assert!(stored(store, &agent01()).await.is_admitted());
        fixture.session("one", LoginMethod::Oauth2, None).await;
        assert_eq!(details(store, "ww", AuditEvent::EmployeeReturned).await.len(), 2);
    }
}

on_every_store! {
    async fn an_old_answer_of_the_platform_changes_nothing(fixture: &Fixture) {
        let store = fixture.store();
        let asked = |asked_at| Leaving {
            asked_at: Some(at(asked_at)),
            left_at: at(asked_at),
            ..leaving(&agent01(), LeftReason::Left, 9_000)
        };
        let returns = async |asked_at| store.mark_returned(agent01(), at(asked_at), entry()).await.unwrap();
        store.mark_left(leaving(&agent01(), LeftReason::Left, 5_000)).await.unwrap();
        assert!(!returns(4_999).await, "a list that was read before the event");
        assert_eq!(stored(store, &agent01()).await.left, Some(LeftReason::Left));
        assert!(returns(5_000).await);
        fixture.session("one", LoginMethod::Oauth2, None).await;
        assert_eq!(store.mark_left(asked(4_999)).await.unwrap(), LeftOutcome::ActiveSince, "the person came back since");
        assert!(fixture.lives("one").await);
        store.mark_checked(vec![agent01()], at(6_000)).await.unwrap();
        assert_eq!(store.mark_left(asked(5_999)).await.unwrap(), LeftOutcome::ActiveSince);
        assert_eq!(store.mark_left(asked(6_000)).await.unwrap(), LeftOutcome::Ended(1));
        assert_eq!(store.mark_left(asked(7_000)).await.unwrap(), LeftOutcome::AlreadyLeft);
        assert!(!returns(6_500).await, "the platform said it again later");
        assert_eq!(store.mark_left(asked(6_100)).await.unwrap(), LeftOutcome::AlreadyLeft);
        assert!(returns(7_000).await, "an older answer moves nothing back or forth");
        assert_eq!(details(store, "ww", AuditEvent::EmployeeLeft).await.len(), 2);
    }
}

on_every_store! {
    async fn with_a_corporation_sessions_through_its_links_end(fixture: &Fixture) {
        let (store, partner) = (fixture.store(), EmployeeKey::from_parts("wwpartner", "p1"));
        let other = EmployeeKey::from_parts("wwother", "p1");
        fixture.employ("boss").await;
        for (identity, target) in [(&partner, agent01()), (&other, key("boss"))] {
            assert!(store.approve_link(BY, identity.clone(), target, entry()).await.unwrap());
        }
        bulk(fixture, "UPDATE link SET bound_at = 1", 0).await;
        let through = |name: &str, who: EmployeeKey, precondition: Precondition| {
            let mut new = new_session(name, LoginMethod::Oauth2, None, precondition);
            (new.session.employee, new.session.vouched) = (who, PlatformVouching::Through);
            new
        };
        let link = || Precondition::Link(partner.clone());
        for new in [
            through("linked", agent01(), link()),
            through("unconcerned", key("boss"), Precondition::Link(other.clone())),
            new_session("own", LoginMethod::Oauth2, None, Precondition::None),
        ] {
            assert_eq!(store.begin_session(new).await.unwrap(), BeginOutcome::Begun);
        }
        store.store_proof(digest("proof"), partner.clone(), at(DAY)).await.unwrap();
        let template = LogEntry { event: AuditEvent::EmployeeLeft, at: at(2_000), ..entry() };
        assert_eq!(store.mark_corporation_left("wwpartner".to_owned(), at(DAY), template).await.unwrap(), 0);
        assert!(matches!(store.session(&digest("linked")).await.unwrap(), SessionLookup::Denied(EndReason::Kicked)));
        assert!(fixture.lives("own").await && fixture.lives("unconcerned").await);
        assert!(!store.proof_permits(digest("proof"), agent01(), at(2_000)).await.unwrap());
        // Neither does a sign-in that was under way, and the approval stays.
        let late = store.begin_session(through("late", agent01(), link())).await.unwrap();
        assert_eq!(late, BeginOutcome::PreconditionFailed);
        assert_eq!(store.link(partner.clone()).await.unwrap().map(|link| link.bound_at), Some(None));
        let logged = details(store, "ww", AuditEvent::SessionsEnded).await;
        assert_eq!(logged, ["corporation wwpartner removed; 1 session(s) ended"]);
    }
}

on_every_store! {
    async fn the_last_administrator_leaves_and_the_log_says_so(fixture: &Fixture) {
        let store = fixture.store();
        with_admin(fixture, "one").await;
        with_admin(fixture, "two").await;
        store.mark_left(leaving(&key("one"), LeftReason::Left, 1)).await.unwrap();
        assert_eq!(store.administrators("ww".to_owned(), agent01(), 10).await.unwrap(), [key("two")]);
        let kept = store.disable(BY, key("two"), false, at(DAY), entry()).await.unwrap();
        assert_eq!(kept, DisableOutcome::LastAdmin, "the other one left");
        store.mark_left(leaving(&key("two"), LeftReason::OutOfRange, 2)).await.unwrap();
        assert!(store.administrators("ww".to_owned(), agent01(), 10).await.unwrap().is_empty());
        let expected = ["out_of_range; 0 session(s) ended; last administrator", "left; 0 session(s) ended"];
        assert_eq!(details(store, "ww", AuditEvent::EmployeeLeft).await, expected);
    }
}

on_every_store! {
    async fn with_a_corporation_everyone_of_it_leaves(fixture: &Fixture) {
        let (store, partner) = (fixture.store(), EmployeeKey::from_parts("wwpartner", "p7"));
        bulk(
            fixture,
            "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at)
             SELECT 'wwpartner', 'p' || n, 'p' || n, 'P', '', '', 0 FROM numbers",
            150,
        )
        .await;
        sign_in(store, "partner", &partner, 1_000, "192.0.2.1").await;
        fixture.session("home", LoginMethod::Oauth2, None).await;
        store.mark_left(leaving(&EmployeeKey::from_parts("wwpartner", "p9"), LeftReason::Left, 1)).await.unwrap();
        let template = || LogEntry { event: AuditEvent::EmployeeLeft, at: at(2_000), ..entry() };
        let left = fixture.node(1).mark_corporation_left("wwpartner".to_owned(), at(DAY), template()).await.unwrap();
        assert_eq!(left, 149);
        assert!(matches!(store.session(&digest("partner")).await.unwrap(), SessionLookup::Denied(EndReason::Left)));
        assert!(fixture.lives("home").await);
        assert_eq!(stored(store, &partner).await.left, Some(LeftReason::CorporationRemoved));
        let logged = details(store, "wwpartner", AuditEvent::EmployeeLeft).await;
        assert_eq!(logged.len(), 150, "a row for each");
        assert_eq!(logged.iter().filter(|detail| **detail == "corporation_removed; 1 session(s) ended").count(), 1);
        assert_eq!(store.mark_corporation_left("wwpartner".to_owned(), at(DAY), template()).await.unwrap(), 0);
    }
}
