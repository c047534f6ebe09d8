//! The rules that administrators make for everybody: from where a role may be active, and which services may ask.
//!
//! They are few and every request wants them, so they are kept whole.

use std::collections::HashMap;
use std::sync::Arc;

use deskpass_core::{AllowLists, Digest};
use tokio::time::timeout;

use crate::database::{Sql, Tx};
use crate::sessions::PATIENCE;
use crate::{ServiceKey, Store, StoreError, ip_rules, service_keys};

/// All rules at one moment.
#[derive(Clone, Debug, Default)]
pub struct Rulebook {
    /// From where each role may be active.
    pub lists: AllowLists,
    keys: HashMap<Digest, ServiceKey>,
}

impl Rulebook {
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
    pub async fn rulebook(&self) -> Result<Arc<Rulebook>, StoreError> {
        if !self.cache.is_right() {
            return self.read_rulebook().await;
        }
        if let Some(book) = self.cache.rules.get(&()) {
            return Ok(book);
        }
        let gap = match timeout(PATIENCE, self.cache.rules.get_value_or_guard_async(&())).await {
            Ok(Ok(book)) => return Ok(book),
            Ok(Err(gap)) => gap,
            Err(_) => return self.read_rulebook().await,
        };
        let book = self.read_rulebook().await?;
        // Refused when the rules changed meanwhile; this reader's view is then simply not kept.
        let _ = gap.insert(Arc::clone(&book));
        Ok(book)
    }

    /// What the database says, past the cache.
    async fn read_rulebook(&self) -> Result<Arc<Rulebook>, StoreError> {
        self.database.read(|sql| read(sql).map(Arc::new)).await
    }
}

fn read(sql: &Sql<'_>) -> Result<Rulebook, StoreError> {
    Ok(Rulebook { lists: ip_rules::lists(sql)?, keys: service_keys::good(sql)? })
}

/// Of several who change rules or administrators, one at a time: what each of them decides depends on what the others did.
pub(crate) fn take_turns(tx: &Tx<'_>) -> Result<(), StoreError> {
    tx.execute("UPDATE role SET name = name WHERE id = 1", &[]).map(drop)
}

#[cfg(test)]
mod tests {
    use crate::cache::{Cache, Change, Proof};

    use super::*;

    #[test]
    fn whoever_read_before_a_change_does_not_put_back_what_it_took_away() {
        let cache = Cache::new(10, Proof::always());
        let forgets: [fn(&Cache); 2] = [|cache| cache.apply(Change::Rules), Cache::clear];
        for forget in forgets {
            let gap = cache.rules.get_value_or_guard(&(), None);
            let quick_cache::sync::GuardResult::Guard(gap) = gap else { panic!("nobody filled it") };
            forget(&cache);
            assert!(gap.insert(Arc::default()).is_err());
            assert!(cache.rules.get(&()).is_none());
        }
        cache.rules.insert((), Arc::default());
        assert!(cache.rules.get(&()).is_some());
        cache.apply(Change::Rules);
        assert!(cache.rules.get(&()).is_none());
    }
}
