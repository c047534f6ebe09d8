//! Clients that administrators register.

use deskpass_core::oidc::{ClientKind, ClientRegistration, OidcScopes};
use deskpass_core::{LoginMethod, Role, Roles};
use deskpass_store::{ChangeAuthor, GrantOutcome, NewGrant, OidcClient, Store};

use crate::agents::fixture::{Fixture, at, digest, entry, on_every_store};
use crate::lists::scene::soon;
use crate::oidc::scene::{
    access, begin, client, deliver, finish, is_live, new_grant, registered, registration, sid, signed_in, told,
};

const BY: ChangeAuthor = ChangeAuthor::NoSession;

/// A grant of a registered client.
fn of_desk(name: &str) -> NewGrant {
    NewGrant { client: registered("desk"), ..new_grant("first", "desk", name) }
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
        assert_eq!(store.begin_grant(of_desk("one")).await.unwrap(), GrantOutcome::ClientDisabled, "there is none");
        add(store).await;
        assert_eq!(store.begin_grant(of_desk("one")).await.unwrap(), GrantOutcome::Begun);
        assert!(store.oidc_access(&access("one")).await.unwrap().unwrap().grant.ended_at.is_none());
        assert!(enable(&fixture.node(1), false).await);
        assert!(is_live(store, "one").await, "it ends a moment later");
        store.wait_until_caught_up().await;
        assert!(store.access_rules().await.unwrap().ending_oidc_clients().eq(["desk"]));
        assert_eq!(finish(&fixture.node(1), "desk").await, 1);
        assert!(!is_live(store, "one").await);
        let ended = async || store.oidc_access(&access("one")).await.unwrap().unwrap().grant.ended_at.is_some();
        assert!(soon(ended).await, "the cache forgets it");
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
        assert_eq!(store.begin_grant(of_desk("two")).await.unwrap(), GrantOutcome::ClientDisabled);
        assert!(enable(store, true).await);
        assert_eq!(store.begin_grant(of_desk("two")).await.unwrap(), GrantOutcome::Begun, "the code was not used up");
    }
}

on_every_store! {
    async fn a_change_ends_grants_only_if_they_might_not_begin_now(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("first", LoginMethod::Oauth2, None).await;
        add(store).await;
        assert_eq!(store.begin_grant(of_desk("one")).await.unwrap(), GrantOutcome::Begun);
        assert!(change(store, registration("Another name")).await);
        assert!(is_live(store, "one").await && told(store).await.is_empty());
        assert_eq!(finish(store, "desk").await, 0, "nothing is to end");
        let narrower = ClientRegistration { roles: Roles::NONE.with(Role::Agent), ..registration("Another name") };
        assert!(change(store, narrower).await);
        assert_eq!(finish(store, "desk").await, 1);
        assert!(!is_live(store, "one").await);
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
    }
}

on_every_store! {
    async fn a_code_from_before_a_change_is_not_redeemed(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("first", LoginMethod::Oauth2, None).await;
        add(store).await;
        let known = registration("Name of desk");
        for changed in [
            ClientRegistration { redirect_uris: vec!["https://help.example.com/new".to_owned()], ..known.clone() },
            ClientRegistration { roles: Roles::NONE.with(Role::User), ..known.clone() },
            ClientRegistration { corporations: vec!["ww".to_owned()], ..known.clone() },
            ClientRegistration { scopes: OidcScopes::parse("openid"), ..known.clone() },
            ClientRegistration { kind: ClientKind::Public, ..known.clone() },
        ] {
            assert!(change(store, changed.clone()).await);
            assert_eq!(store.begin_grant(of_desk("one")).await.unwrap(), GrantOutcome::ClientChanged, "{changed:?}");
        }
        assert!(change(store, ClientRegistration { name: "Another name".to_owned(), ..known }).await);
        assert_eq!(store.begin_grant(of_desk("one")).await.unwrap(), GrantOutcome::Begun, "the code was not used up");
    }
}

