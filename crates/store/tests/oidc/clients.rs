//! Clients that administrators register.

use deskpass_core::oidc::ClientRegistration;
use deskpass_core::{LoginMethod, Role, Roles};
use deskpass_store::{ChangeAuthor, GrantClient, GrantOutcome, NewGrant, OidcClient, Store};

use crate::agents::fixture::{Fixture, at, digest, entry, on_every_store};
use crate::lists::scene::soon;
use crate::oidc::scene::{access, client, deliver, is_live, new_grant, registration, sid, signed_in, told};

const BY: ChangeAuthor = ChangeAuthor::NoSession;

/// A grant of a registered client.
fn registered(name: &str) -> NewGrant {
    NewGrant { client: GrantClient::Registered("desk".to_owned()), ..new_grant("first", "desk", name) }
}

async fn add(store: &Store) {
    assert!(store.add_oidc_client(BY, client("desk"), entry()).await.unwrap());
}

async fn change(store: &Store, registration: ClientRegistration) -> bool {
    store.change_oidc_client(BY, "desk".to_owned(), registration, entry()).await.unwrap()
}

async fn enable(store: &Store, enabled: bool) -> bool {
    store.set_oidc_client_enabled(BY, "desk".to_owned(), enabled, at(3_000), entry()).await.unwrap()
}

on_every_store! {
    async fn a_client_is_known_on_all_nodes(fixture: &Fixture) {
        let (here, there) = (fixture.node(0), fixture.node(1));
        assert!(!change(&here, registration("x")).await && !enable(&here, false).await);
        add(&here).await;
        assert!(!here.add_oidc_client(BY, client("desk"), entry()).await.unwrap(), "it exists");
        let known = async |wanted: &OidcClient| {
            let same = async || there.access_rules().await.unwrap().oidc_client("desk").is_some_and(|known| **known == *wanted);
            assert!(soon(same).await, "{:?}", there.access_rules().await.unwrap().oidc_client("desk"));
        };
        known(&client("desk")).await;
        assert!(here.access_rules().await.unwrap().oidc_client("wiki").is_none());
        assert!(change(&here, registration("Another name")).await);
        let changed = OidcClient { registration: registration("Another name"), ..client("desk") };
        known(&changed).await;
        let until = at(7_000);
        assert!(here.set_oidc_secret(BY, "desk".to_owned(), digest("new"), until, entry()).await.unwrap());
        let (secret, old_secret) = (Some(digest("new")), client("desk").secret.map(|old| (old, until)));
        let changed = OidcClient { secret, old_secret, ..changed };
        known(&changed).await;
        assert!(enable(&here, false).await && enable(&here, false).await);
        known(&OidcClient { disabled_at: Some(at(3_000)), ..changed.clone() }).await;
        assert!(enable(&here, true).await);
        known(&changed).await;
        assert_eq!(here.access_rules().await.unwrap().oidc_clients().count(), 1);
    }
}

on_every_store! {
    async fn a_disabled_client_gets_nothing_and_loses_what_it_got(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("first", LoginMethod::Oauth2, None).await;
        assert_eq!(store.begin_grant(registered("one")).await.unwrap(), GrantOutcome::ClientDisabled, "there is none");
        add(store).await;
        assert_eq!(store.begin_grant(registered("one")).await.unwrap(), GrantOutcome::Begun);
        assert!(store.oidc_access(&access("one")).await.unwrap().unwrap().grant.ended_at.is_none());
        assert!(enable(&fixture.node(1), false).await);
        assert!(!is_live(store, "one").await);
        let ended = async || store.oidc_access(&access("one")).await.unwrap().unwrap().grant.ended_at.is_some();
        assert!(soon(ended).await, "the cache forgets it");
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
        assert_eq!(store.begin_grant(registered("two")).await.unwrap(), GrantOutcome::ClientDisabled);
        assert!(enable(store, true).await);
        assert_eq!(store.begin_grant(registered("two")).await.unwrap(), GrantOutcome::Begun, "the code was not used up");
    }
}

on_every_store! {
    async fn a_change_ends_grants_only_if_they_might_not_begin_now(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("first", LoginMethod::Oauth2, None).await;
        add(store).await;
        assert_eq!(store.begin_grant(registered("one")).await.unwrap(), GrantOutcome::Begun);
        assert!(change(store, registration("Another name")).await);
        assert!(is_live(store, "one").await && told(store).await.is_empty());
        let narrower = ClientRegistration { roles: Roles::NONE.with(Role::Agent), ..registration("Another name") };
        assert!(change(store, narrower).await);
        assert!(!is_live(store, "one").await);
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
    }
}

on_every_store! {
    async fn a_removed_client_is_told_at_its_former_address(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("first", LoginMethod::Oauth2, None).await;
        add(store).await;
        assert_eq!(store.begin_grant(registered("one")).await.unwrap(), GrantOutcome::Begun);
        let remove = async || store.remove_oidc_client(BY, "desk".to_owned(), at(3_000), entry()).await.unwrap();
        assert!(remove().await && !remove().await);
        assert!(store.access_rules().await.unwrap().oidc_client("desk").is_none());
        assert!(!store.has_met(digest("first"), "desk".to_owned()).await.unwrap(), "a later one is a new one");
        let notice = told(store).await.remove(0);
        assert_eq!(&*notice.status, "backchannel:https://help.example.com/logout");
        store.postpone_logout(notice.sid.clone(), notice.at, at(4_000), "HTTP 500".to_owned()).await.unwrap();
        assert_eq!(told(store).await[0].status, notice.status);
    }
}

on_every_store! {
    async fn a_client_that_left_the_settings_loses_what_it_got(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        let address = Some("https://help.example.com/logout".to_owned());
        let end = async |id: &str| store.end_oidc_grants_of_client(id.to_owned(), address.clone(), at(3_000), entry()).await.unwrap();
        assert_eq!((end("wiki").await, end("desk").await, end("desk").await), (0, 1, 0));
        assert_eq!(told(store).await[0].status, "backchannel:https://help.example.com/logout");
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
        assert!(fixture.lives("first").await && !is_live(store, "first").await);
    }
}
