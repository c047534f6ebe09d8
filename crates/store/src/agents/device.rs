//! One-time-password devices and the recovery codes that stand in for them. Secrets come here sealed.

use std::fmt;

use deskpass_core::{Digest, EmployeeKey, Timestamp, TotpStep};

use super::Notice;
use super::failed_attempts::{self, AttemptKind, AttemptsToClear};
use crate::database::{Row, Tx};
use crate::locks::lock_agent_where;
use crate::{ChangeAuthor, ChangeError, LogEntry, Store, StoreError};

/// A device that is bound.
#[derive(Clone)]
pub struct Device {
    /// Its secret, sealed.
    pub sealed: String,
    /// When it was bound.
    pub bound_at: Timestamp,
    /// When a code was right last.
    pub verified_at: Option<Timestamp>,
    /// The last step a code was accepted for.
    pub step: TotpStep,
    /// Whether the platform had vouched for whoever bound it.
    pub proven: bool,
}

/// A device that waits to be bound.
#[derive(Clone)]
pub struct PendingDevice {
    /// Its secret, sealed.
    pub sealed: String,
    /// How long it may be bound.
    pub until: Timestamp,
    /// The digest of the token of the session, or half of a sign-in, that began the setup. `None` where a node of the version
    /// before began it.
    pub by: Option<Digest>,
}

/// A step that a device showed the code of.
#[derive(Clone)]
pub struct UsedTotpStep {
    /// Whose device it is.
    pub employee: EmployeeKey,
    /// Its secret, sealed, as it was when the code was checked.
    pub sealed: String,
    /// The step.
    pub step: TotpStep,
    /// When.
    pub at: Timestamp,
    /// Whether the platform vouches for whoever shows it: then the device is theirs, whoever bound it.
    pub vouched: bool,
}

impl fmt::Debug for UsedTotpStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UsedTotpStep")
            .field("employee", &self.employee)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

/// A device to be bound.
#[derive(Clone)]
pub struct DeviceBinding {
    /// Whose it is.
    pub employee: EmployeeKey,
    /// The secret that waits to be bound, sealed.
    pub sealed: String,
    /// The step of the code that shows they have it.
    pub step: TotpStep,
    /// Whether the platform vouches for them.
    pub proven: bool,
    /// The digests of the recovery codes.
    pub recovery_codes: Vec<Digest>,
    /// When.
    pub at: Timestamp,
    /// What the agent is told.
    pub notice: Notice,
    /// The row for the log.
    pub entry: LogEntry,
}

impl Device {
    /// A device in the columns from `first` on.
    pub(super) fn read(row: &Row<'_>, first: usize) -> Result<Option<Self>, StoreError> {
        let Some(sealed) = row.maybe_text(first)? else { return Ok(None) };
        Ok(Some(Self {
            sealed,
            bound_at: row.timestamp(first + 1)?,
            verified_at: row.maybe_int(first + 2)?.map(Timestamp::from_millis),
            step: TotpStep::from_number(row.int(first + 3)?),
            proven: row.int(first + 4)? != 0,
        }))
    }
}

impl PendingDevice {
    /// A device in the columns from `first` on, and in column `by`.
    pub(super) fn read(row: &Row<'_>, first: usize, by: usize) -> Result<Option<Self>, StoreError> {
        let Some(sealed) = row.maybe_text(first)? else { return Ok(None) };
        let by = if row.is_null(by)? { None } else { Some(row.digest(by)?) };
        Ok(Some(Self { sealed, until: row.timestamp(first + 1)?, by }))
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("bound_at", &self.bound_at).finish_non_exhaustive()
    }
}

impl fmt::Debug for PendingDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingDevice").field("until", &self.until).finish_non_exhaustive()
    }
}

impl fmt::Debug for DeviceBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBinding").field("employee", &self.employee).finish_non_exhaustive()
    }
}

const BEGIN_BINDING: &str = "UPDATE agent SET otp_pending = $3, otp_pending_until = $4, otp_pending_by = $5
    WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL AND otp_secret IS NULL";
const BIND_DEVICE: &str =
    "UPDATE agent SET otp_secret = otp_pending, otp_bound_at = $4, otp_proven = $5, otp_verified_at = $4,
    otp_step = $6, otp_pending = NULL, otp_pending_until = NULL, otp_pending_by = NULL, otp_setup_code = NULL,
    otp_setup_code_until = NULL WHERE corp_id = $1 AND employee_key = $2
    AND disabled_at IS NULL AND otp_secret IS NULL AND otp_pending = $3 AND otp_pending_until > $4";
const USE_TOTP_STEP: &str = "UPDATE agent SET otp_step = $4, otp_verified_at = $5,
    otp_proven = CASE WHEN $6 = 1 THEN 1 ELSE otp_proven END
    WHERE corp_id = $1 AND employee_key = $2 AND otp_secret = $3 AND otp_step < $4";
const UNBIND_DEVICE: &str =
    "UPDATE agent SET otp_secret = NULL, otp_bound_at = NULL, otp_proven = 0, otp_verified_at = NULL,
    otp_step = 0 WHERE corp_id = $1 AND employee_key = $2 AND otp_secret IS NOT NULL";

