//! From where roles may be active: looked at, tried out, changed.

use deskpass_core::{AllowLists, ClientInfo, Networks, Role};
use deskpass_store::{AuditEvent, ListedSession};
use ipnet::IpNet;

use super::Administrator;
use crate::audit::Attempt;
use crate::{ActiveUser, Auth, Error, Refusal};

/// How many of those who would be shut out are named.
const MAX_LISTED_SESSIONS: usize = 50;

/// Whom lists would shut out.
#[derive(Debug)]
pub struct AllowListPreview {
    /// Whether whoever asks could not administrate any more, from where they are.
    pub you: bool,
    /// Every role.
    pub roles: Vec<RoleLockout>,
}

/// Whom a list would shut out of a role.
#[derive(Debug)]
pub struct RoleLockout {
    /// The role.
    pub role: Role,
    /// How many sessions act in it and began where it could not be active any more.
    pub number: u64,
    /// Some of them.
    pub some: Vec<ListedSession>,
}

impl Administrator<'_> {
    /// The lists that count.
    ///
    /// # Errors
    /// When they are none of theirs to see, or the store fails.
    pub async fn ip_rules(&self) -> Result<AllowLists, Error> {
        self.require_home_admin().await?;
        Ok(self.auth.store.access_rules().await?.lists.clone())
    }

    /// Says whom these lists would shut out, and changes nothing.
    ///
    /// # Errors
    /// When that is none of their business, or the store fails.
    pub async fn preview_ip_rules(&self, lists: &AllowLists) -> Result<AllowListPreview, Error> {
        self.require_home_admin().await?;
        self.require_still_admin().await?;
        let mut roles = Vec::new();
        for role in Role::ALL {
            roles.push(self.preview_role_lockout(role, lists.list(role)).await?);
        }
        Ok(AllowListPreview { you: self.would_lock_out_caller(lists), roles })
    }

    /// Whom this list would shut out of a role.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn preview_role_lockout(&self, role: Role, list: &[IpNet]) -> Result<RoleLockout, Error> {
        if list.is_empty() {
            return Ok(RoleLockout { role, number: 0, some: Vec::new() });
        }
        let networks: Networks = list.iter().copied().collect();
        let (number, some) =
            self.auth.store.preview_lockout(role, networks, self.auth.clock.now(), MAX_LISTED_SESSIONS).await?;
        Ok(RoleLockout { role, number, some })
    }

    /// Puts these lists in the place of all there are; `false` when they are the same.
    ///
    /// # Errors
    /// When they would keep whoever sets them from administrating, or the store fails.
    pub async fn set_ip_rules(&self, lists: &AllowLists) -> Result<bool, Error> {
        self.require_home_admin().await?;
        if self.would_lock_out_caller(lists) {
            return self.refuse(Refusal::WouldShutYouOut(Role::Admin)).await;
        }
        let entry = self.entry(AuditEvent::IpRulesChanged, &self.auth.deployment_key(), "")?;
        self.audit_if_revoked(self.auth.store.set_ip_rules(self.author(), lists.entries().collect(), entry).await).await
    }

    /// Gives one role this list, or none, and leaves the others as they are; `false` when it has it already. For the operator,
    /// whom no list shuts out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_ip_rules_of(&self, role: Role, list: Vec<IpNet>) -> Result<bool, Error> {
        if !self.is_operator() {
            return Err(Refusal::NotPermitted.into());
        }
        let entry = self.entry(AuditEvent::IpRulesChanged, &self.auth.deployment_key(), "")?;
        self.audit_if_revoked(self.auth.store.set_ip_rules_of(self.author(), role, list, entry).await).await
    }

    fn would_lock_out_caller(&self, lists: &AllowLists) -> bool {
        !self.is_operator() && !lists.allow(Role::Admin, self.visitor.address.decided)
    }
}

impl Auth {
    /// Turns an administrator away whom these lists would keep from administrating where they are, before anything is used up
    /// for it.
    ///
    /// # Errors
    /// When they would, which is written down.
    pub async fn require_not_locked_out(
        &self,
        caller: &ActiveUser,
        lists: &AllowLists,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        let shut_out = self.administrator(caller, visitor.clone()).would_lock_out_caller(lists);
        let outcome = if shut_out { Err(Refusal::WouldShutYouOut(Role::Admin).into()) } else { Ok(()) };
        self.audit_outcome(Attempt::in_session(caller.0.session(), AuditEvent::AdministrationRefused, visitor), outcome)
            .await
    }
}
