//! The rules hold for every reader, from the moment they are changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deskpass_core::{EmployeeKey, Role, ServiceScope, ServiceScopes};
use deskpass_store::{AuditEvent, ChangeAuthor, ServiceKey, Store};
use ipnet::IpNet;

use crate::agents::fixture::{DAY, Fixture, agent01, at, digest, on_every_store};
use crate::lists::scene::{entry, soon};

fn network(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// Restricts administrators to this network.
async fn set(store: &Store, text: &str) -> bool {
    store
        .set_ip_rules(
            ChangeAuthor::NoSession,
            vec![(Role::Admin, network(text))],
            entry(AuditEvent::IpRulesChanged, &agent01()),
        )
        .await
        .unwrap()
}

async fn admins_come_from(store: &Store, text: &str) -> bool {
    store.access_rules().await.unwrap().lists.list(Role::Admin) == [network(text)]
}

fn key(id: &str) -> ServiceKey {
    ServiceKey {
        id: id.to_owned(),
        name: format!("Name of {id}"),
        scopes: ServiceScopes::NONE.with(ServiceScope::Introspect),
        created_at: at(10),
        created_by: Some(agent01()),
        expires_at: at(DAY),
        revoked_at: None,
    }
}

async fn add(store: &Store, id: &str, key: ServiceKey) {
    store
        .add_service_key(ChangeAuthor::NoSession, digest(id), key, entry(AuditEvent::ServiceKeyCreated, &agent01()))
        .await
        .unwrap();
}

async fn revoke(store: &Store, id: &str) -> Option<bool> {
    store
        .revoke_service_key(
            ChangeAuthor::NoSession,
            id.to_owned(),
            at(20),
            entry(AuditEvent::ServiceKeyRevoked, &agent01()),
        )
        .await
        .unwrap()
}

on_every_store! {
    async fn the_lists_are_what_was_set_last(fixture: &Fixture) {
        let store = fixture.store();
        assert!(store.access_rules().await.unwrap().lists.is_empty());
        let rules = vec![
            (Role::Security, network("2001:db8::/32")),
            (Role::Admin, network("10.9.8.7/8")),
            (Role::Admin, network("192.0.2.0/24")),
            (Role::Admin, network("10.0.0.0/8")),
        ];
        let log = || entry(AuditEvent::IpRulesChanged, &agent01());
        assert!(store.set_ip_rules(ChangeAuthor::NoSession, rules.clone(), log()).await.unwrap());
        assert!(!store.set_ip_rules(ChangeAuthor::NoSession, rules, log()).await.unwrap(), "the same once more");
        let told = store.ip_rules().await.unwrap();
        let told: Vec<_> = told.iter().map(|(role, network)| format!("{role} {network}")).collect();
        assert_eq!(told, ["admin 10.0.0.0/8", "admin 192.0.2.0/24", "security 2001:db8::/32"]);
        let book = store.access_rules().await.unwrap();
        assert!(!book.lists.allow(Role::Admin, [203, 0, 113, 9].into()));
        assert!(book.lists.allow(Role::User, [203, 0, 113, 9].into()));
        assert!(store.set_ip_rules(ChangeAuthor::NoSession, Vec::new(), log()).await.unwrap());
        assert!(store.access_rules().await.unwrap().lists.is_empty());
    }
}

on_every_store! {
    async fn of_two_who_replace_the_lists_one_is_right_in_the_end(fixture: &Fixture) {
        for round in 0..30_u8 {
            let (one, other) = (fixture.node(0), fixture.node(1));
            let texts = [1, 2].map(|half| format!("10.{round}.{half}.0/24"));
            let (mine, yours) = (set(&one, &texts[0]), set(&other, &texts[1]));
            assert_eq!(tokio::join!(mine, yours), (true, true));
            let list = fixture.store().ip_rules().await.unwrap();
            assert_eq!(list.len(), 1, "{list:?}");
        }
    }
}

on_every_store! {
    async fn a_key_is_found_until_it_is_revoked(fixture: &Fixture) {
        let store = fixture.store();
        add(store, "one", key("one")).await;
        add(store, "two", ServiceKey { created_by: None, created_at: at(11), ..key("two") }).await;
        let book = store.access_rules().await.unwrap();
        assert_eq!(book.service_key(&digest("one")), Some(&key("one")));
        assert_eq!(book.service_key(&digest("three")), None);
        assert!(book.service_key(&digest("one")).unwrap().is_active(at(DAY - 1)));
        assert!(!book.service_key(&digest("one")).unwrap().is_active(at(DAY)));
        assert_eq!(revoke(store, "one").await, Some(true));
        assert_eq!(revoke(store, "one").await, Some(false));
        assert_eq!(revoke(store, "three").await, None);
        assert_eq!(store.access_rules().await.unwrap().service_key(&digest("one")), None);
        assert!(store.access_rules().await.unwrap().service_key(&digest("two")).is_some());
        let listed = store.service_keys().await.unwrap();
        assert_eq!(listed.iter().map(|key| &*key.id).collect::<Vec<_>>(), ["two", "one"]);
        assert_eq!(listed[1], ServiceKey { revoked_at: Some(at(20)), ..key("one") });
        assert!(!listed[1].is_active(at(20)));
        let same = store.add_service_key(ChangeAuthor::NoSession, digest("one"), key("four"), entry(AuditEvent::ServiceKeyCreated, &agent01())).await;
        assert!(same.is_err(), "two keys of one value");
    }
}

on_every_store! {
    async fn the_book_is_kept_until_it_changes(fixture: &Fixture) {
        let store = fixture.store();
        assert!(soon(async || store.is_cache_trusted()).await);
        let first = store.access_rules().await.unwrap();
        let kept = async || store.is_cache_trusted() && Arc::ptr_eq(&store.access_rules().await.unwrap(), &store.access_rules().await.unwrap());
        assert!(soon(kept).await);
        assert!(set(store, "10.0.0.0/8").await);
        assert!(!Arc::ptr_eq(&first, &store.access_rules().await.unwrap()));
    }
}

on_every_store! {
    async fn a_change_counts_at_once_on_its_node_despite_concurrent_reads(fixture: &Fixture) {
        let over = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..4)
            .map(|number| {
                let (store, over) = (fixture.node(number), Arc::clone(&over));
                tokio::spawn(async move {
                    while !over.load(Ordering::Relaxed) {
                        let _ = store.access_rules().await.unwrap();
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for round in 0..100_u8 {
            let text = format!("10.{round}.0.0/16");
            assert!(set(fixture.store(), &text).await);
            assert!(admins_come_from(fixture.store(), &text).await, "round {round}");
        }
        over.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_on_one_node_counts_on_the_other_within_a_second() {
    let fixture = Fixture::scaled_out().await;
    let (here, there) = (fixture.node(0), fixture.node(1));
    assert!(soon(async || there.is_cache_trusted()).await);
    for round in 0..10_u8 {
        let text = format!("10.{round}.0.0/16");
        let _ = there.access_rules().await.unwrap();
        assert!(set(&here, &text).await);
        assert!(soon(async || admins_come_from(&there, &text).await).await, "round {round}");
    }
    add(&here, "one", key("one")).await;
    assert!(soon(async || there.access_rules().await.unwrap().service_key(&digest("one")).is_some()).await);
    assert_eq!(revoke(&here, "one").await, Some(true));
    assert!(soon(async || there.access_rules().await.unwrap().service_key(&digest("one")).is_none()).await);
}

on_every_store! {
    async fn the_maker_of_a_key_may_be_of_another_corporation(fixture: &Fixture) {
        let maker = EmployeeKey::from_parts("wwother", "Agent01");
        add(fixture.store(), "one", ServiceKey { created_by: Some(maker.clone()), ..key("one") }).await;
        assert_eq!(fixture.store().service_keys().await.unwrap()[0].created_by, Some(maker));
    }
}
