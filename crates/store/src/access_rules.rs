//! The rules that administrators make for everybody: from where a role may be active, and which services may ask.
//!
//! They are few and every request wants them, so they are kept whole.

use std::collections::HashMap;
use std::sync::Arc;

use deskpass_core::{AllowLists, Digest};
use tokio::time::timeout;

use crate::database::{Sql, Tx};
use crate::sessions::CACHE_FILL_TIMEOUT;
use crate::{ServiceKey, Store, StoreError, ip_rules, service_keys};

/// All rules at one moment.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// From where each role may be active.
    pub lists: AllowLists,
    keys: HashMap<Digest, ServiceKey>,
}

impl AccessRules {
    /// The service key that hashes to this. A revoked one is not found; whether it has expired is for the caller to tell.
    #[must_use]
    pub fn service_key(&self, digest: &Digest) -> Option<&ServiceKey> {
        self.keys.get(digest)
    }
}

impl Store {
    /// The rules that count.
    ///
    /// # Errors
    /// When the store fails; then nobody knows what is allowed.
    pub async fn access_rules(&self) -> Result<Arc<AccessRules>, StoreError> {
        if !self.cache.is_trusted() {
            return self.read_access_rules().await;
        }
        if let Some(rules) = self.cache.rules.get(&()) {
            return Ok(rules);
        }
        let gap = match timeout(CACHE_FILL_TIMEOUT, self.cache.rules.get_value_or_guard_async(&())).await {
            Ok(Ok(rules)) => return Ok(rules),
            Ok(Err(gap)) => gap,
            Err(_) => return self.read_access_rules().await,
        };
        let rules = self.read_access_rules().await?;
        // Refused when the rules changed meanwhile; this reader's view is then simply not kept.
        let _ = gap.insert(Arc::clone(&rules));
        Ok(rules)
    }

    /// What the database says, past the cache.
    async fn read_access_rules(&self) -> Result<Arc<AccessRules>, StoreError> {
        self.database.read(|sql| read(sql).map(Arc::new)).await
    }
}

fn read(sql: &Sql<'_>) -> Result<AccessRules, StoreError> {
    Ok(AccessRules { lists: ip_rules::read_allow_lists(sql)?, keys: service_keys::read_unrevoked(sql)? })
}

/// Of several who change rules or administrators, one at a time: what each of them decides depends on what the others did.
pub(crate) fn lock_administration(tx: &Tx<'_>) -> Result<(), StoreError> {
    tx.execute("UPDATE role SET name = name WHERE id = 1", &[]).map(drop)
}

#[cfg(test)]
mod tests {
    use crate::cache::{Cache, CacheChange, Freshness};

    use super::*;

    #[test]
    fn a_read_from_before_a_change_is_not_cached_after_it() {
        let cache = Cache::new(10, Freshness::permanent());
        let forgets: [fn(&Cache); 2] = [|cache| cache.apply(CacheChange::Rules), Cache::clear];
        for forget in forgets {
            let gap = cache.rules.get_value_or_guard(&(), None);
            let quick_cache::sync::GuardResult::Guard(gap) = gap else { panic!("nobody filled it") };
            forget(&cache);
            assert!(gap.insert(Arc::default()).is_err());
            assert!(cache.rules.get(&()).is_none());
        }
        cache.rules.insert((), Arc::default());
        assert!(cache.rules.get(&()).is_some());
        cache.apply(CacheChange::Rules);
        assert!(cache.rules.get(&()).is_none());
    }
}
