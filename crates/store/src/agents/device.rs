//! One-time-password devices and their recovery codes. The caller passes secrets already sealed.

use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey, Timestamp, TotpStep};

use super::Notice;
use super::device_owner::{ensure_row, may_have_device};
use super::failed_attempts::{self, AttemptKind, AttemptsToClear};
use crate::database::{Row, Tx};
use crate::locks::lock_agent_where;
use crate::temporary_admin::Gift;
use crate::{AuditEvent, ChangeAuthor, ChangeError, LogEntry, Result, Store};

/// A bound device.
#[derive(Clone)]
pub struct Device {
    /// The device's sealed secret.
    pub sealed: String,
    /// When the device was bound.
    pub bound_at: Timestamp,
    /// When a code was last accepted.
    pub verified_at: Option<Timestamp>,
    /// The last step for which a code was accepted.
    pub step: TotpStep,
    /// Whether the platform vouched for the user who bound the device.
    pub proven: bool,
}

/// A device whose binding has begun and is not complete.
#[derive(Clone)]
pub struct PendingDevice {
    /// The device's sealed secret.
    pub sealed: String,
    /// Deadline for completing the binding.
    pub until: Timestamp,
    /// Digest of the token that began the setup; `None` if a node of the previous version began it.
    pub by: Option<Digest>,
}

/// A TOTP step whose code was presented.
#[derive(Clone)]
pub struct UsedTotpStep {
    /// The owner of the device.
    pub employee: EmployeeKey,
    /// The device's sealed secret at the time the code was checked.
    pub sealed: String,
    /// The step.
    pub step: TotpStep,
    /// When the code was presented.
    pub at: Timestamp,
    /// Whether the platform vouches for the user who presents the code: the device is then theirs, even if another user bound it.
    pub vouched: bool,
}

debug_only!(UsedTotpStep, employee, step);

/// A request to bind a device.
#[derive(Clone)]
pub struct DeviceBinding {
    /// The owner of the device.
    pub employee: EmployeeKey,
    /// The sealed secret of the pending device.
    pub sealed: String,
    /// The step of the code that proves possession of the device.
    pub step: TotpStep,
    /// Whether the platform vouches for the user.
    pub proven: bool,
    /// Digests of the recovery codes.
    pub recovery_codes: Vec<Digest>,
    /// When the device is bound.
    pub at: Timestamp,
    /// The notice for the owner.
    pub notice: Notice,
    /// The notices for administrators, if the platform cannot reach the owner.
    pub admin_notices: Vec<Notice>,
    /// The audit event.
    pub entry: LogEntry,
}

/// The limit of one employee's new devices per period that administrators are notified of, so that repeatedly binding and
/// unbinding one does not flood them. The log contains all of it.
const ADMIN_NOTICE_LIMIT: (i64, Duration) = (3, Duration::from_hours(1));

/// Reads when an event of this kind happened to an employee, before as many later ones as the last value says. The ids of rows begin with
/// the time, so this reads only these rows, however many there are.
pub(super) const EVENT_BEFORE_LATEST: &str = "SELECT at FROM login_log WHERE corp_id = $1 AND employee_key = $2
    AND event = $3 ORDER BY id DESC LIMIT 1 OFFSET $4";

impl DeviceBinding {
    /// Writes the notices. Must run before the audit event is written, which is counted.
    fn write_notices(&self, tx: &Tx<'_>) -> Result<()> {
        self.notice.write(tx)?;
        if self.admin_notices.is_empty() {
            return Ok(());
        }
        let (at_most, period) = ADMIN_NOTICE_LIMIT;
        let (key, event) = (&self.employee, AuditEvent::DeviceBound.name());
        let values = args![key.corp(), key.id(), event, at_most - 1];
        let earlier = tx.first(EVENT_BEFORE_LATEST, &values, |row| row.timestamp(0))?;
        if earlier.is_none_or(|at| at <= self.at - period) {
            for notice in &self.admin_notices {
                notice.write(tx)?;
            }
        }
        Ok(())
    }
}

