//! Access rules that administrators set: the networks in which a role may be active, the service keys, the rules that give roles, and
//! the clients of OpenID Connect with the keys that sign for them.
//!
//! The rules are few and every request needs them, so the cache holds all of them in one entry.

use std::collections::HashMap;
use std::sync::Arc;

use deskpass_core::{
    AllowLists, Digest, EmployeeKey, Role, RoleRule, RuleGroup, ServiceScope, ServiceScopes, Timestamp,
};

use crate::cache::CacheLookup;
use crate::database::{Row, Sql};
use crate::oidc::{StoredClients, read_clients, read_keys};
use crate::{OidcClient, Result, Store, StoreError, StoredSigningKey};

/// A service key's record. The store has only the digest of the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceKey {
    /// Identifier of the key. It grants no access.
    pub id: String,
    /// Name that the key's creator chose.
    pub name: String,
    /// Scopes that the key grants.
    pub scopes: ServiceScopes,
    /// When the key was created.
    pub created_at: Timestamp,
    /// The administrator who created the key; `None` if an operator did.
    pub created_by: Option<EmployeeKey>,
    /// When the key expires.
    pub expires_at: Timestamp,
    /// When the key was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl ServiceKey {
    /// Whether the key is valid at `now`.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }

    /// Name of the key's state at `now`.
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

/// Snapshot of all access rules.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// Networks in which each role may be active.
    pub lists: AllowLists,
    keys: HashMap<Digest, ServiceKey>,
    role_rules: HashMap<String, Vec<RoleRule>>,
    oidc_clients: StoredClients,
    /// The signing keys for OpenID Connect, the oldest first.
    pub oidc_keys: Vec<StoredSigningKey>,
}

impl AccessRules {
    /// The service key with this digest. Revoked keys are not found; the caller checks whether the key has expired.
    #[must_use]
    pub fn service_key(&self, digest: &Digest) -> Option<&ServiceKey> {
        self.keys.get(digest)
    }

    /// The rules that give roles in a corporation, in order.
    #[must_use]
    pub fn role_rules(&self, corp: &str) -> &[RoleRule] {
        self.role_rules.get(corp).map_or(&[], Vec::as_slice)
    }

    /// The OpenID Connect client with this identifier, enabled or not.
    #[must_use]
    pub fn oidc_client(&self, id: &str) -> Option<&Arc<OidcClient>> {
        self.oidc_clients.registered.get(id)
    }

    /// All OpenID Connect clients, by identifier.
    pub fn oidc_clients(&self) -> impl Iterator<Item = &Arc<OidcClient>> {
        self.oidc_clients.registered.values()
    }

    /// The removed OpenID Connect client with this identifier, as long as it may have to be told of the end of sessions.
    #[must_use]
    pub fn removed_oidc_client(&self, id: &str) -> Option<&Arc<OidcClient>> {
        self.oidc_clients.removed.get(id)
    }

    /// The identifiers of the OpenID Connect clients, also removed ones, whose grants are being ended.
    pub fn ending_oidc_clients(&self) -> impl Iterator<Item = &str> {
        self.oidc_clients.ending.iter().map(String::as_str)
    }
}

impl Store {
    /// The current access rules. If the store fails, the caller must not allow the request.
    pub async fn access_rules(&self) -> Result<Arc<AccessRules>> {
        match self.cache.look_up(&self.cache.rules, &()).await {
            CacheLookup::Hit(rules) => Ok(rules),
            CacheLookup::Miss(gap) => {
                let rules = self.database.read(|sql| read(sql).map(Arc::new)).await?;
                gap.fill(Arc::clone(&rules));
                Ok(rules)
            }
        }
    }
}

fn read(sql: &Sql<'_>) -> Result<AccessRules> {
    let (lists, keys, role_rules) = (read_allow_lists(sql)?, read_unrevoked(sql)?, read_role_rules(sql)?);
    Ok(AccessRules { lists, keys, role_rules, oidc_clients: read_clients(sql)?, oidc_keys: read_keys(sql)? })
}

/// All keys that are not revoked, by digest.
fn read_unrevoked(sql: &Sql<'_>) -> Result<HashMap<Digest, ServiceKey>> {
    let text = format!("{SERVICE_KEY_COLUMNS} WHERE revoked_at IS NULL");
    // A key whose digest is unreadable grants no access, and must not make all other keys unusable.
    let keys = sql.rows(&text, &[], |row| Ok(Digest::from_text(&row.text(8)?).zip(Some(service_key(row)?))))?;
    Ok(keys.into_iter().flatten().collect())
}

pub(crate) fn service_key(row: &Row<'_>) -> Result<ServiceKey> {
    Ok(ServiceKey {
        id: row.text(0)?,
        name: row.text(1)?,
        // A node of a later version may know more scopes; this node ignores the unknown ones, so the key grants less here.
        scopes: row.text(2)?.split(' ').filter_map(ServiceScope::from_name).collect(),
        created_at: row.timestamp(3)?,
        created_by: row.maybe_employee(4)?,
        expires_at: row.timestamp(6)?,
        revoked_at: row.maybe_timestamp(7)?,
    })
}

pub(crate) fn read_allow_lists(sql: &Sql<'_>) -> Result<AllowLists> {
    let rows = sql.rows("SELECT role_id, network FROM ip_rule", &[], |row| {
        // An unreadable network must be an error: dropping it could leave a role without a list, and so without a restriction.
        let network = row.text(1)?.parse().map_err(|_| StoreError::damaged("unreadable network"))?;
        Ok((row.role(0)?, network))
    })?;
    Ok(rows.into_iter().collect())
}

/// The rules that give roles, by corporation, each list in order.
pub(crate) fn read_role_rules(sql: &Sql<'_>) -> Result<HashMap<String, Vec<RoleRule>>> {
    let text = "SELECT corp_id, role_id, kind, group_id FROM role_rule";
    let rows = sql.rows(text, &[], |row| {
        let (kind, id) = (row.text(2)?, row.text(3)?);
        let group = match &*kind {
            "department" => Some(RuleGroup::Department(id)),
            "tag" => Some(RuleGroup::Tag(id)),
            // A later version may know more kinds; such a rule gives nothing here.
            _ => None,
        };
        let rule = Role::from_id(row.int(1)?).zip(group).map(|(role, group)| RoleRule { role, group });
        Ok((row.text(0)?, rule))
    })?;
    let mut rules: HashMap<String, Vec<RoleRule>> = HashMap::new();
    for (corp, rule) in rows {
        rules.entry(corp).or_default().extend(rule);
    }
    for rules in rules.values_mut() {
        rules.sort_unstable();
    }
    Ok(rules)
}
