//! The rules that administrators make for everybody: from where a role may be active, and which services may ask.
//!
//! They are few and every request wants them, so they are kept whole.

use std::collections::HashMap;
use std::sync::Arc;

use deskpass_core::{AllowLists, Digest, EmployeeKey, ServiceScope, ServiceScopes, Timestamp};
use tokio::time::timeout;

use crate::cache::CACHE_FILL_TIMEOUT;
use crate::database::{Row, Sql};
use crate::{Store, StoreError};

/// What is known of a service key; the key itself is nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceKey {
    /// Names it, and opens nothing.
    pub id: String,
    /// What somebody called it.
    pub name: String,
    /// What it opens.
    pub scopes: ServiceScopes,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it, where it was not an operator.
    pub created_by: Option<EmployeeKey>,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl ServiceKey {
    /// Whether it opens anything at `now`.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }

    /// How it stands at `now`, in a word.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> &'static str {
        match self.revoked_at {
            Some(_) => "revoked",
            None if self.is_active(now) => "active",
            None => "expired",
        }
    }
}

pub(crate) const SERVICE_KEY_COLUMNS: &str =
    "SELECT id, name, scopes, created_at, created_by_corp, created_by_key, expires_at, revoked_at, digest
    FROM service_key";

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
    Ok(AccessRules { lists: read_allow_lists(sql)?, keys: read_unrevoked(sql)? })
}

/// Every key that is not revoked, by what it hashes to.
fn read_unrevoked(sql: &Sql<'_>) -> Result<HashMap<Digest, ServiceKey>, StoreError> {
    let text = format!("{SERVICE_KEY_COLUMNS} WHERE revoked_at IS NULL");
    // One that cannot be read opens nothing, and must not keep everybody else out.
    let keys = sql.rows(&text, &[], |row| Ok(Digest::from_text(&row.text(8)?).zip(Some(service_key(row)?))))?;
    Ok(keys.into_iter().flatten().collect())
}

pub(crate) fn service_key(row: &Row<'_>) -> Result<ServiceKey, StoreError> {
    let maker = row.maybe_text(4)?.zip(row.maybe_text(5)?);
    Ok(ServiceKey {
        id: row.text(0)?,
        name: row.text(1)?,
        // A node of a later version may know more of them; here such a key opens less, and nothing else stops.
        scopes: row.text(2)?.split(' ').filter_map(ServiceScope::from_name).collect(),
        created_at: row.timestamp(3)?,
        created_by: maker.map(|(corp, id)| EmployeeKey::from_parts(&corp, &id)),
        expires_at: row.timestamp(6)?,
        revoked_at: row.maybe_int(7)?.map(Timestamp::from_millis),
    })
}

pub(crate) fn read_allow_lists(sql: &Sql<'_>) -> Result<AllowLists, StoreError> {
    let rows = sql.rows("SELECT role_id, network FROM ip_rule", &[], |row| {
        // A network that cannot be read must not turn into a role without a list.
        let network = row.text(1)?.parse().map_err(|_| StoreError::damaged("unreadable network"))?;
        Ok((row.role(0)?, network))
    })?;
    Ok(rows.into_iter().collect())
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
