//! The networks that employees sign in from. An employee is notified of a sign-in from a new network.

use std::time::Duration;

use deskpass_core::{EmployeeKey, Timestamp};

use crate::database::Tx;
use crate::{AuditEvent, Notice, Result};

/// The network that a session begins from.
#[derive(Clone, Debug)]
pub struct SignInNetwork {
    /// The network as text, such as `192.0.2.0/24`.
    pub name: String,
    /// The notice for the employee if the network is new; `None` for sign-in methods without such a notice.
    pub notice: Option<Notice>,
    /// Whether to notify also at the first sign-in: the phone that confirmed it was in another network.
    pub notify_on_first_sign_in: bool,
}

/// Precision of the time when a network was last seen, so that not every sign-in writes it.
const SEEN_AT_PRECISION: Duration = Duration::from_hours(24);
/// How long a network stays known after the last sign-in from it.
pub(crate) const NETWORK_RETENTION: Duration = Duration::from_hours(24 * 180);

/// Records the network of a new session, before its audit event is written; `true` if a notice was queued.
pub(super) fn record_network(
    tx: &Tx<'_>,
    employee: &EmployeeKey,
    network: &SignInNetwork,
    now: Timestamp,
) -> Result<bool> {
    let (corp, id, name) = (employee.corp(), employee.id(), &*network.name);
    let text = "SELECT seen_at FROM employee_network WHERE corp_id = $1 AND employee_key = $2 AND network = $3";
    let seen = tx.first(text, &args![corp, id, name], |row| row.timestamp(0))?;
    if seen.is_some_and(|seen| now < seen + SEEN_AT_PRECISION) {
        return Ok(false);
    }
    let is_new = seen.is_none_or(|seen| now >= seen + NETWORK_RETENTION);
    // An employee who signed in before networks were recorded is not notified of the first one: otherwise all of them would be.
    let any = "SELECT 1 FROM employee_network WHERE corp_id = $1 AND employee_key = $2 LIMIT 1";
    let compared = is_new && tx.exists(any, &args![corp, id])?;
    let tells = compared || (is_new && network.notify_on_first_sign_in && is_first_sign_in(tx, employee)?);
    let text = "INSERT INTO employee_network (corp_id, employee_key, network, seen_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (corp_id, employee_key, network) DO UPDATE SET seen_at = excluded.seen_at";
    tx.execute(text, &args![corp, id, name, now])?;
    let Some(notice) = network.notice.as_ref().filter(|_| tells) else { return Ok(false) };
    notice.write(tx)?;
    Ok(true)
}

fn is_first_sign_in(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM login_log WHERE corp_id = $1 AND employee_key = $2 AND event = $3 LIMIT 1";
    let values = args![employee.corp(), employee.id(), AuditEvent::SignIn.name()];
    Ok(!tx.exists(text, &values)?)
}
