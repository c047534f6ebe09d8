//! Passwords of agents: setting and changing them.

use std::time::Duration;

use deskpass_core::{ClientInfo, Digest, EmployeeKey, Password, Person, RecoveryCode, opaque_debug, weakness};
use deskpass_store::{Agent, AuditEvent, ChangeAuthor, NewPassword, NoticeSubject, PasswordPrecondition};

use crate::attempts::CountedAttempt;
use crate::audit::Attempt;
use crate::hash_queue::Priority;
use crate::password_hasher::HashSlot;
use crate::{ActiveUser, Auth, Error, Refusal};

/// How long a setup code for a password or a device is valid.
pub(crate) const SETUP_CODE_LIFETIME: Duration = Duration::from_hours(24);

/// A password change.
pub struct PasswordChange {
    /// The old password.
    pub old: Option<Password>,
    /// The new password.
    pub new: Password,
    /// The cookie of a known browser.
    pub browser: Option<Digest>,
    /// The client.
    pub visitor: ClientInfo,
}

opaque_debug!(PasswordChange);

impl Auth {
    /// Sets the caller's password; returns how many of the caller's other sessions ended. Refused if the old password is
    /// missing or wrong, if there is none and the session has no recent platform vouching, or if the new password is weak.
    pub async fn change_password(&self, caller: &ActiveUser, change: &PasswordChange) -> Result<usize, Error> {
        let changed = self.change_password_unaudited(caller, change).await;
        let attempt = Attempt::in_session(caller.0.session(), AuditEvent::PasswordRefused, &change.visitor);
        self.audit_outcome(attempt, changed).await
    }

    async fn change_password_unaudited(&self, caller: &ActiveUser, change: &PasswordChange) -> Result<usize, Error> {
        let holder = &caller.0;
        self.require_confirmed(&holder.session().employee).await?;
        let agent = self.enabled_agent(&holder.session().employee).await?.ok_or(Refusal::NotAnAgent)?;
        let (slot, before, counted) = match (&agent.password, &change.old) {
            (Some(_), None) => return Err(Refusal::OldPasswordNeeded.into()),
            (None, _) if agent.code_needed => return Err(Refusal::SetupCodeWrong.into()),
            (None, _) => {
                self.require_recent_platform_sign_in(holder.session())?;
                let slot = self.credential_vault.reserve(Priority::Known, &agent.key)?;
                (slot, PasswordPrecondition::NoPassword, None)
            }
            (Some(stored), Some(old)) => {
                let slot = self.credential_vault.reserve(Priority::Known, &agent.key)?;
                // Checked before an attempt is counted: a password from an ended session is no attempt, and gets no answer.
                self.store.check_author(caller.as_author(self.clock.now())).await?;
                let counted = self.verify_old_password(&agent, stored, old, &slot, change).await?;
                (slot, PasswordPrecondition::Hash(stored.clone()), Some((old, counted)))
            }
        };
        require_strong_password(&change.new, &holder.person().to_person())?;
        let ended = self.set_password(agent.key.clone(), &slot, before, Some(caller), change).await?;
        match (ended, counted) {
            (Some(ended), _) => Ok(ended),
            (None, None) => Err(Refusal::OldPasswordNeeded.into()),
            (None, Some(verified)) => {
                let ended = self.set_over_moved_password(&agent.key, &slot, verified, caller, change).await?;
                Ok(ended.ok_or(Refusal::OldPasswordWrong)?)
            }
        }
    }

    /// Tries again: a sign-in may have hashed the old password with another key since it was verified.
    async fn set_over_moved_password(
        &self,
        employee: &EmployeeKey,
        slot: &HashSlot,
        (old, counted): (&Password, CountedAttempt),
        caller: &ActiveUser,
        change: &PasswordChange,
    ) -> Result<Option<usize>, Error> {
        let stored = self.enabled_agent(employee).await?.and_then(|agent| agent.password);
        if !slot.verify(old, stored.as_deref(), counted).await? {
            return Ok(None);
        }
        let Some(stored) = stored else { return Ok(None) };
        self.set_password(employee.clone(), slot, PasswordPrecondition::Hash(stored), Some(caller), change).await
    }