impl Device {
    /// Reads a device from the columns starting at `first`.
    pub(super) fn read(row: &Row<'_>, first: usize) -> Result<Option<Self>> {
        let Some(sealed) = row.maybe_text(first)? else { return Ok(None) };
        Ok(Some(Self {
            sealed,
            bound_at: row.timestamp(first + 1)?,
            verified_at: row.maybe_timestamp(first + 2)?,
            step: TotpStep::from_number(row.int(first + 3)?),
            proven: row.int(first + 4)? != 0,
        }))
    }
}

impl PendingDevice {
    /// Reads a pending device from the columns starting at `first`, and from the column `by`.
    pub(super) fn read(row: &Row<'_>, first: usize, by: usize) -> Result<Option<Self>> {
        let Some(sealed) = row.maybe_text(first)? else { return Ok(None) };
        let by = if row.is_null(by)? { None } else { Some(row.digest(by)?) };
        Ok(Some(Self { sealed, until: row.timestamp(first + 1)?, by }))
    }
}

debug_only!(Device, bound_at);

debug_only!(PendingDevice, until);

debug_only!(DeviceBinding, employee);

const BEGIN_BINDING: &str = "UPDATE agent SET otp_pending = $3, otp_pending_until = $4, otp_pending_by = $5
    WHERE corp_id = $1 AND employee_key = $2 AND otp_secret IS NULL";
const BIND_DEVICE: &str =
    "UPDATE agent SET otp_secret = otp_pending, otp_bound_at = $4, otp_proven = $5, otp_verified_at = $4,
    otp_step = $6, otp_pending = NULL, otp_pending_until = NULL, otp_pending_by = NULL, otp_setup_code = NULL,
    otp_setup_code_until = NULL, code_needed = 0 WHERE corp_id = $1 AND employee_key = $2
    AND otp_secret IS NULL AND otp_pending = $3 AND otp_pending_until > $4";
const USE_TOTP_STEP: &str = "UPDATE agent SET otp_step = $4, otp_verified_at = $5,
    otp_proven = CASE WHEN $6 = 1 THEN 1 ELSE otp_proven END
    WHERE corp_id = $1 AND employee_key = $2 AND otp_secret = $3 AND otp_step < $4";
const UNBIND_DEVICE: &str =
    "UPDATE agent SET otp_secret = NULL, otp_bound_at = NULL, otp_proven = 0, otp_verified_at = NULL,
    otp_step = 0 WHERE corp_id = $1 AND employee_key = $2 AND otp_secret IS NOT NULL";

