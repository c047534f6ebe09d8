//! The networks that employees sign in from. An employee is notified of a sign-in from a new network.

use std::time::Duration;

use deskpass_core::{EmployeeKey, Timestamp};

use super::new_session::NewSession;
use crate::database::Tx;
use crate::{AuditEvent, Notice, Result};

/// Precision of the time when a network was last seen, so that not every sign-in writes it.
const SEEN_AT_PRECISION: Duration = Duration::from_hours(24);
/// How long a network stays known after the last sign-in from it.
pub(crate) const NETWORK_RETENTION: Duration = Duration::from_hours(24 * 180);

/// Records the network of a new session, from which its employee last signed in at this time, before its audit event is written; `true` if a
/// notice was queued.
pub(super) fn record_network(tx: &Tx<'_>, new: &NewSession, seen: Option<Timestamp>) -> Result<bool> {
    let employee = &new.session.employee;
    let now = new.session.created_at;
    if seen.is_some_and(|seen| now < seen + SEEN_AT_PRECISION) {
        return Ok(false);
    }
    let notice = notice(tx, new, seen)?;
    tx.execute(RECORD_NETWORK, &args![employee.corp(), employee.id(), &*new.network.name, now])?;
    if let Some(notice) = notice {
        notice.write(tx)?;
    }
    Ok(notice.is_some())
}

/// When an employee last signed in from a network.
pub(super) const LAST_SEEN: &str =
    "SELECT seen_at FROM employee_network WHERE corp_id = $1 AND employee_key = $2 AND network = $3";

const RECORD_NETWORK: &str = "INSERT INTO employee_network (corp_id, employee_key, network, seen_at)
    VALUES ($1, $2, $3, $4) ON CONFLICT (corp_id, employee_key, network) DO UPDATE SET seen_at = excluded.seen_at";

/// The notice of a sign-in from a network that the employee last signed in from at this time, if it is due.
fn notice<'a>(tx: &Tx<'_>, new: &'a NewSession, seen: Option<Timestamp>) -> Result<Option<&'a Notice>> {
    let (employee, network, now) = (&new.session.employee, &new.network, new.session.created_at);
    let is_new = seen.is_none_or(|seen| now >= seen + NETWORK_RETENTION);
    let Some(notice) = network.notice.as_ref().filter(|_| is_new) else { return Ok(None) };
    // An employee who signed in before networks were recorded is not notified of the first one: otherwise all of them would be.
    let any = "SELECT 1 FROM employee_network WHERE corp_id = $1 AND employee_key = $2 LIMIT 1";
    let is_due = tx.exists(any, &args![employee.corp(), employee.id()])?
        || (network.notify_on_first_sign_in && is_first_sign_in(tx, employee)?);
    Ok(is_due.then_some(notice))
}

fn is_first_sign_in(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM login_log WHERE corp_id = $1 AND employee_key = $2 AND event = $3 LIMIT 1";
    let values = args![employee.corp(), employee.id(), AuditEvent::SignIn.name()];
    Ok(!tx.exists(text, &values)?)
}
