//! Failed attempts at passwords and one-time passwords: counted before the check, cleared after a successful one.

use std::borrow::Cow;
use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey, FailedAttempts, Lockout, Timestamp};

use crate::database::{Row, Tx};
use crate::{Result, Store, StoreError};

/// What an attempt is made at. Each kind has its own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptKind {
    /// The password, in any browser.
    Password,
    /// A one-time password.
    Otp,
    /// The password, in a browser in which the agent has signed in before: attempts made elsewhere cannot exhaust this count.
    KnownBrowser(Digest),
}

/// Prefix of the names of the kinds for known browsers.
const KNOWN_BROWSER_PREFIX: &str = "browser:";

impl AttemptKind {
    fn name(self) -> Cow<'static, str> {
        match self {
            Self::Password => "password".into(),
            Self::Otp => "otp".into(),
            Self::KnownBrowser(digest) => format!("{KNOWN_BROWSER_PREFIX}{}", digest.to_text()).into(),
        }
    }
}

/// Retention of a few attempts at credentials that do not exist. A few attempts reveal nothing, so they can go early.
const FEW_ATTEMPTS_RETENTION: Duration = Duration::from_hours(24);
/// Retention of many such attempts. It is long, so that a vanishing lockout does not soon reveal that the account does not exist.
const MANY_ATTEMPTS_RETENTION: Duration = Duration::from_hours(30 * 24);
/// The number of attempts from which they count as many. The index of few attempts has the same number.
const MANY_ATTEMPTS: u32 = 5;

/// Locks an existing count until the transaction ends, so that attempts on all nodes are counted one by one.
const LOCK_COUNT: &str = "INSERT INTO guess (corp_id, employee_key, trial, recent, in_a_row, last_at)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (corp_id, employee_key, trial) DO UPDATE SET last_at = guess.last_at
    RETURNING recent, in_a_row, last_at";

impl Store {
    /// Counts an attempt, whether or not the account exists. After a lockout, which does not count the attempt, and
    /// after an error, the caller must not check the credential.
    pub async fn count_attempt(
        &self,
        key: EmployeeKey,
        trial: AttemptKind,
        now: Timestamp,
    ) -> Result<Result<(), Lockout>> {
        self.database
            .write(move |tx| {
                let (name, none) = (trial.name(), FailedAttempts::none());
                let (recent, in_a_row) = (i64::from(none.recent), i64::from(none.in_a_row));
                let values = args![key.corp(), key.id(), &*name, recent, in_a_row, none.last_at];
                let guesses = tx
                    .first(LOCK_COUNT, &values, read)?
                    .ok_or_else(|| StoreError::damaged("missing count of failed attempts"))?;
                let next = match guesses.count_attempt(now) {
                    Ok(next) => next,
                    Err(lockout) => return Ok(Err(lockout)),
                };
                let text = "UPDATE guess SET recent = $4, in_a_row = $5, last_at = $6
                    WHERE corp_id = $1 AND employee_key = $2 AND trial = $3";
                let (recent, in_a_row) = (i64::from(next.recent), i64::from(next.in_a_row));
                tx.execute(text, &args![key.corp(), key.id(), &*name, recent, in_a_row, next.last_at])?;
                Ok(Ok(()))
            })
            .await
    }

    /// Clears the failed attempts after a successful one, for callers that write nothing else.
    pub async fn clear_attempts(&self, key: EmployeeKey, trial: AttemptKind) -> Result<()> {
        self.database.write(move |tx| clear(tx, &key, AttemptsToClear::Kind(trial)).map(drop)).await
    }
}

/// Which failed attempts at an agent's credentials to clear.
#[derive(Clone, Copy, Debug)]
pub(super) enum AttemptsToClear {
    All,
    Kind(AttemptKind),
    /// Attempts at the password, in any browser.
    AllPasswords,
}

/// Clears failed attempts; returns the number of removed counts.
pub(super) fn clear(tx: &Tx<'_>, key: &EmployeeKey, which: AttemptsToClear) -> Result<usize> {
    let text = "DELETE FROM guess WHERE corp_id = $1 AND employee_key = $2";
    match which {
        AttemptsToClear::All => tx.execute(text, &args![key.corp(), key.id()]),
        AttemptsToClear::Kind(trial) => {
            tx.execute(&format!("{text} AND trial = $3"), &args![key.corp(), key.id(), &*trial.name()])
        }
        AttemptsToClear::AllPasswords => {
            tx.execute(&format!("{text} AND trial <> $3"), &args![key.corp(), key.id(), &*AttemptKind::Otp.name()])
        }
    }
}

/// Reads the first three columns of a row.
pub(super) fn read(row: &Row<'_>) -> Result<FailedAttempts> {
    let number = |column| row.int(column).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    Ok(FailedAttempts { recent: number(0)?, in_a_row: number(1)?, last_at: row.timestamp(2)? })
}

/// Removes attempts at credentials that do not exist: accounts without an agent record, passwords of employees who only have a
/// device, browsers that are no longer known. Removes up to `batch` counts of few attempts, and as many of many.
pub(crate) fn sweep(tx: &Tx<'_>, now: Timestamp, batch: i64) -> Result<usize> {
    let [few, many] = sweep_statements();
    let few = tx.execute(&few, &args![now - FEW_ATTEMPTS_RETENTION, batch])?;
    Ok(few + tx.execute(&many, &args![now - MANY_ATTEMPTS_RETENTION, batch])?)
}

/// The statements that remove counts of few attempts, and all counts that are old enough. Each finds its rows by its own index: a
/// stranger can make any number of counts that stay for a month, and one statement for both would read them all, each time.
pub(crate) fn sweep_statements() -> [String; 2] {
    let digest = KNOWN_BROWSER_PREFIX.len() + 1;
    // The number is not a parameter: it must be that of the index.
    [format!("g.last_at <= $1 AND g.in_a_row < {MANY_ATTEMPTS}"), "g.last_at <= $1".to_owned()].map(|is_old| {
        format!(
            "DELETE FROM guess WHERE (corp_id, employee_key, trial) IN
            (SELECT g.corp_id, g.employee_key, g.trial FROM guess g WHERE {is_old}
             AND (NOT EXISTS (SELECT 1 FROM agent a WHERE a.corp_id = g.corp_id AND a.employee_key = g.employee_key
                              AND (a.device_only = 0 OR g.trial = 'otp'))
                  OR (g.trial LIKE '{KNOWN_BROWSER_PREFIX}%' AND NOT EXISTS
                      (SELECT 1 FROM known_browser b WHERE b.digest = SUBSTR(g.trial, {digest})
                       AND b.corp_id = g.corp_id AND b.employee_key = g.employee_key)))
             LIMIT $2) AND last_at <= $1"
        )
    })
}
