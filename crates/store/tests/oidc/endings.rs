//! Whatever ends a session ends its grants, and tells their clients.

use deskpass_core::{LeftReason, LoginMethod, Role, Roles};
use deskpass_store::{
    AuditEvent, BeginOutcome, ChangeAuthor, DisownRequest, EndReason, GrantOutcome, LeftOutcome, LogEntry, LogFilter,
    NewSession, Precondition, RefreshOutcome, Revocation, SessionSelection, Store,
};

use crate::agents::fixture::{DAY, Fixture, HOUR, agent01, at, digest, entry, leaving, new_session, on_every_store};
use crate::oidc::scene::{BEGUN, access, begin, deliver, grant, logged, new_grant, refresh_at, sid, signed_in, told};

const BY: ChangeAuthor = ChangeAuthor::NoSession;

/// Every way in which a session ends, except with the clock and with a restore.
const WAYS: [&str; 13] = [
    "sign_out",
    "one",
    "all",
    "all_but",
    "disabled",
    "left",
    "password",
    "agent_disabled",
    "agent_role",
    "roles",
    "too_many",
    "disowned",
    "everyone",
];

/// How the session must have begun for it to end in this way.
fn beginning(how: &str) -> (LoginMethod, Option<Role>) {
    match how {
        "password" | "agent_disabled" => (LoginMethod::Password, None),
        "agent_role" | "roles" => (LoginMethod::Oauth2, Some(Role::Agent)),
        _ => (LoginMethod::Oauth2, None),
    }
}

/// Ends the session with this name in one of these ways.
async fn end(store: &Store, how: &str) {
    let (key, until) = (agent01(), at(DAY));
    let select = async |which| {
        assert_eq!(store.end_sessions(BY, agent01(), which, EndReason::Kicked, until, entry()).await.unwrap(), 1);
    };
    match how {
        "sign_out" => assert!(store.end_session(digest(how), until, entry()).await.unwrap()),
        "one" => select(SessionSelection::One(digest(how))).await,
        "all" => select(SessionSelection::All).await,
        "all_but" => select(SessionSelection::AllBut(digest("another"))).await,
        "disabled" => {
            store.disable(BY, key.clone(), true, until, entry()).await.unwrap();
            assert!(store.enable(BY, key, entry()).await.unwrap());
        }
        "left" => {
            let left = store.mark_left(leaving(&key, LeftReason::Left, 3_000)).await.unwrap();
            assert_eq!(left, LeftOutcome::Ended(1));
            assert!(store.mark_returned(key, at(3_000), entry()).await.unwrap());
        }
        "password" => {
            assert_eq!(store.reset_password(BY, key, digest("code"), until, until, entry()).await.unwrap(), Some(1));
        }
        "agent_disabled" => {
            assert_eq!(store.disable_agent(BY, key.clone(), until, entry()).await.unwrap(), Some(1));
            assert!(store.enable_agent(BY, key, entry()).await.unwrap());
        }
        "agent_role" => {
            assert_eq!(store.set_agent_role(BY, key, Role::Supervisor, until, entry()).await.unwrap(), Some(1));
        }
        "roles" => {
            let roles = Roles::NONE.with(Role::User).with(Role::Security);
            store.set_roles(BY, key, roles, true, until, entry()).await.unwrap();
        }
        "too_many" => {
            let new = new_session("newer", LoginMethod::Oauth2, None, Precondition::None);
            let begun = store.begin_session(NewSession { at_most: Some(1), ..new }).await.unwrap();
            assert_eq!(begun, BeginOutcome::Begun);
            assert!(store.end_session(digest("newer"), until, entry()).await.unwrap());
        }
        "disowned" => {
            let filter = LogFilter { corp: "ww".to_owned(), event: Some(AuditEvent::SignIn), ..LogFilter::default() };
            let rows = store.log_page(filter, None, 100).await.unwrap().rows;
            let sign_in = rows.into_iter().find(|row| row.at == at(1_000)).unwrap();
            let (who, home, notices) = ("agent01".to_owned(), "ww".to_owned(), Vec::new());
            let request = DisownRequest { sign_in, who, home, notices, deny_until: until, entry: entry() };
            assert_eq!(store.disown(BY, request).await.unwrap().unwrap().ended, 1);
        }
        _ => assert_eq!(store.end_all_sessions(None, None, until, entry()).await.unwrap().ended, 1),
    }
}

on_every_store! {
    async fn a_grant_ends_with_its_session_whatever_ends_it(fixture: &Fixture) {
        for (number, how) in WAYS.into_iter().enumerate() {
            let (method, default_role) = beginning(how);
            fixture.session(how, method, default_role).await;
            // Two clients, one of them with two grants.
            for (client, name) in [("desk", how.to_owned()), ("desk", format!("{how} again")), ("wiki", format!("{how} wiki"))] {
                begin(fixture.store(), how, client, &name).await;
            }
            end(&fixture.node(number), how).await;
            assert!(!fixture.lives(how).await, "{how}");
            assert_eq!(grant(fixture.store(), how).await, None, "{how}");
            assert_eq!(refresh_at(fixture.store(), how, BEGUN + 1).await, RefreshOutcome::Invalid, "{how}");
            let ended = fixture.store().begin_grant(new_grant(how, "desk", "late")).await.unwrap();
            assert!(matches!(ended, GrantOutcome::Revoked(Revocation::Ended(_))), "{how}: {ended:?}");
            assert_eq!(deliver(fixture.store()).await, [sid(how, "desk"), sid(how, "wiki")], "{how}");
        }
    }
}