impl Store {
    /// Keeps a device that waits to be bound, in place of another that does; `false`, and nothing changed, when one is bound
    /// or there is no agent whose record counts.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin_device(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        pending: PendingDevice,
    ) -> Result<bool, ChangeError> {
        let PendingDevice { sealed, until, by: token } = pending;
        let begun =
            move |tx: &mut Tx<'_>| tx.execute(BEGIN_BINDING, &args![key.corp(), key.id(), &*sealed, until, token]);
        Ok(self.authorized(by).write(begun).await? == 1)
    }

    /// The same for an agent who brings the code with this digest; `false` also when it does not count at `now`. The code is
    /// spent when the device is bound.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin_device_by_code(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        pending: PendingDevice,
        code: Digest,
        now: Timestamp,
    ) -> Result<bool, ChangeError> {
        let PendingDevice { sealed, until, by: token } = pending;
        let text = format!("{BEGIN_BINDING} AND otp_setup_code = $6 AND otp_setup_code_until > $7");
        let begun =
            move |tx: &mut Tx<'_>| tx.execute(&text, &args![key.corp(), key.id(), &*sealed, until, token, code, now]);
        Ok(self.authorized(by).write(begun).await? == 1)
    }

    /// Binds the device that waits for it, with its recovery codes, and forgets the guesses at its code; a setup code for a
    /// first device is spent. `false`, and nothing changed, when another one waits or is bound.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn bind_device(&self, by: ChangeAuthor, binding: DeviceBinding) -> Result<bool, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let DeviceBinding { employee, sealed, step, proven, recovery_codes, at, notice, entry } = &binding;
                let (corp, id) = (employee.corp(), employee.id());
                if tx.execute(BIND_DEVICE, &args![corp, id, &**sealed, *at, *proven, step.number()])? == 0 {
                    return Ok(false);
                }
                delete_recovery_codes(tx, employee)?;
                let text = "INSERT INTO recovery_code (corp_id, employee_key, digest) VALUES ($1, $2, $3)";
                for code in recovery_codes {
                    tx.execute(text, &args![corp, id, *code])?;
                }
                failed_attempts::clear(tx, employee, AttemptsToClear::Kind(AttemptKind::Otp))?;
                notice.write(tx)?;
                entry.write(tx)?;
                Ok(true)
            })
            .await
    }

    /// Uses up a step of the device with this secret, and forgets the guesses before it; `false` when it was used, or a later
    /// one, or the device is another.
    ///
    /// # Errors
    /// When the store fails; then the code may not be taken for right.
    pub async fn use_totp_step(&self, by: ChangeAuthor, used: UsedTotpStep) -> Result<bool, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let UsedTotpStep { employee: key, sealed, step, at, vouched } = &used;
                if tx.execute(USE_TOTP_STEP, &args![key.corp(), key.id(), &**sealed, step.number(), *at, *vouched])?
                    == 0
                {
                    return Ok(false);
                }
                failed_attempts::clear(tx, key, AttemptsToClear::Kind(AttemptKind::Otp))?;
                Ok(true)
            })
            .await
    }

    /// Uses up a recovery code of the device that is bound, and forgets the guesses before it; `false` when there is no such
    /// code.
    ///
    /// # Errors
    /// When the store fails; then the code may not be taken for right.
    pub async fn use_recovery_code(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        code: Digest,
        at: Timestamp,
    ) -> Result<bool, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let text = "DELETE FROM recovery_code WHERE corp_id = $1 AND employee_key = $2 AND digest = $3";
                let bound = "corp_id = $1 AND employee_key = $2 AND otp_secret IS NOT NULL";
                let has_device = lock_agent_where(tx, bound, &args![key.corp(), key.id()])?;
                if !has_device || tx.execute(text, &args![key.corp(), key.id(), code])? == 0 {
                    return Ok(false);
                }
                let text = "UPDATE agent SET otp_verified_at = $3 WHERE corp_id = $1 AND employee_key = $2";
                tx.execute(text, &args![key.corp(), key.id(), at])?;
                failed_attempts::clear(tx, &key, AttemptsToClear::Kind(AttemptKind::Otp))?;
                Ok(true)
            })
            .await
    }

    /// Takes a device away with its recovery codes, and one that waits to be bound; `false` when none was bound. The agent
    /// is told by `notice`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn unbind_device(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        notice: Notice,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let was_bound = remove_device(tx, &key)?;
                if was_bound {
                    notice.write(tx)?;
                    entry.write(tx)?;
                }
                Ok(was_bound)
            })
            .await
    }

    /// Takes a device away like [`Self::unbind_device`] for an administrator, forgets guesses at its codes, and keeps the digest
    /// of the code with which the agent may bind another. Returns whether a device was bound.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn reset_device(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        setup_code: Digest,
        until: Timestamp,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let text = "UPDATE agent SET otp_setup_code = $3, otp_setup_code_until = $4
                    WHERE corp_id = $1 AND employee_key = $2";
                tx.execute(text, &args![key.corp(), key.id(), setup_code, until])?;
                let was_bound = remove_device(tx, &key)?;
                failed_attempts::clear(tx, &key, AttemptsToClear::Kind(AttemptKind::Otp))?;
                entry.write(tx)?;
                Ok(was_bound)
            })
            .await
    }
}

/// Takes a device away with its recovery codes, and one that waits to be bound; whether one was bound.
fn remove_device(tx: &Tx<'_>, key: &EmployeeKey) -> Result<bool, StoreError> {
    let text = "UPDATE agent SET otp_pending = NULL, otp_pending_until = NULL, otp_pending_by = NULL
        WHERE corp_id = $1 AND employee_key = $2";
    tx.execute(text, &args![key.corp(), key.id()])?;
    let was_bound = tx.execute(UNBIND_DEVICE, &args![key.corp(), key.id()])? == 1;
    delete_recovery_codes(tx, key)?;
    Ok(was_bound)
}

fn delete_recovery_codes(tx: &Tx<'_>, key: &EmployeeKey) -> Result<(), StoreError> {
    let text = "DELETE FROM recovery_code WHERE corp_id = $1 AND employee_key = $2";
    tx.execute(text, &args![key.corp(), key.id()]).map(drop)
}
