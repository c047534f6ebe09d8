//! Of several concurrent uses of a code or token, one succeeds; and what ends meanwhile stays ended.

use deskpass_core::{LoginMethod, Role};
use deskpass_store::{AuditEvent, ChangeAuthor, GrantOutcome, NewGrant, RefreshOutcome, Revocation};
use tokio::task::JoinSet;

use crate::agents::fixture::{DAY, Fixture, agent01, at, digest, entry, on_every_store};
use crate::oidc::scene::{
    access, client, deliver, finish, grant, is_live, logged, new_grant, refresh, refresh_at, refreshing, registered,
    sid, signed_in, told,
};

const BY: ChangeAuthor = ChangeAuthor::NoSession;

/// The number of concurrent uses of one code or token.
const USES: usize = 50;
/// The number of rounds of a race between two.
const ROUNDS: usize = 10;

on_every_store! {
    async fn one_use_of_a_code_wins_and_the_others_end_it(fixture: &Fixture) {
        fixture.session("first", LoginMethod::Oauth2, None).await;
        let mut uses = JoinSet::new();
        for number in 0..USES {
            let (node, new) = (fixture.node(number), new_grant("first", "desk", "first"));
            let id = format!("grant {number}");
            let (access, refresh) = ((access(&id), new.access.1), Some(refresh(&id)));
            uses.spawn(async move { node.begin_grant(NewGrant { id, access, refresh, ..new }).await.unwrap() });
        }
        let outcomes = uses.join_all().await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == GrantOutcome::Begun).count(), 1);
        let ended = |outcome: &&GrantOutcome| matches!(outcome, GrantOutcome::CodeUsed { ended: Some(_) });
        assert_eq!(outcomes.iter().filter(ended).count(), 1);
        let store = fixture.store();
        assert!(store.clients_of_sessions(vec![digest("first")]).await.unwrap().is_empty());
        assert_eq!((logged(store, AuditEvent::OidcAuthorized).await, logged(store, AuditEvent::OidcReused).await), (1, 1));
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
    }
}

on_every_store! {
    async fn one_use_of_a_refresh_token_wins_and_the_others_get_the_same(fixture: &Fixture) {
        signed_in(fixture, "first").await;
        let mut uses = JoinSet::new();
        for number in 0..USES {
            let (node, request) = (fixture.node(number), refreshing("first", 5_000));
            uses.spawn(async move { node.refresh_grant(request).await.unwrap() });
        }
        let outcomes = uses.join_all().await;
        let known = grant(fixture.store(), "first").await.unwrap();
        let rotated = RefreshOutcome::Rotated(known.clone(), at(5_000));
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == rotated).count(), 1);
        let repeated = RefreshOutcome::Repeated(known, at(5_000));
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == repeated).count(), USES - 1);
        assert!(matches!(refresh_at(fixture.store(), "first+", 6_000).await, RefreshOutcome::Rotated(..)));
    }
}

on_every_store! {
    async fn a_grant_that_begins_while_its_session_ends_ends_with_it(fixture: &Fixture) {
        for round in 0..ROUNDS {
            let name = format!("round {round}");
            fixture.session(&name, LoginMethod::Oauth2, None).await;
            let (one, other, new) = (fixture.node(0), fixture.node(1), new_grant(&name, "desk", &name));
            let beginning = tokio::spawn(async move { one.begin_grant(new).await.unwrap() });
            assert!(other.end_session(digest(&name), at(DAY), entry()).await.unwrap());
            let outcome = beginning.await.unwrap();
            assert_eq!(grant(fixture.store(), &name).await, None, "{name}");
            let expected = if outcome == GrantOutcome::Begun { vec![sid(&name, "desk")] } else { Vec::new() };
            assert_eq!(deliver(fixture.store()).await, expected, "{name}: {outcome:?}");
        }
    }
}

