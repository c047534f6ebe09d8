//! The keys that sign ID tokens and logout tokens: which one signs, which are published, and when they are replaced.
//!
//! The rows are sealed. A row is opened once, and only as what its seal says: neither the public key in the row nor its identifier is
//! believed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deskpass_core::oidc::{
    KEY_LIFETIME, KEY_PUBLICATION, KEY_RETENTION, KeyTimes, SigningAlgorithm, active_key, is_published,
};
use deskpass_core::{ClientInfo, Timestamp};
use deskpass_store::{AccessRules, AuditEvent, KeyCondition, LogEntry, StoredSigningKey};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::signing_key::SigningKey;
use crate::credential_vault::SigningKeyName;
use crate::{Auth, Error, InternalError};

/// A key that signs at once does so since a little before it was made, so that it signs also on a node whose clock is behind.
const CLOCK_LEEWAY: Duration = Duration::from_mins(5);

/// How long a node waits for the key that another node has just made.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(2);

/// The keys that this node has opened.
#[derive(Debug, Default)]
pub struct SigningKeys {
    opened: Mutex<HashMap<String, Arc<SigningKey>>>,
    /// Held while the first key of an algorithm is made: all requests that wait for it need one.
    making: tokio::sync::Mutex<()>,
}

/// The keys of one algorithm.
struct KeysOfAlgorithm<'a> {
    rows: Vec<&'a StoredSigningKey>,
    times: Vec<KeyTimes>,
}

impl<'a> KeysOfAlgorithm<'a> {
    fn of(rules: &'a AccessRules, algorithm: SigningAlgorithm) -> Self {
        let rows: Vec<_> = rules.oidc_keys.iter().filter(|row| row.algorithm == algorithm).collect();
        let times = rows.iter().map(|row| row.times).collect();
        Self { rows, times }
    }

    /// The key that signs now.
    fn active(&self, now: Timestamp) -> Option<&'a StoredSigningKey> {
        self.rows.get(active_key(&self.times, now)?).copied()
    }

    /// The keys that are published, the one that signs now first.
    fn published(&self, now: Timestamp) -> Vec<&'a StoredSigningKey> {
        let active = self.active(now).map(|row| &row.kid);
        let positions = (0..self.rows.len()).filter(|at| is_published(&self.times, *at, now));
        let mut rows: Vec<_> = positions.filter_map(|at| self.rows.get(at).copied()).collect();
        rows.sort_by_key(|row| (Some(&row.kid) != active, row.times.active_from));
        rows
    }

    /// The key that signs last, unless it is withdrawn.
    fn newest(&self) -> Option<&'a StoredSigningKey> {
        let usable = self.rows.iter().filter(|row| row.times.withdrawn_at.is_none());
        usable.max_by_key(|row| (row.times.active_from, row.times.created_at)).copied()
    }

    /// The times of the next key, if it is due to be published.
    fn next_times(&self, now: Timestamp) -> Option<KeyTimes> {
        let newest = self.newest()?;
        let replaced_at = newest.times.active_from + KEY_LIFETIME;
        if now + KEY_PUBLICATION < replaced_at {
            return None;
        }
        Some(KeyTimes { created_at: now, active_from: replaced_at.max(now + KEY_PUBLICATION), withdrawn_at: None })
    }

    /// The keys that are of no use any more.
    fn obsolete(&self, now: Timestamp) -> impl Iterator<Item = String> {
        let is_obsolete = move |at: usize, times: &KeyTimes| {
            let withdrawn = times.withdrawn_at.is_some_and(|withdrawn_at| withdrawn_at + KEY_RETENTION < now);
            withdrawn || (times.withdrawn_at.is_none() && !is_published(&self.times, at, now))
        };
        let rows = self.rows.iter().zip(&self.times).enumerate();
        rows.filter(move |(at, (_, times))| is_obsolete(*at, times)).map(|(_, (row, _))| row.kid.clone())
    }
}