on_every_store! {
    async fn what_a_client_got_ends_although_it_is_enabled_again(fixture: &Fixture) {
        let store = fixture.store();
        add(store).await;
        for number in 0..5 {
            let name = format!("session {number}");
            fixture.session(&name, LoginMethod::Oauth2, None).await;
            let new = NewGrant { client: registered("desk"), ..new_grant(&name, "desk", &name) };
            assert_eq!(store.begin_grant(new).await.unwrap(), GrantOutcome::Begun);
        }
        begin(store, "session 0", "wiki", "wiki").await;
        assert!(enable(store, false).await);
        let batch = async |id: &str| store.end_grants_of_client_batch(id.to_owned(), at(3_000), 2).await.unwrap();
        assert_eq!((batch("wiki").await, batch("desk").await), (0, 2));
        assert!(!is_live(store, "session 0").await && is_live(store, "session 4").await, "the oldest first");
        assert!(enable(store, true).await);
        assert_eq!((batch("desk").await, batch("desk").await, batch("desk").await), (2, 1, 0));
        assert!(!is_live(store, "session 4").await && is_live(store, "wiki").await);
        assert_eq!(deliver(store).await.len(), 5);
        let new = NewGrant { client: registered("desk"), ..new_grant("session 0", "desk", "new") };
        assert_eq!(store.begin_grant(new).await.unwrap(), GrantOutcome::Begun);
        assert_eq!((batch("desk").await, is_live(store, "new").await), (0, true));
    }
}

on_every_store! {
    async fn a_removed_client_stays_until_it_was_told(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("first", LoginMethod::Oauth2, None).await;
        add(store).await;
        assert_eq!(store.begin_grant(of_desk("one")).await.unwrap(), GrantOutcome::Begun);
        let remove = async || store.remove_oidc_client(BY, "desk".to_owned(), at(3_000), entry()).await.unwrap();
        assert!(remove().await && !remove().await);
        assert!(!change(store, registration("x")).await && !enable(store, true).await);
        assert!(!store.set_oidc_secret(BY, "desk".to_owned(), digest("new"), at(9), entry()).await.unwrap());
        assert_eq!(store.begin_grant(of_desk("two")).await.unwrap(), GrantOutcome::ClientDisabled);
        let rules = store.access_rules().await.unwrap();
        let removed = OidcClient { secret: None, ..client("desk") };
        assert_eq!((rules.oidc_client("desk"), rules.removed_oidc_client("desk").map(|kept| &**kept)), (None, Some(&removed)));
        assert_eq!(store.sweep(at(3_000), at(0), 10).await.unwrap(), 0, "what it got has not ended");
        assert_eq!(finish(store, "desk").await, 1);
        assert!(!is_live(store, "one").await);
        assert_eq!(store.sweep(at(3_000), at(0), 10).await.unwrap(), 0, "it is not told yet");
        assert!(!store.add_oidc_client(BY, client("desk"), entry()).await.unwrap(), "it would be told in its place");
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
        assert_eq!(store.sweep(at(3_000), at(0), 10).await.unwrap(), 1);
        assert!(store.access_rules().await.unwrap().removed_oidc_client("desk").is_none());
        add(store).await;
    }
}

on_every_store! {
    async fn a_client_that_left_the_settings_loses_what_it_got(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        let end = async |id: &str| {
            let former = registration("Former");
            store.end_oidc_grants_of_client(id.to_owned(), former, at(3_000), entry()).await.unwrap()
        };
        assert!(!end("wiki").await && end("desk").await);
        assert_eq!(finish(store, "desk").await, 1);
        assert!(end("desk").await, "it is not told yet");
        let rules = store.access_rules().await.unwrap();
        assert_eq!(rules.removed_oidc_client("desk").map(|kept| &*kept.registration.name), Some("Former"));
        assert_eq!((finish(store, "desk").await, deliver(store).await), (0, vec![sid("first", "desk")]));
        assert!(!end("desk").await);
        assert!(fixture.lives("first").await && !is_live(store, "first").await);
    }
}

on_every_store! {
    async fn a_client_of_the_settings_leaves_its_place_to_one_in_the_database(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        add(store).await;
        let end = store.end_oidc_grants_of_client("desk".to_owned(), registration("Former"), at(3_000), entry());
        assert!(end.await.unwrap());
        assert_eq!(finish(store, "desk").await, 1);
        let rules = store.access_rules().await.unwrap();
        assert_eq!(rules.oidc_client("desk").map(|known| &**known), Some(&client("desk")));
        assert!(rules.removed_oidc_client("desk").is_none());
    }
}
