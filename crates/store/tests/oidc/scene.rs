//! Sessions with grants.

use std::time::Duration;

use deskpass_core::oidc::{ClientRegistration, OidcScopes};
use deskpass_core::{Digest, LoginMethod, Role, Roles};
use deskpass_store::{
    Actor, AuditEvent, GrantClient, GrantOutcome, GrantRecord, LogEntry, LogFilter, LogoutNotice, NewGrant, OidcClient,
    RefreshOutcome, RefreshRequest, Store,
};

use crate::agents::fixture::{DAY, Fixture, HOUR, agent01, at, digest, entry};

/// When the grants begin.
pub(crate) const BEGUN: i64 = 2_000;

pub(crate) fn actor(session: &str) -> Actor {
    let from = Some([192, 0, 2, 1].into());
    Actor { session: digest(session), employee: agent01(), role: None, from, now: at(BEGUN) }
}

pub(crate) fn sid(session: &str, client: &str) -> String {
    format!("{session} at {client}")
}

/// A grant of a session of `agent01`, for a client of the settings file. Its code and tokens have its name.
pub(crate) fn new_grant(session: &str, client: &str, name: &str) -> NewGrant {
    NewGrant {
        id: name.to_owned(),
        actor: actor(session),
        client: GrantClient::FromFile(client.to_owned()),
        subject: "subject of agent01".to_owned(),
        sid: sid(session, client),
        scopes: OidcScopes::all(),
        roles: Roles::NONE.with(Role::User),
        address: [192, 0, 2, 1].into(),
        code: digest(&format!("code {name}")),
        code_until: at(62_000),
        expires_at: at(8 * HOUR),
        access: (access(name), at(900_000)),
        refresh: Some(refresh(name)),
        entry: LogEntry { event: AuditEvent::OidcAuthorized, ..entry() },
        reuse_entry: LogEntry { event: AuditEvent::OidcReused, ..entry() },
    }
}

pub(crate) fn access(name: &str) -> Digest {
    digest(&format!("access {name}"))
}

pub(crate) fn refresh(name: &str) -> Digest {
    digest(&format!("refresh {name}"))
}

/// Begins a session of `agent01` and a grant of the client `desk` with the same name.
pub(crate) async fn signed_in(fixture: &Fixture, name: &str) {
    fixture.session(name, LoginMethod::Oauth2, None).await;
    begin(fixture.store(), name, "desk", name).await;
}

pub(crate) async fn begin(store: &Store, session: &str, client: &str, name: &str) {
    assert_eq!(store.begin_grant(new_grant(session, client, name)).await.unwrap(), GrantOutcome::Begun);
}

/// The grant, by its first refresh token.
pub(crate) async fn grant(store: &Store, name: &str) -> Option<GrantRecord> {
    store.grant_of_refresh(refresh(name)).await.unwrap()
}

/// Whether a grant has neither ended nor gone.
pub(crate) async fn is_live(store: &Store, name: &str) -> bool {
    grant(store, name).await.is_some_and(|grant| grant.ended_at.is_none())
}

/// A use of a refresh token of the client `desk`; the next tokens have the name of the token and a mark.
pub(crate) fn refreshing(name: &str, now: i64) -> RefreshRequest {
    RefreshRequest {
        token: refresh(name),
        client_id: "desk".to_owned(),
        now: at(now),
        successor: refresh(&format!("{name}+")),
        access: access(&format!("{name}+")),
        access_lifetime: Duration::from_mins(15),
        repeat_window: Duration::from_secs(10),
        reuse_entry: LogEntry { event: AuditEvent::OidcReused, ..entry() },
    }
}

pub(crate) async fn refresh_at(store: &Store, name: &str, now: i64) -> RefreshOutcome {
    store.refresh_grant(refreshing(name, now)).await.unwrap()
}

/// What clients are to be told, by `sid`. It stays due.
pub(crate) async fn told(store: &Store) -> Vec<LogoutNotice> {
    let late = at(99 * DAY);
    let mut told = Vec::new();
    for client in store.due_logout_clients(late, 1_000).await.unwrap() {
        told.extend(store.claim_logouts_of(client, late, late, 1_000).await.unwrap());
    }
    told.sort_unstable_by(|one, other| one.sid.cmp(&other.sid));
    told
}

/// Ends what a client got if it is to end, a grant at a time; returns the number of grants.
pub(crate) async fn finish(store: &Store, client: &str) -> usize {
    let mut ended = 0;
    while store.end_grants_of_client_batch(client.to_owned(), at(3_000), 1).await.unwrap() > 0 {
        ended += 1;
    }
    assert!(!store.access_rules().await.unwrap().ending_oidc_clients().any(|ending| ending == client));
    ended
}

/// The `sid` of everything that clients are to be told, which is then delivered.
pub(crate) async fn deliver(store: &Store) -> Vec<String> {
    let told = told(store).await;
    for notice in &told {
        store.delete_logout(notice.sid.clone(), notice.at).await.unwrap();
    }
    told.into_iter().map(|notice| notice.sid).collect()
}

/// The number of rows of an event in the log.
pub(crate) async fn logged(store: &Store, event: AuditEvent) -> usize {
    let filter = LogFilter { corp: "ww".to_owned(), event: Some(event), ..LogFilter::default() };
    store.log_page(filter, None, 1_000).await.unwrap().rows.len()
}

pub(crate) fn registration(name: &str) -> ClientRegistration {
    ClientRegistration {
        name: name.to_owned(),
        redirect_uris: vec!["https://help.example.com/callback".to_owned()],
        backchannel_logout_uri: Some("https://help.example.com/logout".to_owned()),
        ..ClientRegistration::default()
    }
}

/// A client in the database, as its request was checked with.
pub(crate) fn registered(id: &str) -> GrantClient {
    GrantClient::Registered(id.to_owned(), Box::new(client(id).registration))
}

pub(crate) fn client(id: &str) -> OidcClient {
    OidcClient {
        id: id.to_owned(),
        registration: registration(&format!("Name of {id}")),
        secret: Some(digest(&format!("secret of {id}"))),
        old_secret: None,
        created_at: at(0),
        created_by: Some(agent01()),
        disabled_at: None,
    }
}
