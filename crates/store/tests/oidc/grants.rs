//! Grants: begun once for each code, found by their tokens, ended with the roles that a client was told.

use std::sync::Arc;

use deskpass_core::{EmployeeKey, LoginMethod, Role, Roles};
use deskpass_store::{AuditEvent, ChangeAuthor, GrantOutcome, LogEntry, LogFilter, NewGrant, Revocation};

use crate::agents::fixture::{DAY, Fixture, agent01, at, digest, entry, on_every_store};
use crate::lists::scene::soon;
use crate::oidc::scene::{access, begin, deliver, grant, is_live, logged, new_grant, sid, signed_in, told};

const BY: ChangeAuthor = ChangeAuthor::NoSession;

on_every_store! {
    async fn a_token_leads_to_its_grant(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        let record = store.oidc_access(&access("first")).await.unwrap().unwrap();
        assert_eq!((record.expires_at, record.grant.ended_at), (at(900_000), None));
        assert_eq!(Some(&record.grant), grant(store, "first").await.as_ref());
        assert_eq!((&record.grant.employee, &*record.grant.client_id), (&agent01(), "desk"));
        assert_eq!((record.grant.session, &*record.grant.sid), (digest("first"), &*sid("first", "desk")));
        assert_eq!(record.grant.roles, Roles::NONE.with(Role::User));
        assert_eq!(record.derived(|grant| grant.id.len()), Some(&5));
        assert_eq!(record.derived(|_| 7_usize), Some(&5), "it was derived before");
        assert!(store.oidc_access(&digest("another")).await.unwrap().is_none());
        assert!(store.grant_of_refresh(access("first")).await.unwrap().is_none(), "another kind of token");
        assert_eq!(logged(store, AuditEvent::OidcAuthorized).await, 1);
        let clients = store.clients_of_sessions(vec![digest("first"), digest("another")]).await.unwrap();
        assert_eq!(clients.into_iter().collect::<Vec<_>>(), [(digest("first"), vec!["desk".to_owned()])]);
    }
}

on_every_store! {
    async fn the_second_use_of_a_code_ends_what_the_first_got(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        let cached = store.oidc_access(&access("first")).await.unwrap().unwrap();
        let second = new_grant("first", "desk", "first");
        let second = NewGrant { id: "second".to_owned(), ..second };
        let GrantOutcome::CodeUsed { ended: Some(ended) } = fixture.node(1).begin_grant(second.clone()).await.unwrap() else {
            panic!("it was used")
        };
        assert_eq!((&*ended.id, &*ended.client_id, ended.employee, &*ended.sid), ("first", "desk", agent01(), &*sid("first", "desk")));
        assert_eq!(fixture.node(1).begin_grant(second).await.unwrap(), GrantOutcome::CodeUsed { ended: None });
        assert_eq!(logged(store, AuditEvent::OidcReused).await, 1);
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
        assert!(cached.grant.ended_at.is_none());
        let gone = async || store.oidc_access(&access("first")).await.unwrap().unwrap().grant.ended_at.is_some();
        assert!(soon(gone).await, "the cache forgets it on all nodes");
    }
}

on_every_store! {
    async fn a_code_is_known_by_its_grant_when_its_record_is_gone(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        assert_eq!(store.sweep(at(63_000), at(0), 100).await.unwrap(), 1);
        let code = new_grant("first", "desk", "first").code;
        assert_eq!(store.end_grant_of_code(code, "wiki".to_owned(), at(3_000), entry()).await.unwrap(), None);
        // The caller knows no employee.
        let about = EmployeeKey::from_parts("ww", "");
        let reused = LogEntry { event: AuditEvent::OidcReused, about, ..entry() };
        assert!(store.end_grant_of_code(code, "desk".to_owned(), at(3_000), reused).await.unwrap().is_some());
        assert!(!is_live(store, "first").await);
        let filter = LogFilter { corp: "ww".to_owned(), event: Some(AuditEvent::OidcReused), ..LogFilter::default() };
        assert_eq!(store.log_page(filter, None, 10).await.unwrap().rows[0].about, agent01());
    }
}

on_every_store! {
    async fn a_refused_beginning_does_not_use_its_code_up(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("first", LoginMethod::Oauth2, None).await;
        let mut wrong = new_grant("first", "desk", "first");
        wrong.roles = wrong.roles.with(Role::Admin);
        let refused = store.begin_grant(wrong).await.unwrap();
        assert_eq!(refused, GrantOutcome::Revoked(Revocation::RoleTakenAway(Role::Admin)));
        let mut late = new_grant("first", "desk", "first");
        late.actor.now = at(DAY);
        assert_eq!(store.begin_grant(late).await.unwrap(), GrantOutcome::Revoked(Revocation::Expired));
        begin(store, "first", "desk", "first").await;
    }
}

on_every_store! {
    async fn a_told_role_that_is_revoked_ends_the_grant(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("first", LoginMethod::Oauth2, None).await;
        let both = Roles::NONE.with(Role::User).with(Role::Security);
        store.set_roles(BY, agent01(), both, true, at(DAY), entry()).await.unwrap();
        begin(store, "first", "desk", "user").await;
        let security = Roles::NONE.with(Role::Security);
        let told_both = NewGrant { roles: both, ..new_grant("first", "wiki", "both") };
        assert_eq!(store.begin_grant(told_both).await.unwrap(), GrantOutcome::Begun);
        store.revoke(BY, agent01(), Role::Security, true, entry()).await.unwrap();
        assert!(is_live(store, "user").await && !is_live(store, "both").await);
        assert_eq!(deliver(store).await, [sid("first", "wiki")]);
        store.set_roles(BY, agent01(), security, true, at(DAY), entry()).await.unwrap();
        assert!(!is_live(store, "user").await && fixture.lives("first").await);
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
    }
}

