//! Setting and changing an agent's password.

use std::fmt;

use deskpass_core::{Digest, EmployeeKey, Password, Person, SpareCode, Timestamp, Visitor, weakness};
use deskpass_store::{Agent, Before, By, Event, NewPassword, Subject};

use crate::admin::SETUP_CODE_LIFETIME;
use crate::hasher::{Rank, Turn};
use crate::log::Attempt;
use crate::{Auth, Caller, Error, Refusal};

/// A password to be set.
pub struct PasswordChange {
    /// The one before.
    pub old: Option<Password>,
    /// The one to be.
    pub new: Password,
    /// The cookie of a browser in which an agent has been before.
    pub browser: Option<Digest>,
    /// From where.
    pub visitor: Visitor,
}

impl fmt::Debug for PasswordChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordChange")
    }
}

impl Auth {
    /// Sets the caller's password; returns how many of their other sessions ended.
    ///
    /// # Errors
    /// When the old one is missing or wrong, there is none and the platform did not vouch for the caller minutes ago, or the
    /// new one is weak.
    pub async fn change_password(&self, caller: &Caller, change: &PasswordChange) -> Result<usize, Error> {
        let changed = self.change_unrecorded(caller, change).await;
        self.recorded(Attempt::within(caller.0.session(), Event::PasswordRefused, &change.visitor), changed).await
    }

    async fn change_unrecorded(&self, caller: &Caller, change: &PasswordChange) -> Result<usize, Error> {
        let holder = &caller.0;
        let agent = self.agent(&holder.session().employee).await?.ok_or(Refusal::NotAnAgent)?;
        let (turn, before, otherwise) = match (&agent.password, &change.old) {
            (Some(_), None) => return Err(Refusal::OldPasswordNeeded.into()),
            (None, _) => {
                self.expect_fresh_platform_sign_in(holder.session())?;
                (self.locker.turn(Rank::Known, &agent.key)?, Before::Nothing, Refusal::OldPasswordNeeded)
            }
            (Some(kept), Some(old)) => {
                let turn = self.locker.turn(Rank::Known, &agent.key)?;
                // Before a guess is counted: what a session that is over shows is no guess, and is told nothing.
                self.store.require(by_caller(caller, self.clock.now())).await?;
                self.check_old(&agent, kept, old, &turn, change).await?;
                (turn, Before::Hash(kept.clone()), Refusal::OldPasswordWrong)
            }
        };
        check_new(&change.new, holder.person())?;
        let ended = self.set_password(agent.key, &turn, before, Some(caller), change).await?;
        Ok(ended.ok_or(otherwise)?)
    }

    /// Sets the password of an agent who brings a code that an administrator handed out.
    ///
    /// # Errors
    /// When the code is not good, or the password is weak.
    pub async fn set_up_password(
        &self,
        employee: &EmployeeKey,
        code: Option<&SpareCode>,
        change: &PasswordChange,
    ) -> Result<usize, Error> {
        let (refused, who, visitor) = (Event::PasswordRefused, Some(employee), &change.visitor);
        let set_up = self.set_up_unrecorded(employee, code, change).await;
        self.recorded(Attempt { refused, who, claimed: true, method: None, source: None, visitor }, set_up).await
    }

    async fn set_up_unrecorded(
        &self,
        employee: &EmployeeKey,
        code: Option<&SpareCode>,
        change: &PasswordChange,
    ) -> Result<usize, Error> {
        let mark = self.locker.mark(code.ok_or(Refusal::SetupCodeWrong)?, employee);
        if !self.store.awaits_password(employee.clone(), mark, self.clock.now_for_lifetime(SETUP_CODE_LIFETIME)).await?
        {
            return Err(Refusal::SetupCodeWrong.into());
        }
        let turn = self.locker.turn(Rank::Known, employee)?;
        let person = self.store.person(employee).await?.ok_or(Refusal::SetupCodeWrong)?;
        check_new(&change.new, &person)?;
        let ended = self.set_password(employee.clone(), &turn, Before::SetupCode(mark), None, change).await?;
        Ok(ended.ok_or(Refusal::SetupCodeWrong)?)
    }

    async fn check_old(
        &self,
        agent: &Agent,
        kept: &str,
        old: &Password,
        turn: &Turn,
        change: &PasswordChange,
    ) -> Result<(), Error> {
        let trial = self.trial(&agent.key, change.browser).await?;
        let counted = self.guess(&agent.key, trial).await?;
        if !turn.is_right(old, Some(kept), counted).await? {
            return Err(Refusal::OldPasswordWrong.into());
        }
        self.store.guessed_right(agent.key.clone(), trial).await?;
        if *old == change.new { Err(Refusal::SamePassword.into()) } else { Ok(()) }
    }

    async fn set_password(
        &self,
        employee: EmployeeKey,
        turn: &Turn,
        instead_of: Before,
        caller: Option<&Caller>,
        change: &PasswordChange,
    ) -> Result<Option<usize>, Error> {
        let hash = turn.hash(&change.new, &self.entropy).await?;
        let at = self.clock.now();
        let notice = self.notice(&employee, Subject::PasswordChanged, at, &change.visitor)?;
        let entry = self.plain_entry(Event::PasswordChanged, &employee, at, &change.visitor)?;
        let (keep_browser, deny_until) = (change.browser, self.deny_until(at));
        let keep = caller.map(|caller| caller.0.digest());
        let by = caller.map_or(By::NoSession, |caller| by_caller(caller, at));
        let new = NewPassword { employee, hash, instead_of, keep, keep_browser, at, deny_until, notice, entry };
        let ended = self.store.set_password(by, new).await?;
        if ended.is_some() {
            self.noticed.notify_one();
        }
        Ok(ended)
    }
}

/// The caller, as the one who makes a change in the role that is active.
fn by_caller(caller: &Caller, now: Timestamp) -> By {
    caller.0.by_role(caller.0.session().current_role, now)
}

/// A password must not be one that others would think of, those who know the agent included.
fn check_new(password: &Password, person: &Person) -> Result<(), Refusal> {
    let about = [&*person.employee_id, &*person.name, person.key.corp(), "deskpass"];
    weakness(password.expose(), &about).map_or(Ok(()), |weakness| Err(Refusal::Weak(weakness)))
}