    /// Sets the password of an agent with a setup code from an administrator.
    pub async fn set_up_password(
        &self,
        employee: &EmployeeKey,
        code: Option<&RecoveryCode>,
        change: &PasswordChange,
    ) -> Result<usize, Error> {
        let (refused, who, visitor) = (AuditEvent::PasswordRefused, Some(employee), &change.visitor);
        let set_up = self.set_up_password_unaudited(employee, code, change).await;
        self.audit_outcome(Attempt { who, claimed: true, ..Attempt::unnamed(refused, visitor) }, set_up).await
    }

    async fn set_up_password_unaudited(
        &self,
        employee: &EmployeeKey,
        code: Option<&RecoveryCode>,
        change: &PasswordChange,
    ) -> Result<usize, Error> {
        let code = code.ok_or(Refusal::SetupCodeWrong)?;
        let mark = self.valid_setup_code(employee, code).await?.ok_or(Refusal::SetupCodeWrong)?;
        let slot = self.credential_vault.reserve(Priority::Known, employee)?;
        let person = self.store.person(employee).await?.ok_or(Refusal::SetupCodeWrong)?;
        require_strong_password(&change.new, &person)?;
        let ended =
            self.set_password(employee.clone(), &slot, PasswordPrecondition::SetupCode(mark), None, change).await?;
        Ok(ended.ok_or(Refusal::SetupCodeWrong)?)
    }

    /// The stored digest of a setup code for a password, if the code is valid.
    async fn valid_setup_code(&self, employee: &EmployeeKey, code: &RecoveryCode) -> Result<Option<Digest>, Error> {
        let now = self.clock.now_for_lifetime(SETUP_CODE_LIFETIME);
        for mark in self.credential_vault.code_digests(code, employee) {
            if self.store.is_setup_code_valid(employee.clone(), mark, now).await? {
                return Ok(Some(mark));
            }
        }
        Ok(None)
    }

    async fn verify_old_password(
        &self,
        agent: &Agent,
        stored: &str,
        old: &Password,
        slot: &HashSlot,
        change: &PasswordChange,
    ) -> Result<CountedAttempt, Error> {
        let trial = self.attempt_counter(&agent.key, change.browser).await?;
        let counted = self.count_attempt(&agent.key, trial).await?;
        if !slot.verify(old, Some(stored), counted).await? {
            return Err(Refusal::OldPasswordWrong.into());
        }
        self.store.clear_attempts(agent.key.clone(), trial).await?;
        if *old == change.new { Err(Refusal::SamePassword.into()) } else { Ok(counted) }
    }

    async fn set_password(
        &self,
        employee: EmployeeKey,
        slot: &HashSlot,
        precondition: PasswordPrecondition,
        caller: Option<&ActiveUser>,
        change: &PasswordChange,
    ) -> Result<Option<usize>, Error> {
        self.follow_keys().await?;
        let hash = slot.hash(&change.new, &self.entropy).await?;
        let at = self.clock.now();
        let notice = self.new_notice(&employee, NoticeSubject::PasswordChanged, at, &change.visitor)?;
        let entry = self.plain_entry(AuditEvent::PasswordChanged, &employee, at, &change.visitor)?;
        let (keep_browser, deny_until) = (change.browser, self.deny_until(at));
        let keep = caller.map(|caller| caller.0.digest());
        let by = caller.map_or(ChangeAuthor::NoSession, |caller| caller.as_author(at));
        let new = NewPassword { employee, hash, precondition, keep, keep_browser, at, deny_until, notice, entry };
        let ended = self.store.set_password(by, new).await?;
        if ended.is_some() {
            self.notices_due.notify_one();
        }
        Ok(ended)
    }
}

/// Requires a password that is hard to guess, even for people who know the agent.
fn require_strong_password(password: &Password, person: &Person) -> Result<(), Refusal> {
    let about = [&*person.employee_id, &*person.name, person.key.corp(), "deskpass"];
    weakness(password.expose(), &about).map_or(Ok(()), |weakness| Err(Refusal::WeakPassword(weakness)))
}
