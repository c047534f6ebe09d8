//! Passwords: set, forgotten, and what ends with the old one.

use std::fmt;

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use super::failed_attempts::{self, AttemptsToClear};
use super::{Notice, browser, partial_session};
use crate::database::{Sql, Tx};
use crate::deny_list::EndReason;
use crate::locks::{lock_agent_where, lock_enabled_employee};
use crate::sessions::{SessionScope, end_sessions_of};
use crate::{ChangeAuthor, ChangeError, LogEntry, Store, StoreError};

/// A password to be set.
#[derive(Clone)]
pub struct NewPassword {
    /// Whose it is.
    pub employee: EmployeeKey,
    /// Its hash.
    pub hash: String,
    /// What must be so for it to be set.
    pub precondition: PasswordPrecondition,
    /// The session that goes on; all others end.
    pub keep: Option<Digest>,
    /// The browser that stays known; all others are forgotten.
    pub keep_browser: Option<Digest>,
    /// When.
    pub at: Timestamp,
    /// How long the digests of those that end are denied.
    pub deny_until: Timestamp,
    /// What the agent is told.
    pub notice: Notice,
    /// The row for the log.
    pub entry: LogEntry,
}

impl fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewPassword").field("employee", &self.employee).finish_non_exhaustive()
    }
}

/// What a new password takes the place of.
#[derive(Clone)]
pub enum PasswordPrecondition {
    /// There is no password.
    NoPassword,
    /// This is the hash of the old one.
    Hash(String),
    /// The agent was handed the code with this digest, and it still counts.
    SetupCode(Digest),
}

impl fmt::Debug for PasswordPrecondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPassword => "NoPassword",
            Self::Hash(_) => "Hash",
            Self::SetupCode(_) => "SetupCode",
        })
    }
}

const SET_PASSWORD: &str =
    "UPDATE agent SET password_hash = $3, password_set_at = $4, setup_code = NULL, setup_code_until = NULL";

/// The agent, if their record counts and they are not shut out.
const ENABLED_AGENT: &str = "corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL AND NOT EXISTS
    (SELECT 1 FROM employee e WHERE e.corp_id = $1 AND e.employee_key = $2 AND e.disabled_at IS NOT NULL)";

impl Store {
    /// Sets a password, if everything is as it should be before; then the agent's other sessions and halves end, their
    /// other browsers and guesses at the password are forgotten, and a setup code is spent. Returns how many sessions ended; `None`, and nothing
    /// changed, when it is not so, when the employee is shut out, or when there is no agent whose record counts.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_password(&self, by: ChangeAuthor, new: NewPassword) -> Result<Option<usize>, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                // In the order in which whoever signs in holds them. Nobody is disabled meanwhile.
                let who = args![new.employee.corp(), new.employee.id()];
                lock_agent_where(tx, "corp_id = $1 AND employee_key = $2", &who)?;
                if !lock_enabled_employee(tx, &new.employee)? || !replace(tx, &new)? {
                    return Ok(None);
                }
                let which = new.keep.map_or(SessionScope::All, SessionScope::AllBut);
                let ended = end_sessions_of(tx, &new.employee, which, EndReason::Kicked, new.deny_until)?;
                partial_session::end_all(tx, &new.employee, EndReason::Kicked, new.deny_until)?;
                browser::forget_all(tx, &new.employee, new.keep_browser)?;
                failed_attempts::clear(tx, &new.employee, AttemptsToClear::AllPasswords)?;
                new.notice.write(tx)?;
                new.entry.write(tx)?;
                Ok(Some(ended))
            })
            .await
    }

    /// Whether an agent whose record counts and who is not shut out was handed the code with this digest, and it still counts.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_setup_code_valid(
        &self,
        key: EmployeeKey,
        code: Digest,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let text = format!("SELECT 1 FROM agent WHERE {ENABLED_AGENT} AND setup_code = $3 AND setup_code_until > $4");
        let found = move |sql: &Sql<'_>| sql.first(&text, &args![key.corp(), key.id(), code, now], |row| row.int(0));
        Ok(self.database.read(found).await?.is_some())
    }

    /// Forgets an agent's password and keeps the digest of the code with which they may set another. What began with the
    /// old one ends: sessions, halves, and what is known of their browsers. Returns how many sessions ended, `None` when
    /// there is no such agent.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn reset_password(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        setup_code: Digest,
        until: Timestamp,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<Option<usize>, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let text = "UPDATE agent SET password_hash = NULL, password_set_at = NULL, setup_code = $3,
                    setup_code_until = $4 WHERE corp_id = $1 AND employee_key = $2";
                if tx.execute(text, &args![key.corp(), key.id(), setup_code, until])? == 0 {
                    return Ok(None);
                }
                let ended = end_sessions_of(tx, &key, SessionScope::ByPassword, EndReason::Kicked, deny_until)?;
                partial_session::end_all(tx, &key, EndReason::Kicked, deny_until)?;
                browser::forget_all(tx, &key, None)?;
                entry.write(tx)?;
                Ok(Some(ended))
            })
            .await
    }
}

/// Puts the hash in the place of what was there, if that is as it should be.
fn replace(tx: &Tx<'_>, new: &NewPassword) -> Result<bool, StoreError> {
    let (corp, id, hash) = (new.employee.corp(), new.employee.id(), &*new.hash);
    let changed = match &new.precondition {
        PasswordPrecondition::NoPassword => tx.execute(
            &format!("{SET_PASSWORD} WHERE {ENABLED_AGENT} AND password_hash IS NULL"),
            &args![corp, id, hash, new.at],
        )?,
        PasswordPrecondition::Hash(old) => tx.execute(
            &format!("{SET_PASSWORD} WHERE {ENABLED_AGENT} AND password_hash = $5"),
            &args![corp, id, hash, new.at, &**old],
        )?,
        PasswordPrecondition::SetupCode(code) => {
            let text = format!("{SET_PASSWORD} WHERE {ENABLED_AGENT} AND setup_code = $5 AND setup_code_until > $4");
            tx.execute(&text, &args![corp, id, hash, new.at, *code])?
        }
    };
    Ok(changed == 1)
}