impl SigningKeys {
    fn get(&self, kid: &str) -> Option<Arc<SigningKey>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).get(kid).cloned()
    }

    /// Keeps an opened key, and drops those without a row.
    fn keep(&self, key: &Arc<SigningKey>, rules: &AccessRules) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.retain(|kid, _| rules.oidc_keys.iter().any(|row| row.kid == *kid));
        opened.insert(key.kid().to_owned(), Arc::clone(key));
    }
}

impl Auth {
    /// The key that signs now. The first key of an algorithm is made when it is needed.
    pub async fn signing_key(&self, algorithm: SigningAlgorithm) -> Result<Arc<SigningKey>, Error> {
        let rules = self.store.access_rules().await?;
        if let Some(row) = KeysOfAlgorithm::of(&rules, algorithm).active(self.clock.now()) {
            return self.open_signing_key(row, &rules);
        }
        self.make_first_key(algorithm).await?;
        let rules = self.store.access_rules().await?;
        let row = KeysOfAlgorithm::of(&rules, algorithm).active(self.clock.now());
        self.open_signing_key(row.ok_or(InternalError::SigningKey("there is none"))?, &rules)
    }

    /// The public keys, as a JWK set (RFC 7517 §5). It has a key of every algorithm that a client uses.
    pub async fn jwks(&self) -> Result<Arc<str>, Error> {
        self.ensure_signing_keys().await?;
        let (rules, now) = (self.store.access_rules().await?, self.clock.now());
        let mut keys = Vec::new();
        for row in SigningAlgorithm::ALL.into_iter().flat_map(|known| KeysOfAlgorithm::of(&rules, known).published(now))
        {
            match self.open_signing_key(row, &rules) {
                Ok(key) => keys.push(key.public_jwk()),
                // The others still verify what they signed.
                Err(error) => tracing::error!(kid = row.kid, %error, "a signing key is not published"),
            }
        }
        Ok(json!({ "keys": Value::Array(keys) }).to_string().into())
    }

    /// The published key with this identifier.
    pub(crate) async fn published_key(&self, kid: &str) -> Result<Option<Arc<SigningKey>>, Error> {
        let (rules, now) = (self.store.access_rules().await?, self.clock.now());
        let Some(algorithm) = rules.oidc_keys.iter().find(|row| row.kid == kid).map(|row| row.algorithm) else {
            return Ok(None);
        };
        let published = KeysOfAlgorithm::of(&rules, algorithm).published(now);
        let Some(row) = published.into_iter().find(|row| row.kid == kid) else { return Ok(None) };
        self.open_signing_key(row, &rules).map(Some)
    }

    /// Makes the first key of each algorithm that a client uses. Without clients, there are no keys.
    pub async fn ensure_signing_keys(&self) -> Result<(), Error> {
        let (rules, now) = (self.store.access_rules().await?, self.clock.now());
        for algorithm in self.used_algorithms(&rules) {
            if KeysOfAlgorithm::of(&rules, algorithm).active(now).is_none() {
                self.make_first_key(algorithm).await?;
            }
        }
        Ok(())
    }

    /// Makes a new key of each algorithm in use, and returns their identifiers. They sign after a day, which clients have to fetch
    /// them; a key that waits for that already is not followed by another one. With `now` they sign at once, and all others are
    /// withdrawn: for keys that leaked.
    pub async fn rotate_signing_keys(&self, now: bool) -> Result<Vec<String>, Error> {
        let (rules, at) = (self.store.access_rules().await?, self.clock.now());
        let with_keys = rules.oidc_keys.iter().map(|row| row.algorithm);
        let algorithms: BTreeSet<_> = self.used_algorithms(&rules).into_iter().chain(with_keys).collect();
        let mut kids = Vec::new();
        for algorithm in algorithms {
            let keys = KeysOfAlgorithm::of(&rules, algorithm);
            let newest = keys.newest().map(|row| row.times);
            if let Some(waiting) = keys.newest().filter(|row| !now && row.times.active_from > at) {
                kids.push(waiting.kid.clone());
                continue;
            }
            let (active_from, condition) = match newest {
                _ if now => (at - CLOCK_LEEWAY, KeyCondition::WithdrawOthers(at)),
                Some(newest) => (at + KEY_PUBLICATION, KeyCondition::NoNewerThan(newest.created_at)),
                None => (at - CLOCK_LEEWAY, KeyCondition::NoneOfAlgorithm),
            };
            let times = KeyTimes { created_at: at, active_from, withdrawn_at: None };
            kids.extend(self.make_key(algorithm, times, condition, &ClientInfo::operator()).await?);
        }
        Ok(kids)
    }

