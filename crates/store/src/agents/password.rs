//! Passwords: setting and resetting them, and ending what depends on the old password.

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use super::failed_attempts::{self, AttemptsToClear};
use super::{Notice, browser};
use crate::database::{SqlValue, Tx};
use crate::deny_list::EndReason;
use crate::locks::{lock_agent, lock_enabled_employee};
use crate::sessions::{SessionScope, end_sessions_of};
use crate::temporary_admin::Gift;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store};

/// A request to set a password.
#[derive(Clone)]
pub struct NewPassword {
    /// The agent.
    pub employee: EmployeeKey,
    /// Hash of the password.
    pub hash: String,
    /// The condition for setting the password.
    pub precondition: PasswordPrecondition,
    /// The session to keep; all others end.
    pub keep: Option<Digest>,
    /// The known browser to keep; all others are deleted.
    pub keep_browser: Option<Digest>,
    /// When the password is set.
    pub at: Timestamp,
    /// How long the digests of the ended sessions are denied.
    pub deny_until: Timestamp,
    /// The notice for the agent.
    pub notice: Notice,
    /// The audit event.
    pub entry: LogEntry,
}

debug_only!(NewPassword, employee);

/// The condition for setting a new password.
#[derive(Clone)]
pub enum PasswordPrecondition {
    /// There is no password, and a first one needs no setup code.
    NoPassword,
    /// The old password has this hash.
    Hash(String),
    /// The agent has a valid setup code with this digest.
    SetupCode(Digest),
}

debug_only!(PasswordPrecondition);

const SET_PASSWORD: &str =
    "UPDATE agent SET password_hash = $3, password_set_at = $4, setup_code = NULL, setup_code_until = NULL";

/// The agent, if the agent record and the employee are enabled, and the employee has not left.
const ENABLED_AGENT: &str = "corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL AND device_only = 0
    AND NOT EXISTS
    (SELECT 1 FROM employee e WHERE e.corp_id = $1 AND e.employee_key = $2
    AND (e.disabled_at IS NOT NULL OR e.left_at IS NOT NULL))";

impl Store {
    /// Sets a password if the precondition holds. Then the agent's other sessions and partial sessions end, other known browsers
    /// and failed attempts at the password are deleted, and a setup code is consumed. Returns the number of ended sessions;
    /// `None`, with no change, when the precondition fails, the employee is disabled, or there is no enabled agent record.
    pub async fn set_password(&self, by: ChangeAuthor, new: NewPassword) -> Result<Option<usize>, ChangeError> {
        self.write_as(by, move |tx| {
            // The same lock order as a sign-in. The locks also keep the agent and the employee from being disabled meanwhile.
            lock_agent(tx, &new.employee)?;
            if !lock_enabled_employee(tx, &new.employee)? || !replace(tx, &new)? {
                return Ok(None);
            }
            let which = new.keep.map_or(SessionScope::All, SessionScope::AllBut);
            let why = (EndReason::Kicked, new.deny_until);
            let ended = end_sessions_of(tx, &new.employee, which, why, new.at)?;
            browser::forget_all(tx, &new.employee, new.keep_browser)?;
            failed_attempts::clear(tx, &new.employee, AttemptsToClear::AllPasswords)?;
            new.notice.write(tx)?;
            new.entry.write(tx)?;
            Ok(Some(ended))
        })
        .await
    }

    /// Whether an enabled agent of an enabled employee has a valid setup code with this digest.
    pub async fn is_setup_code_valid(&self, key: EmployeeKey, code: Digest, now: Timestamp) -> Result<bool> {
        let text = format!("SELECT 1 FROM agent WHERE {ENABLED_AGENT} AND setup_code = $3 AND setup_code_until > $4");
        self.database.read(move |sql| sql.exists(&text, &args![key.corp(), key.id(), code, now])).await
    }

    /// Deletes an agent's password and what began with it (sessions, partial sessions, known browsers), and stores the
    /// digest of the setup code for the next one. Returns the number of ended sessions, `None` when there is no such
    /// agent.
    pub async fn reset_password(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        setup_code: Digest,
        until: Timestamp,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<Option<usize>, ChangeError> {
        self.write_giving(by, Gift::Account(key.clone()), move |tx| {
            let text = "UPDATE agent SET password_hash = NULL, password_set_at = NULL, setup_code = $3,
                setup_code_until = $4 WHERE corp_id = $1 AND employee_key = $2 AND device_only = 0";
            if tx.execute(text, &args![key.corp(), key.id(), setup_code, until])? == 0 {
                return Ok(None);
            }
            let why = (EndReason::Kicked, deny_until);
            let ended = end_sessions_of(tx, &key, SessionScope::ByPassword, why, entry.at)?;
            browser::forget_all(tx, &key, None)?;
            entry.write(tx)?;
            Ok(Some(ended))
        })
        .await
    }
}

/// Stores the new hash if the precondition holds.
fn replace(tx: &Tx<'_>, new: &NewPassword) -> Result<bool> {
    let (also, condition, value) = match &new.precondition {
        PasswordPrecondition::NoPassword => ("", "password_hash IS NULL AND code_needed = 0", None),
        PasswordPrecondition::Hash(old) => ("", "password_hash = $5", Some(SqlValue::from(&**old))),
        PasswordPrecondition::SetupCode(code) => {
            let condition = "setup_code = $5 AND setup_code_until > $4";
            (", code_needed = 0", condition, Some(SqlValue::from(*code)))
        }
    };
    let text = format!("{SET_PASSWORD}{also} WHERE {ENABLED_AGENT} AND {condition}");
    let values = args![new.employee.corp(), new.employee.id(), &*new.hash, new.at].into_iter().chain(value);
    Ok(tx.execute(&text, &values.collect::<Vec<_>>())? == 1)
}
