//! Allow-lists of addresses for roles: read, preview, change.

use deskpass_core::{AllowLists, ClientInfo, Role};
use deskpass_store::{AuditEvent, RoleLockout};
use ipnet::IpNet;

use super::Administrator;
use crate::{ActiveUser, Auth, Error, Refusal};

const MAX_LISTED_SESSIONS: usize = 50;

/// The sessions that new allow-lists would lock out.
#[derive(Debug)]
pub struct AllowListPreview {
    /// Whether the lists would lock out the caller at the current address.
    pub you: bool,
    /// The effect on every role.
    pub roles: Vec<RoleLockout>,
}

impl Administrator<'_> {
    /// The current allow-lists.
    pub async fn ip_rules(&self) -> Result<AllowLists, Error> {
        self.require_home_admin().await?;
        Ok(self.auth.store.access_rules().await?.lists.clone())
    }

    /// Previews which sessions these lists would lock out. Changes nothing.
    pub async fn preview_ip_rules(&self, lists: &AllowLists) -> Result<AllowListPreview, Error> {
        self.require_home_admin().await?;
        self.require_still_admin().await?;
        let (you, now) = (self.would_lock_out_caller(lists), self.auth.clock.now());
        let roles = self.auth.store.preview_lockouts(lists.clone(), now, MAX_LISTED_SESSIONS).await?;
        Ok(AllowListPreview { you, roles })
    }

    /// Previews which sessions this list would lock out of a role.
    pub async fn preview_role_lockout(&self, role: Role, list: &[IpNet]) -> Result<RoleLockout, Error> {
        let (lists, now) = (AllowLists::default().with(role, list), self.auth.clock.now());
        let roles = self.auth.store.preview_lockouts(lists, now, MAX_LISTED_SESSIONS).await?;
        Ok(roles.into_iter().find(|lockout| lockout.role == role).unwrap_or_else(|| RoleLockout::none(role)))
    }

    /// Replaces all allow-lists; `false` if they are unchanged. Refused if they would lock out the caller.
    pub async fn set_ip_rules(&self, lists: &AllowLists) -> Result<bool, Error> {
        self.require_home_admin().await?;
        self.require_not_locked_out(lists).await?;
        let entry = self.entry(AuditEvent::IpRulesChanged, &self.auth.deployment_key(), "")?;
        self.commit(self.auth.store.set_ip_rules(self.author(), lists.entries().collect(), entry)).await
    }

    /// Replaces the allow-list of one role; `false` if it is unchanged. Only for the operator, whom no list locks out.
    pub async fn set_ip_rules_of(&self, role: Role, list: Vec<IpNet>) -> Result<bool, Error> {
        if self.who.is_some() {
            return Err(Refusal::NotPermitted.into());
        }
        let entry = self.entry(AuditEvent::IpRulesChanged, &self.auth.deployment_key(), "")?;
        self.commit(self.auth.store.set_ip_rules_of(self.author(), role, list, entry)).await
    }

    fn would_lock_out_caller(&self, lists: &AllowLists) -> bool {
        self.who.is_some() && !lists.allow(Role::Admin, self.visitor.address.decided)
    }

    async fn require_not_locked_out(&self, lists: &AllowLists) -> Result<(), Error> {
        let locked_out = self.would_lock_out_caller(lists);
        if locked_out { self.refuse(Refusal::WouldLockYouOut(Role::Admin)).await } else { Ok(()) }
    }
}

impl Auth {
    /// Refuses an administrator whom these lists would lock out at the current address, before the one-time password is used.
    /// The refusal is logged.
    pub async fn require_not_locked_out(
        &self,
        caller: &ActiveUser,
        lists: &AllowLists,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        self.administrator(caller, visitor.clone()).require_not_locked_out(lists).await
    }
}
