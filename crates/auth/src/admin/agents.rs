//! What an administrator does to agents.

use std::time::Duration;

use deskpass_core::{EmployeeKey, Role, SpareCode, Timestamp};
use deskpass_store::ListedAgent;

use crate::{Auth, Error, Refusal};

/// How long a code for setting a password counts.
const SETUP_CODE: Duration = Duration::from_hours(24);

/// A password that was taken away.
#[derive(Debug)]
pub struct PasswordReset {
    /// With this, its agent sets another one.
    pub code: SpareCode,
    /// Until then.
    pub until: Timestamp,
    /// How many sessions ended.
    pub ended: usize,
}

impl Auth {
    /// Makes an employee an agent, who acts in this role when they have no other.
    ///
    /// # Errors
    /// When there is no such employee or role, they are one already, or the store fails.
    pub async fn add_agent(&self, employee: EmployeeKey, role: &str) -> Result<(), Error> {
        let role = self.assignable(&employee, role).await?;
        let added = self.store.add_agent(employee, role, self.clock.now()).await?;
        if added { Ok(()) } else { Err(Refusal::Exists.into()) }
    }

    /// Makes sure that somebody is an agent, whether or not their record counts.
    ///
    /// # Errors
    /// When they are not, or the store fails.
    pub async fn expect_agent(&self, employee: &EmployeeKey) -> Result<(), Error> {
        let agent = self.store.agent(employee.clone()).await?;
        if agent.is_some() { Ok(()) } else { Err(Refusal::NoSuchAgent.into()) }
    }

    /// A page of agents, starting after one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn agents(&self, after: Option<EmployeeKey>, limit: i64) -> Result<Vec<ListedAgent>, Error> {
        Ok(self.store.agents(after, limit, self.clock.now()).await?)
    }

    /// Gives an agent's record another role. Sessions in which the one before was lent end; returns how many.
    ///
    /// # Errors
    /// When there is no such agent or role, or the store fails.
    pub async fn set_agent_role(&self, employee: EmployeeKey, role: &str) -> Result<usize, Error> {
        let role = Role::from_name(role).ok_or_else(|| Refusal::NoSuchRole(role.to_owned()))?;
        let deny_until = self.deny_until(self.clock.now());
        Ok(self.store.set_agent_role(employee, role, deny_until).await?.ok_or(Refusal::NoSuchAgent)?)
    }

    /// Makes an agent's record count no more, and ends the sessions that stand on it; returns how many. As an employee they
    /// sign in through the platform as before.
    ///
    /// # Errors
    /// When there is no such agent, or the store fails.
    pub async fn disable_agent(&self, employee: EmployeeKey) -> Result<usize, Error> {
        let now = self.clock.now();
        let ended = self.store.disable_agent(employee, now, self.deny_until(now)).await?;
        Ok(ended.ok_or(Refusal::NoSuchAgent)?)
    }

    /// Makes it count again.
    ///
    /// # Errors
    /// When there is no such agent, or the store fails.
    pub async fn enable_agent(&self, employee: EmployeeKey) -> Result<(), Error> {
        if self.store.enable_agent(employee).await? { Ok(()) } else { Err(Refusal::NoSuchAgent.into()) }
    }

    /// Forgets an agent's failed guesses; whether there were any.
    ///
    /// # Errors
    /// When there is no such agent, or the store fails.
    pub async fn unlock_agent(&self, employee: EmployeeKey) -> Result<bool, Error> {
        Ok(self.store.unlock_agent(employee).await?.ok_or(Refusal::NoSuchAgent)?)
    }

    /// Unbinds an agent's device and takes their recovery codes away; whether there was one.
    ///
    /// # Errors
    /// When there is no such agent, or the store fails.
    pub async fn reset_device(&self, employee: EmployeeKey) -> Result<bool, Error> {
        self.expect_agent(&employee).await?;
        Ok(self.store.unbind_device(employee, None).await?)
    }

    /// Takes an agent's password away and makes a code with which they set another one. Sessions that began with it end.
    ///
    /// # Errors
    /// When there is no such agent, or the store fails.
    pub async fn reset_password(&self, employee: EmployeeKey) -> Result<PasswordReset, Error> {
        let (now, code) = (self.clock.now(), SpareCode::generate(&self.entropy)?);
        let (mark, until) = (self.locker.mark(&code, &employee), now + SETUP_CODE);
        let ended = self.store.reset_password(employee, mark, until, self.deny_until(now)).await?;
        Ok(PasswordReset { code, until, ended: ended.ok_or(Refusal::NoSuchAgent)? })
    }
}
