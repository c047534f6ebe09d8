//! Role rules: read, preview, change.

use deskpass_core::RoleRule;
use deskpass_store::{AuditEvent, KnownDepartment};

use super::Administrator;
use crate::{Error, RuleEffect};

/// The role rules, and the groups of the platform that rules can name.
#[derive(Clone, Debug)]
pub struct RoleRules {
    /// The rules of the settings file.
    pub file: Vec<RoleRule>,
    /// The rules that administrators registered.
    pub registered: Vec<RoleRule>,
    /// The departments of the last synchronisation.
    pub departments: Vec<KnownDepartment>,
    /// The tags of the last synchronisation: identifier and name.
    pub tags: Vec<(String, String)>,
}

impl RoleRules {
    /// Whether the last synchronisation found a department. The root is not always listed itself, but it is a parent.
    #[must_use]
    pub fn has_department(&self, id: &str) -> bool {
        self.departments.iter().any(|known| known.id == id || known.parent.as_deref() == Some(id))
    }
}

impl Administrator<'_> {
    /// The current role rules.
    pub async fn role_rules(&self) -> Result<RoleRules, Error> {
        self.require_home_admin().await?;
        let (store, corp) = (&self.auth.store, self.home_corp());
        Ok(RoleRules {
            file: self.auth.policy.people.role_rules.to_vec(),
            registered: store.access_rules().await?.role_rules(&corp).to_vec(),
            departments: store.known_departments(corp.clone()).await?,
            tags: store.known_tags(corp).await?,
        })
    }

    /// Previews what these rules would change in place of the registered ones. Changes and stores nothing.
    pub async fn preview_role_rules(&self, rules: Vec<RoleRule>) -> Result<Vec<RuleEffect>, Error> {
        self.require_home_admin().await?;
        self.require_still_admin().await?;
        if let Some(who) = &self.who {
            self.auth.limit_previews(who, &rules).await?;
        }
        let new = self.auth.read_new_tags(&rules).await?;
        let all: Vec<_> = self.auth.policy.people.role_rules.iter().cloned().chain(rules).collect();
        self.auth.preview_rules(&all, |member: &str, stored| new.memberships(member, stored)).await
    }

    /// Replaces the registered rules and applies them; returns what changed.
    pub async fn set_role_rules(&self, rules: Vec<RoleRule>) -> Result<Vec<RuleEffect>, Error> {
        self.require_home_admin().await?;
        let new = self.auth.read_new_tags(&rules).await?;
        // The store adds the rules before and after the change.
        let entry = self.entry(AuditEvent::RoleRulesChanged, &self.auth.deployment_key(), String::new())?;
        let has_rules = !rules.is_empty();
        self.commit(self.auth.store.set_role_rules(self.author(), self.home_corp(), rules, entry)).await?;
        let is_incomplete = new.is_incomplete;
        self.auth.store_new_tags(new).await?;
        if is_incomplete || has_rules && self.auth.store.known_departments(self.home_corp()).await?.is_empty() {
            // Who is in which group is not known yet.
            self.auth.request_synchronisation().await?;
        }
        let applied = self.auth.apply_rules().await;
        if applied.is_err() {
            // The rules are stored. Who does not have the roles yet, or still has them, the synchronisation finds.
            self.auth.request_synchronisation().await?;
        }
        applied
    }

    fn home_corp(&self) -> String {
        self.auth.policy.home_corp.as_str().to_owned()
    }
}