on_every_store! {
    async fn grants_of_other_sessions_stay(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "kept").await;
        signed_in(fixture, "another").await;
        assert!(store.end_session(digest("another"), at(DAY), entry()).await.unwrap());
        let but = SessionSelection::AllBut(digest("kept"));
        assert_eq!(store.end_sessions(BY, agent01(), but, EndReason::SignedOut, at(DAY), entry()).await.unwrap(), 0);
        // It ends sessions with an earlier start only.
        let early = store.end_all_sessions(Some(at(500)), None, at(DAY), entry()).await.unwrap();
        assert_eq!(early.ended, 0);
        assert!(grant(store, "kept").await.is_some());
        assert_eq!(deliver(store).await, [sid("another", "desk")]);
    }
}

on_every_store! {
    async fn a_session_from_the_future_ends_with_its_grants(fixture: &Fixture) {
        let store = fixture.store();
        let mut new = new_session("future", LoginMethod::Oauth2, None, Precondition::None);
        (new.session.created_at, new.session.expires_at) = (at(30 * DAY), at(31 * DAY));
        assert_eq!(store.begin_session(new).await.unwrap(), BeginOutcome::Begun);
        let mut late = new_grant("future", "desk", "future");
        (late.actor.now, late.expires_at) = (at(30 * DAY), at(31 * DAY));
        assert_eq!(store.begin_grant(late).await.unwrap(), GrantOutcome::Begun);
        // By a node with a correct clock.
        begin(store, "future", "wiki", "early").await;
        signed_in(fixture, "present").await;
        assert_eq!(store.repair_clock(at(HOUR), at(DAY), entry()).await.unwrap().sessions, 1);
        assert_eq!((grant(store, "future").await, grant(store, "early").await), (None, None));
        assert!(grant(store, "present").await.is_some());
        assert_eq!(deliver(store).await, [sid("future", "desk"), sid("future", "wiki")]);
    }
}

on_every_store! {
    async fn a_grant_expires_with_its_session_and_is_swept_with_it(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        // It asks for more time than its session has.
        let mut long = new_grant("first", "wiki", "long");
        (long.expires_at, long.access.1) = (at(9 * DAY), at(9 * DAY));
        assert_eq!(store.begin_grant(long).await.unwrap(), GrantOutcome::Begun);
        let record = store.oidc_access(&access("long")).await.unwrap().unwrap();
        assert_eq!((record.expires_at, record.grant.expires_at), (at(8 * HOUR), at(8 * HOUR)));
        assert_eq!(store.expire_grants(at(8 * HOUR - 1), 100).await.unwrap(), 0);
        assert_eq!(store.expire_grants(at(8 * HOUR), 1).await.unwrap(), 1);
        assert_eq!(store.expire_grants(at(8 * HOUR), 100).await.unwrap(), 1);
        assert_eq!(store.expire_grants(at(8 * HOUR), 100).await.unwrap(), 0);
        assert_eq!(deliver(store).await, [sid("first", "desk"), sid("first", "wiki")]);
        assert_eq!(grant(store, "first").await.unwrap().ended_at, Some(at(8 * HOUR)));
        // An access token, and the records of two codes.
        assert_eq!(store.sweep(at(8 * HOUR - 1), at(8 * HOUR - 1), 100).await.unwrap(), 3);
        // A session, two grants, two refresh tokens and the other access token.
        assert_eq!(store.sweep(at(9 * HOUR), at(8 * HOUR), 100).await.unwrap(), 6);
        assert_eq!(grant(store, "first").await, None);
        assert!(told(store).await.is_empty(), "they were told already");
    }
}

on_every_store! {
    async fn a_client_that_was_never_told_is_told_by_the_sweep(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        store.sweep(at(9 * HOUR), at(8 * HOUR), 100).await.unwrap();
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
    }
}

on_every_store! {
    async fn a_grant_that_ended_alone_tells_nothing_later(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        let ended = LogEntry { event: AuditEvent::OidcEnded, ..entry() };
        assert!(store.end_grant("first".to_owned(), at(3_000), false, Some(ended.clone())).await.unwrap());
        assert!(!store.end_grant("first".to_owned(), at(3_000), true, Some(ended)).await.unwrap());
        assert_eq!(logged(store, AuditEvent::OidcEnded).await, 1);
        assert!(store.has_met(digest("first"), "desk".to_owned()).await.unwrap(), "the user was asked");
        assert_eq!(refresh_at(store, "first", BEGUN).await, RefreshOutcome::Invalid);
        assert!(store.end_session(digest("first"), at(DAY), entry()).await.unwrap());
        assert!(told(store).await.is_empty());
        assert!(!store.has_met(digest("first"), "desk".to_owned()).await.unwrap());
    }
}