impl Store {
    /// Replaces the pending device; `false`, with no change, when a device is bound, the employee may not have one, or needs a setup
    /// code.
    pub async fn begin_device(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        pending: PendingDevice,
        now: Timestamp,
    ) -> Result<bool, ChangeError> {
        let PendingDevice { sealed, until, by: token } = pending;
        let text = format!("{BEGIN_BINDING} AND code_needed = 0 AND {}", may_have_device());
        let begun = move |tx: &mut Tx<'_>| {
            ensure_row(tx, &key, now)?;
            tx.execute(&text, &args![key.corp(), key.id(), &*sealed, until, token])
        };
        Ok(self.write_as(by, begun).await? == 1)
    }

    /// Does the same with a setup code, which must be valid at `now` and is consumed when the device is bound.
    pub async fn begin_device_by_code(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        pending: PendingDevice,
        code: Digest,
        now: Timestamp,
    ) -> Result<bool, ChangeError> {
        let PendingDevice { sealed, until, by: token } = pending;
        let allowed = may_have_device();
        let text = format!("{BEGIN_BINDING} AND {allowed} AND otp_setup_code = $6 AND otp_setup_code_until > $7");
        let begun =
            move |tx: &mut Tx<'_>| tx.execute(&text, &args![key.corp(), key.id(), &*sealed, until, token, code, now]);
        Ok(self.write_as(by, begun).await? == 1)
    }

    /// Binds the pending device with its recovery codes, clears the failed attempts at its code, and consumes the setup
    /// code for a first device. Returns `false`, and changes nothing, when another device is pending or bound.
    pub async fn bind_device(&self, by: ChangeAuthor, binding: DeviceBinding) -> Result<bool, ChangeError> {
        self.write_as(by, move |tx| {
            let DeviceBinding { employee, sealed, step, proven, recovery_codes, at, .. } = &binding;
            let (corp, id) = (employee.corp(), employee.id());
            let text = format!("{BIND_DEVICE} AND {}", may_have_device());
            if tx.execute(&text, &args![corp, id, &**sealed, *at, *proven, step.number()])? == 0 {
                return Ok(false);
            }
            delete_recovery_codes(tx, employee)?;
            let text = "INSERT INTO recovery_code (corp_id, employee_key, digest) VALUES ($1, $2, $3)";
            for code in recovery_codes {
                tx.execute(text, &args![corp, id, *code])?;
            }
            failed_attempts::clear(tx, employee, AttemptsToClear::Kind(AttemptKind::Otp))?;
            binding.write_notices(tx)?;
            binding.entry.write(tx)?;
            Ok(true)
        })
        .await
    }

    /// Consumes a step of the device with this secret, and clears its failed attempts; `false` when this or a later
    /// step was used, or the device has another secret. If the store fails, the caller must not accept the code.
    pub async fn use_totp_step(&self, by: ChangeAuthor, used: UsedTotpStep) -> Result<bool, ChangeError> {
        self.write_as(by, move |tx| {
            let UsedTotpStep { employee: key, sealed, step, at, vouched } = &used;
            let values = args![key.corp(), key.id(), &**sealed, step.number(), *at, *vouched];
            if tx.execute(USE_TOTP_STEP, &values)? == 0 {
                return Ok(false);
            }
            failed_attempts::clear(tx, key, AttemptsToClear::Kind(AttemptKind::Otp))?;
            Ok(true)
        })
        .await
    }

    /// Consumes a recovery code of the bound device, and clears the failed attempts; `false` when there is no such
    /// code. If the store fails, the caller must not accept the code.
    pub async fn use_recovery_code(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        code: Digest,
        at: Timestamp,
    ) -> Result<bool, ChangeError> {
        self.write_as(by, move |tx| {
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

    /// Removes the device with this sealed secret and its recovery codes, and queues the notice; `false`, with no change, when no
    /// device is bound, or another one.
    pub async fn unbind_device(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        sealed: String,
        notice: Notice,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        let text = format!("{UNBIND_DEVICE} AND otp_secret = $3");
        self.write_as(by, move |tx| {
            if tx.execute(&text, &args![key.corp(), key.id(), &*sealed])? == 0 {
                return Ok(false);
            }
            remove_setup_and_codes(tx, &key)?;
            notice.write(tx)?;
            entry.write(tx)?;
            Ok(true)
        })
        .await
    }

    /// Removes whichever device is bound, for an administrator; also clears the failed attempts at its codes and stores the digest of
    /// the setup code with which the employee may bind another. Returns whether a device was bound; `None`, with no change, when the
    /// employee may not have one.
    pub async fn reset_device(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        setup_code: Digest,
        until: Timestamp,
        entry: LogEntry,
    ) -> Result<Option<bool>, ChangeError> {
        self.write_giving(by, Gift::Account(key.clone()), move |tx| {
            ensure_row(tx, &key, entry.at)?;
            let text = "UPDATE agent SET otp_setup_code = $3, otp_setup_code_until = $4
                WHERE corp_id = $1 AND employee_key = $2";
            if tx.execute(text, &args![key.corp(), key.id(), setup_code, until])? == 0 {
                return Ok(None);
            }
            let was_bound = tx.execute(UNBIND_DEVICE, &args![key.corp(), key.id()])? == 1;
            remove_setup_and_codes(tx, &key)?;
            failed_attempts::clear(tx, &key, AttemptsToClear::Kind(AttemptKind::Otp))?;
            entry.write(tx)?;
            Ok(Some(was_bound))
        })
        .await
    }
}

/// Removes the pending device and the recovery codes.
fn remove_setup_and_codes(tx: &Tx<'_>, key: &EmployeeKey) -> Result<()> {
    let text = "UPDATE agent SET otp_pending = NULL, otp_pending_until = NULL, otp_pending_by = NULL
        WHERE corp_id = $1 AND employee_key = $2";
    tx.execute(text, &args![key.corp(), key.id()])?;
    delete_recovery_codes(tx, key)
}

fn delete_recovery_codes(tx: &Tx<'_>, key: &EmployeeKey) -> Result<()> {
    let text = "DELETE FROM recovery_code WHERE corp_id = $1 AND employee_key = $2";
    tx.execute(text, &args![key.corp(), key.id()]).map(drop)
}
