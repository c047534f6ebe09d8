//! Signing keys.

use deskpass_core::oidc::{KeyTimes, SigningAlgorithm};
use deskpass_store::{KeyCondition, Store, StoredSigningKey};

use crate::agents::fixture::{Fixture, at, entry, on_every_store};

/// A key that was made at this time.
pub(super) fn key(kid: &str, created: usize) -> StoredSigningKey {
    let created_at = at(i64::try_from(created).unwrap());
    StoredSigningKey {
        kid: kid.to_owned(),
        algorithm: SigningAlgorithm::Rs256,
        public_jwk: format!("{{\"kid\":\"{kid}\"}}"),
        sealed: format!("sealed {kid}"),
        times: KeyTimes { created_at, active_from: created_at, withdrawn_at: None },
    }
}

async fn kids(store: &Store) -> Vec<(String, bool)> {
    let rules = store.access_rules().await.unwrap();
    rules.oidc_keys.iter().map(|key| (key.kid.clone(), key.times.withdrawn_at.is_some())).collect()
}

on_every_store! {
    async fn a_key_is_added_under_its_condition(fixture: &Fixture) {
        let store = fixture.store();
        let add = async |key, condition| store.add_signing_key(key, condition, entry()).await.unwrap();
        assert!(add(key("one", 10), KeyCondition::NoneOfAlgorithm).await);
        assert!(!add(key("two", 20), KeyCondition::NoneOfAlgorithm).await);
        let other = StoredSigningKey { algorithm: SigningAlgorithm::Es256, ..key("other", 15) };
        assert!(add(other, KeyCondition::NoneOfAlgorithm).await);
        assert!(add(key("two", 20), KeyCondition::NoNewerThan(at(10))).await);
        assert!(!add(key("three", 30), KeyCondition::NoNewerThan(at(10))).await);
        assert!(!add(key("two", 40), KeyCondition::WithdrawOthers(at(40))).await, "it exists");
        let stored = [("one", false), ("other", false), ("two", false)].map(|(kid, gone)| (kid.to_owned(), gone));
        assert_eq!(kids(store).await, stored);
        assert_eq!(store.access_rules().await.unwrap().oidc_keys[0], key("one", 10));
        assert!(add(key("three", 50), KeyCondition::WithdrawOthers(at(50))).await);
        let stored = [("one", true), ("other", false), ("two", true), ("three", false)];
        assert_eq!(kids(store).await, stored.map(|(kid, gone)| (kid.to_owned(), gone)));
        assert_eq!(store.remove_signing_keys(vec!["one".to_owned(), "two".to_owned(), "none".to_owned()]).await.unwrap(), 2);
        assert_eq!(store.remove_signing_keys(Vec::new()).await.unwrap(), 0);
        assert_eq!(kids(store).await.len(), 2);
    }
}

on_every_store! {
    async fn a_key_is_sealed_anew_once(fixture: &Fixture) {
        let store = fixture.store();
        assert!(store.add_signing_key(key("one", 10), KeyCondition::NoneOfAlgorithm, entry()).await.unwrap());
        let seal = async |old: &str| store.replace_sealed_key("one".to_owned(), old.to_owned(), "anew".to_owned()).await.unwrap();
        assert!(!seal("another").await && seal("sealed one").await && !seal("sealed one").await);
        let rules = store.access_rules().await.unwrap();
        assert_eq!(&*rules.oidc_keys[0].sealed, "anew");
        assert!(!format!("{:?}", rules.oidc_keys).contains("anew"), "it is not printed");
    }
}