    /// Makes the next key of each algorithm in use when the current one has signed for long enough, and removes the keys that are of
    /// no use any more. Called by the node that sweeps.
    pub async fn maintain_signing_keys(&self) -> Result<(), Error> {
        let (rules, now) = (self.store.access_rules().await?, self.clock.now());
        self.ensure_signing_keys().await?;
        for algorithm in self.used_algorithms(&rules) {
            let keys = KeysOfAlgorithm::of(&rules, algorithm);
            if let Some((times, newest)) = keys.next_times(now).zip(keys.newest()) {
                let condition = KeyCondition::NoNewerThan(newest.times.created_at);
                self.make_key(algorithm, times, condition, &ClientInfo::service()).await?;
            }
        }
        let obsolete: Vec<_> = SigningAlgorithm::ALL
            .into_iter()
            .flat_map(|known| KeysOfAlgorithm::of(&rules, known).obsolete(now).collect::<Vec<_>>())
            .collect();
        if !obsolete.is_empty() {
            self.store.remove_signing_keys(obsolete).await?;
        }
        Ok(())
    }

    /// The algorithms that clients use.
    fn used_algorithms(&self, rules: &AccessRules) -> BTreeSet<SigningAlgorithm> {
        let registered = rules.oidc_clients().map(|client| client.registration.algorithm);
        let in_file = self.policy.oidc.clients.values().map(|client| client.registration.algorithm);
        registered.chain(in_file).collect()
    }

    /// Opens the key of a row, once.
    fn open_signing_key(&self, row: &StoredSigningKey, rules: &AccessRules) -> Result<Arc<SigningKey>, Error> {
        if let Some(key) = self.signing_keys.get(&row.kid).filter(|key| key.algorithm() == row.algorithm) {
            return Ok(key);
        }
        let name = SigningKeyName { kid: &row.kid, algorithm: row.algorithm };
        let private = self.credential_vault.unseal_signing_key(&row.sealed, name)?;
        let key = Arc::new(SigningKey::open(row.algorithm, &private)?);
        if key.kid() != row.kid {
            return Err(InternalError::SigningKey("its identifier is that of another key").into());
        }
        self.signing_keys.keep(&key, rules);
        Ok(key)
    }

    /// Makes the first key of an algorithm, which signs at once, unless another request or another node has just done so.
    async fn make_first_key(&self, algorithm: SigningAlgorithm) -> Result<(), Error> {
        let _making = self.signing_keys.making.lock().await;
        let (rules, now) = (self.store.access_rules().await?, self.clock.now());
        if KeysOfAlgorithm::of(&rules, algorithm).active(now).is_some() {
            return Ok(());
        }
        let times = KeyTimes { created_at: now, active_from: now - CLOCK_LEEWAY, withdrawn_at: None };
        let made = self.make_key(algorithm, times, KeyCondition::NoneOfAlgorithm, &ClientInfo::service()).await?;
        if made.is_none() {
            // Another node was first, and this one may not have heard of it yet. If it cannot, the request fails, and others do not wait.
            drop(timeout(CATCH_UP_TIMEOUT, self.store.wait_until_caught_up()).await);
        }
        Ok(())
    }