on_every_store! {
    async fn a_refresh_while_its_session_ends_gives_nothing_that_lives(fixture: &Fixture) {
        for round in 0..ROUNDS {
            let name = format!("round {round}");
            signed_in(fixture, &name).await;
            let (one, other, request) = (fixture.node(0), fixture.node(1), refreshing(&name, 5_000));
            let refreshing = tokio::spawn(async move { one.refresh_grant(request).await.unwrap() });
            other.disable(BY, agent01(), true, at(DAY), entry()).await.unwrap();
            let outcome = refreshing.await.unwrap();
            assert!(matches!(outcome, RefreshOutcome::Rotated(..) | RefreshOutcome::Invalid), "{outcome:?}");
            assert!(grant(fixture.store(), &name).await.is_none() && grant(fixture.store(), &format!("{name}+")).await.is_none());
            assert_eq!(deliver(fixture.store()).await, [sid(&name, "desk")]);
            assert!(fixture.store().enable(BY, agent01(), entry()).await.unwrap());
        }
    }
}

on_every_store! {
    async fn a_role_that_is_revoked_while_it_is_told_ends_the_grant(fixture: &Fixture) {
        fixture.session("first", LoginMethod::Oauth2, None).await;
        for round in 0..ROUNDS {
            let name = format!("round {round}");
            let (one, other, new) = (fixture.node(0), fixture.node(1), new_grant("first", "desk", &name));
            let beginning = tokio::spawn(async move { one.begin_grant(new).await.unwrap() });
            other.revoke(BY, agent01(), Role::User, true, entry()).await.unwrap();
            let outcome = beginning.await.unwrap();
            let refused = outcome == GrantOutcome::Revoked(Revocation::RoleTakenAway(Role::User));
            assert!(refused || outcome == GrantOutcome::Begun, "{outcome:?}");
            assert!(!is_live(fixture.store(), &name).await, "{name}: {outcome:?}");
            assert_eq!(deliver(fixture.store()).await.is_empty(), refused, "{name}");
            assert!(fixture.store().grant(BY, agent01(), Role::User, entry()).await.unwrap());
        }
    }
}

on_every_store! {
    async fn a_client_that_is_disabled_has_nothing_that_begins(fixture: &Fixture) {
        let store = fixture.store();
        assert!(store.add_oidc_client(BY, client("desk"), entry()).await.unwrap());
        fixture.session("first", LoginMethod::Oauth2, None).await;
        for round in 0..ROUNDS {
            let name = format!("round {round}");
            let new = NewGrant { client: registered("desk"), ..new_grant("first", "desk", &name) };
            let (one, other) = (fixture.node(0), fixture.node(1));
            let beginning = tokio::spawn(async move { one.begin_grant(new).await.unwrap() });
            assert!(other.set_oidc_client_enabled(BY, "desk".to_owned(), false, at(3_000), entry()).await.unwrap());
            let outcome = beginning.await.unwrap();
            assert!([GrantOutcome::Begun, GrantOutcome::ClientDisabled].contains(&outcome), "{outcome:?}");
            assert_eq!(finish(store, "desk").await, usize::from(outcome == GrantOutcome::Begun), "{name}");
            assert!(!is_live(store, &name).await, "{name}: {outcome:?}");
            assert!(store.set_oidc_client_enabled(BY, "desk".to_owned(), true, at(3_000), entry()).await.unwrap());
        }
        assert!(told(store).await.len() <= 1);
    }
}

on_every_store! {
    async fn one_node_adds_a_key_and_one_subject_is_given(fixture: &Fixture) {
        let (mut keys, mut subjects) = (JoinSet::new(), JoinSet::new());
        for number in 0..16 {
            let (node, key) = (fixture.node(number), crate::oidc::keys::key(&format!("key {number}"), number));
            let condition = deskpass_store::KeyCondition::NoneOfAlgorithm;
            keys.spawn(async move { node.add_signing_key(key, condition, entry()).await.unwrap() });
            let node = fixture.node(number);
            subjects.spawn(async move { node.subject(agent01(), format!("subject {number}")).await.unwrap().unwrap() });
        }
        assert_eq!(keys.join_all().await.into_iter().filter(|added| *added).count(), 1);
        let mut given = subjects.join_all().await;
        given.dedup();
        assert_eq!(given.len(), 1);
        let person = fixture.store().listed_person(agent01()).await.unwrap().unwrap().person;
        assert_eq!(person.subject.as_ref(), given.first());
    }
}