on_every_store! {
    async fn a_refresh_may_tell_other_roles_that_are_held(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        let known = store.oidc_access(&access("first")).await.unwrap().unwrap();
        assert!(store.set_told_roles("first".to_owned(), Roles::NONE).await.unwrap());
        assert_eq!(store.oidc_access(&access("first")).await.unwrap().unwrap().grant.roles, Roles::NONE);
        assert!(!Arc::ptr_eq(&known, &store.oidc_access(&access("first")).await.unwrap().unwrap()));
        store.revoke(BY, agent01(), Role::User, true, entry()).await.unwrap();
        assert!(is_live(store, "first").await && told(store).await.is_empty(), "it is not told any more");
        assert!(!store.set_told_roles("first".to_owned(), Roles::NONE.with(Role::User)).await.unwrap());
        assert!(!is_live(store, "first").await, "it was revoked meanwhile");
        assert!(!store.set_told_roles("first".to_owned(), Roles::NONE).await.unwrap(), "it has ended");
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
    }
}

on_every_store! {
    async fn a_default_role_may_be_told_while_the_session_has_it(fixture: &Fixture) {
        fixture.session("first", LoginMethod::Oauth2, Some(Role::Agent)).await;
        let lent = NewGrant { roles: Roles::NONE.with(Role::Agent), ..new_grant("first", "desk", "first") };
        assert_eq!(fixture.store().begin_grant(lent).await.unwrap(), GrantOutcome::Begun);
    }
}

on_every_store! {
    async fn a_browser_leads_to_its_session(fixture: &Fixture) {
        let store = fixture.store();
        let session = async |now| store.browser_session(digest("cookie"), at(now)).await.unwrap();
        assert_eq!(session(0).await, None);
        store.remember_browser_session(digest("cookie"), digest("first"), at(100)).await.unwrap();
        assert_eq!((session(99).await, session(100).await), (Some(digest("first")), None));
        store.remember_browser_session(digest("cookie"), digest("second"), at(200)).await.unwrap();
        assert_eq!(session(100).await, Some(digest("second")));
        assert_eq!((store.sweep(at(199), at(0), 10).await.unwrap(), store.sweep(at(200), at(0), 10).await.unwrap()), (0, 1));
    }
}

on_every_store! {
    async fn a_session_has_at_most_twenty_grants_of_a_client(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        begin(store, "first", "wiki", "wiki").await;
        let begin_at = async |number: i64| {
            let mut new = new_grant("first", "desk", &format!("grant {number}"));
            new.actor.now = at(3_000 + number);
            assert_eq!(store.begin_grant(new).await.unwrap(), GrantOutcome::Begun);
        };
        for number in 0..19 {
            begin_at(number).await;
        }
        assert!(is_live(store, "first").await);
        assert!(store.end_grant("grant 18".to_owned(), at(4_000), false, None).await.unwrap());
        begin_at(19).await;
        assert_eq!(grant(store, "grant 18").await, None, "one that has ended goes first");
        assert!(is_live(store, "first").await && store.oidc_access(&access("first")).await.unwrap().is_some());
        begin_at(20).await;
        assert_eq!(grant(store, "first").await, None, "then the oldest");
        assert!(store.oidc_access(&access("first")).await.unwrap().is_none());
        assert!(is_live(store, "grant 0").await && is_live(store, "grant 20").await && is_live(store, "wiki").await);
        assert!(told(store).await.is_empty(), "its client has others of the session");
    }
}

on_every_store! {
    async fn a_client_finds_its_session_by_sid(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        begin(store, "first", "desk", "again").await;
        begin(store, "first", "wiki", "wiki").await;
        let session = async |sid: &str| store.session_of_sid(sid.to_owned()).await.unwrap();
        assert_eq!((session(&sid("first", "desk")).await, session("unknown").await), (Some(digest("first")), None));
        let end = async |sid: String| {
            let ended = LogEntry { event: AuditEvent::OidcEnded, ..entry() };
            store.end_grants_of_sid(sid, at(3_000), true, Some(ended)).await.unwrap()
        };
        assert_eq!((end("unknown".to_owned()).await, end(sid("first", "desk")).await, end(sid("first", "desk")).await), (0, 2, 0));
        assert_eq!(logged(store, AuditEvent::OidcEnded).await, 1);
        assert!(!is_live(store, "first").await && !is_live(store, "again").await && is_live(store, "wiki").await);
        assert_eq!(session(&sid("first", "desk")).await, Some(digest("first")), "the session continues");
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
    }
}

on_every_store! {
    async fn an_access_token_can_be_forgotten(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        store.wait_until_caught_up().await;
        let read = async || store.oidc_access(&access("first")).await.unwrap().unwrap();
        let known = read().await;
        store.forget_oidc_access(&access("first"));
        assert!(!Arc::ptr_eq(&known, &read().await));
    }
}
