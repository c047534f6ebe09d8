//! Changes that an administrator makes to agents.

use deskpass_core::{Digest, EmployeeId, EmployeeKey, RecoveryCode, Role, Timestamp};
use deskpass_store::{AgentPage, AgentSelection, AuditEvent, ListedAgent};

use super::Administrator;
use crate::password::SETUP_CODE_LIFETIME;
use crate::single_use::SingleUse;
use crate::{Error, Refusal, ResetKind};

/// A password that was reset.
#[derive(Debug)]
pub struct PasswordReset {
    /// The code with which the agent sets another password.
    pub code: RecoveryCode,
    /// When the code expires.
    pub until: Timestamp,
    /// The number of sessions that ended.
    pub ended: usize,
}

/// A device that was reset.
#[derive(Debug)]
pub struct DeviceReset {
    /// Whether a device was bound.
    pub was_bound: bool,
    /// The code with which the agent binds another device.
    pub code: RecoveryCode,
    /// When the code expires.
    pub until: Timestamp,
}

impl Administrator<'_> {
    /// Makes an employee an agent; refused if already one. The role applies when the employee holds no other.
    pub async fn add_agent(&self, employee: EmployeeKey, role: &str) -> Result<(), Error> {
        self.require_home_admin().await?;
        let role = self.auth.parse_assignable_role(&employee, role).await?;
        let entry = self.entry(AuditEvent::AgentAdded, &employee, format!("role {role}"))?;
        let added =
            self.commit(self.auth.store.add_agent(self.author(), employee, role, entry.at, Some(entry))).await?;
        if added { Ok(()) } else { Err(Refusal::Exists.into()) }
    }

    /// A page of agents of the home corporation, after the given one, and the cursor of the next page if there is one.
    pub async fn agents(
        &self,
        which: AgentSelection,
        after: Option<&EmployeeId>,
        limit: u64,
    ) -> Result<(Vec<ListedAgent>, Option<String>), Error> {
        self.require_home_admin().await?;
        let (home, limit) = (self.auth.policy.home_corp.as_str(), usize::try_from(limit).unwrap_or(1));
        let after = after.map_or_else(|| self.auth.deployment_key(), |id| self.auth.resolve_key(None, id));
        let one_more = i64::try_from(limit).unwrap_or(1) + 1;
        let AgentPage { mut agents, next } = self.auth.agents(which, Some(after), one_more).await?;
        agents.retain(|listed| listed.agent.key.corp() == home);
        let more = agents.len() > limit;
        agents.truncate(limit);
        // Without one more, there is a next page if not all records of the corporation were scanned.
        let last = if more { agents.last().map(|last| &last.agent.key) } else { next.as_ref() };
        let next = last.filter(|last| last.corp() == home).map(|last| last.id().to_owned());
        Ok((agents, next))
    }

    /// Changes the role of an agent record. Sessions whose default role was the former role end; returns how many.
    pub async fn set_agent_role(&self, employee: EmployeeKey, role: &str) -> Result<usize, Error> {
        self.require_home_admin().await?;
        let role = Role::from_name(role).ok_or_else(|| Refusal::NoSuchRole(role.to_owned()))?;
        let entry = self.entry(AuditEvent::AgentRoleChanged, &employee, format!("role {role}"))?;
        let deny_until = self.auth.deny_until(entry.at);
        let change = self.auth.store.set_agent_role(self.author(), employee, role, deny_until, entry);
        Ok(self.commit(change).await?.ok_or(Refusal::NoSuchAgent)?)
    }

    /// Disables an agent record and ends the sessions that depend on it; returns how many. The employee can still sign in through
    /// the platform.
    pub async fn disable_agent(&self, employee: EmployeeKey) -> Result<usize, Error> {
        self.require_home_admin().await?;
        let entry = self.entry(AuditEvent::AgentDisabled, &employee, "")?;
        let deny_until = self.auth.deny_until(entry.at);
        let change = self.auth.store.disable_agent(self.author(), employee, deny_until, entry);
        Ok(self.commit(change).await?.ok_or(Refusal::NoSuchAgent)?)
    }

    /// Enables an agent record.
    pub async fn enable_agent(&self, employee: EmployeeKey) -> Result<(), Error> {
        self.require_home_admin().await?;
        let entry = self.entry(AuditEvent::AgentEnabled, &employee, "")?;
        let enabled = self.commit(self.auth.store.enable_agent(self.author(), employee, entry)).await?;
        if enabled { Ok(()) } else { Err(Refusal::NoSuchAgent.into()) }
    }

    /// Clears the failed attempts of an agent, or at another employee's device; returns whether there were any.
    pub async fn unlock_agent(&self, employee: EmployeeKey) -> Result<bool, Error> {
        self.require_home_admin().await?;
        self.auth.require_device_owner(&employee).await?;
        let entry = self.entry(AuditEvent::AgentUnlocked, &employee, "")?;
        let unlocked = self.commit(self.auth.store.unlock_agent(self.author(), employee, entry)).await?;
        // An employee who has never set up a device has no failed attempts.
        Ok(unlocked.unwrap_or(false))
    }

    /// Unbinds the device of an agent or another employee, deletes the recovery codes, and makes a setup code for another device.
    pub async fn reset_device(&self, employee: EmployeeKey) -> Result<DeviceReset, Error> {
        self.require_home_admin().await?;
        let verified = self.verified_caller(&employee, ResetKind::Device).await?;
        self.auth.require_device_owner(&employee).await?;
        let code = RecoveryCode::generate(&self.auth.entropy)?;
        let entry = self.entry(AuditEvent::DeviceReset, &employee, "")?;
        let (mark, until) = (self.auth.credential_vault.code_digest(&code, &employee), entry.at + SETUP_CODE_LIFETIME);
        let change = self.auth.store.reset_device(self.author(), employee, mark, until, entry);
        let reset = self.reset_once(verified, self.commit(change)).await?;
        let was_bound = reset.ok_or(Refusal::NoSuchAgent)?;
        Ok(DeviceReset { was_bound, code, until })
    }

    /// Requires that the employee was verified as a caller for this session, if the settings require it. The operator knows who
    /// calls. The refusal is logged.
    pub async fn require_verified_caller(&self, employee: &EmployeeKey, kind: ResetKind) -> Result<(), Error> {
        self.verified_caller(employee, kind).await.map(drop)
    }

    /// What a reset for a verified caller uses up; `None` if it needs no such caller.
    async fn verified_caller(&self, employee: &EmployeeKey, kind: ResetKind) -> Result<Option<Digest>, Error> {
        let Some(holder) = &self.acting else { return Ok(None) };
        match self.auth.require_verified_caller(holder.digest(), employee, kind).await {
            Err(Error::Refused(refusal)) => self.refuse_about(Some(employee), refusal).await,
            checked => checked,
        }
    }

    /// Resets something, for a verified caller once.
    async fn reset_once<T>(
        &self,
        verified: Option<Digest>,
        change: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some(verified) = verified else { return change.await };
        match self.auth.run_once(SingleUse::Reset, &verified, change).await? {
            Some(reset) => Ok(reset),
            None => self.refuse(Refusal::CallerNotVerified).await,
        }
    }

    /// Deletes an agent's password and makes a setup code for another one. Sessions that began with the password end.
    pub async fn reset_password(&self, employee: EmployeeKey) -> Result<PasswordReset, Error> {
        self.require_home_admin().await?;
        let verified = self.verified_caller(&employee, ResetKind::Password).await?;
        let (auth, code) = (self.auth, RecoveryCode::generate(&self.auth.entropy)?);
        let entry = self.entry(AuditEvent::PasswordReset, &employee, "")?;
        let (mark, until) = (auth.credential_vault.code_digest(&code, &employee), entry.at + SETUP_CODE_LIFETIME);
        let deny_until = auth.deny_until(entry.at);
        let change = auth.store.reset_password(self.author(), employee, mark, until, deny_until, entry);
        let ended = self.reset_once(verified, self.commit(change)).await?.ok_or(Refusal::NoSuchAgent)?;
        Ok(PasswordReset { code, until, ended })
    }
}
