//! Setting and changing an agent's password.

use deskpass_core::{Digest, EmployeeKey, LoginMethod, Person, SpareCode, Visitor, weakness};
use deskpass_store::{Agent, Before, NewPassword, Subject};

use crate::hasher::Turn;
use crate::{Auth, Caller, Error, Refusal};

/// A password to be set.
#[derive(Clone, Debug)]
pub struct Change {
    /// The one before.
    pub old: Option<String>,
    /// The one to be.
    pub new: String,
    /// The cookie of a browser in which an agent has signed in before.
    pub device: Option<Digest>,
    /// From where.
    pub visitor: Visitor,
}

impl Auth {
    /// Sets the caller's password; returns how many of their other sessions ended.
    ///
    /// # Errors
    /// When the old one is missing or wrong, there is none and nobody vouches for the caller, or the new one is weak.
    pub async fn change_password(&self, caller: &Caller, change: &Change) -> Result<usize, Error> {
        let holder = &caller.0;
        let agent = self.enabled_agent(&holder.session().employee).await?;
        let (turn, before, otherwise) = match (&agent.password, &change.old) {
            (Some(_), None) => return Err(Refusal::OldPasswordNeeded.into()),
            (None, _) if !self.may_begin(caller) => return Err(Refusal::NotProven.into()),
            (None, _) => (self.locker.turn()?, Before::Nothing, Refusal::OldPasswordNeeded),
            (Some(kept), Some(old)) => {
                let turn = self.locker.turn()?;
                self.check_old(&agent, kept, old, &turn, change).await?;
                (turn, Before::Hash(kept.clone()), Refusal::OldPasswordWrong)
            }
        };
        check_new(&change.new, holder.person())?;
        let keep = Some(holder.digest());
        let ended = self.set_password(agent.key, &turn, before, keep, change).await?;
        Ok(ended.ok_or(otherwise)?)
    }

    /// Sets the password of an agent who brings a code that an administrator handed out.
    ///
    /// # Errors
    /// When the code is not good, or the password is weak.
    pub async fn set_up_password(&self, employee: &EmployeeKey, code: &str, change: &Change) -> Result<usize, Error> {
        let code = SpareCode::parse(code).ok_or(Refusal::SetupCode)?;
        let mark = self.locker.mark(&code, employee);
        let turn = self.locker.turn()?;
        if !self.store.awaits_password(employee.clone(), mark, self.clock.now()).await? {
            return Err(Refusal::SetupCode.into());
        }
        let person = self.store.person(employee).await?.ok_or(Refusal::SetupCode)?;
        check_new(&change.new, &person)?;
        let ended = self.set_password(employee.clone(), &turn, Before::SetupCode(mark), None, change).await?;
        Ok(ended.ok_or(Refusal::SetupCode)?)
    }

    /// Whether somebody without a password may set the first one: the platform must have vouched for them, in this session.
    fn may_begin(&self, caller: &Caller) -> bool {
        let session = caller.0.session();
        self.policy.agents.trusting || (session.proven && session.method != LoginMethod::Password)
    }

    async fn check_old(&self, agent: &Agent, kept: &str, old: &str, turn: &Turn, change: &Change) -> Result<(), Error> {
        let trial = self.trial(&agent.key, change.device).await?;
        self.guess(&agent.key, trial).await?;
        if !turn.is_right(old, Some(kept)).await? {
            return Err(Refusal::OldPasswordWrong.into());
        }
        self.store.guessed_right(agent.key.clone(), trial).await?;
        if old == change.new { Err(Refusal::SamePassword.into()) } else { Ok(()) }
    }

    async fn set_password(
        &self,
        employee: EmployeeKey,
        turn: &Turn,
        instead_of: Before,
        keep: Option<Digest>,
        change: &Change,
    ) -> Result<Option<usize>, Error> {
        let hash = turn.hash(&change.new, &self.entropy).await?;
        let at = self.clock.now();
        let notice = self.notice(&employee, Subject::PasswordChanged, at, &change.visitor)?;
        let new = NewPassword { employee, hash, instead_of, keep, at, deny_until: self.deny_until(at), notice };
        let ended = self.store.set_password(new).await?;
        self.noticed.notify_one();
        Ok(ended)
    }
}

/// A password must not be one that others would think of, those who know the agent included.
fn check_new(password: &str, person: &Person) -> Result<(), Refusal> {
    let about = [&*person.employee_id, &*person.name, person.key.corp(), "deskpass"];
    weakness(password, &about).map_or(Ok(()), |weakness| Err(Refusal::Weak(weakness)))
}