    /// Makes a key and stores it; `None` if the condition does not hold.
    async fn make_key(
        &self,
        algorithm: SigningAlgorithm,
        times: KeyTimes,
        condition: KeyCondition,
        visitor: &ClientInfo,
    ) -> Result<Option<String>, Error> {
        // Another node may have replaced the key that it is sealed with.
        self.follow_keys().await?;
        // An RSA key takes a large part of a second.
        let made = tokio::task::spawn_blocking(move || SigningKey::generate(algorithm)).await;
        let (key, private) = made.map_err(|_| InternalError::SigningKey("making one was interrupted"))??;
        let kid = key.kid().to_owned();
        let name = SigningKeyName { kid: &kid, algorithm };
        let sealed = self.credential_vault.seal_signing_key(&private.0, name)?;
        let row =
            StoredSigningKey { kid: kid.clone(), algorithm, public_jwk: key.public_jwk().to_string(), sealed, times };
        let withdraws = matches!(condition, KeyCondition::WithdrawOthers(_));
        let event = if withdraws { AuditEvent::OidcKeyWithdrawn } else { AuditEvent::OidcKeyAdded };
        let detail = if withdraws {
            format!("{algorithm}: key {kid} replaces all others")
        } else {
            format!("{algorithm}: key {kid}")
        };
        let plain = self.plain_entry(event, &self.deployment_key(), times.created_at, visitor)?;
        if !self.store.add_signing_key(row.clone(), condition, LogEntry { detail, ..plain }).await? {
            return Ok(None);
        }
        tracing::info!(kid, algorithm = algorithm.name(), withdraws, "signing key added");
        // If it was replaced meanwhile, the others have been moved without this one.
        self.follow_keys().await?;
        self.move_signing_key(&row).await?;
        Ok(Some(kid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: u64) -> Timestamp {
        Timestamp::from_millis(0) + Duration::from_hours(hours)
    }

    fn rules(rows: &[(&str, u64, u64)]) -> AccessRules {
        let row = |(kid, created, active): &(&str, u64, u64)| StoredSigningKey {
            kid: (*kid).to_owned(),
            algorithm: SigningAlgorithm::Es256,
            public_jwk: String::new(),
            sealed: String::new(),
            times: KeyTimes { created_at: at(*created), active_from: at(*active), withdrawn_at: None },
        };
        let mut rules = AccessRules::default();
        rules.oidc_keys = rows.iter().map(row).collect();
        rules
    }

    fn kids(rows: &[&StoredSigningKey]) -> Vec<String> {
        rows.iter().map(|row| row.kid.clone()).collect()
    }

    const LIFETIME: u64 = 90 * 24;

    #[test]
    fn the_next_key_is_published_a_day_before_it_signs() {
        let rules = rules(&[("a", 0, 0)]);
        let keys = KeysOfAlgorithm::of(&rules, SigningAlgorithm::Es256);
        assert_eq!(keys.next_times(at(LIFETIME - 25)), None);
        let next = KeyTimes { created_at: at(LIFETIME - 24), active_from: at(LIFETIME), withdrawn_at: None };
        assert_eq!(keys.next_times(at(LIFETIME - 24)), Some(next));
        // A service that was off for longer still publishes it for a day.
        assert_eq!(keys.next_times(at(LIFETIME + 9)).map(|next| next.active_from), Some(at(LIFETIME + 33)));
        assert!(KeysOfAlgorithm::of(&rules, SigningAlgorithm::Rs256).next_times(at(LIFETIME)).is_none());
    }

    #[test]
    fn the_key_that_signs_is_listed_first_and_a_replaced_one_for_a_week() {
        let rules = rules(&[("a", 0, 0), ("b", 100, 124)]);
        let keys = KeysOfAlgorithm::of(&rules, SigningAlgorithm::Es256);
        assert_eq!(kids(&keys.published(at(100))), ["a", "b"]);
        assert_eq!(kids(&keys.published(at(124))), ["b", "a"]);
        assert_eq!(keys.obsolete(at(124 + 167)).count(), 0);
        assert_eq!(kids(&keys.published(at(124 + 168))), ["b"]);
        assert_eq!(keys.obsolete(at(124 + 168)).collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn a_withdrawn_key_is_not_published_and_is_removed_after_a_week() {
        let mut rules = rules(&[("a", 0, 0), ("b", 10, 10)]);
        if let Some(row) = rules.oidc_keys.first_mut() {
            row.times.withdrawn_at = Some(at(10));
        }
        let keys = KeysOfAlgorithm::of(&rules, SigningAlgorithm::Es256);
        assert_eq!(kids(&keys.published(at(10))), ["b"]);
        assert_eq!((keys.obsolete(at(10)).count(), keys.obsolete(at(10 + 169)).count()), (0, 1));
    }
}
