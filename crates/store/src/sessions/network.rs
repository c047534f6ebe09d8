//! The networks that employees sign in from: one that is new for an employee is told to them.

use std::time::Duration;

use deskpass_core::{EmployeeKey, Timestamp};

use crate::database::{Row, Tx};
use crate::{AuditEvent, Notice, StoreError};

/// The network that a session begins from.
#[derive(Clone, Debug)]
pub struct SignInNetwork {
    /// As text, such as `192.0.2.0/24`.
    pub name: String,
    /// What the employee is told where the network is new for them; nothing for ways to sign in without such a notice.
    pub notice: Option<Notice>,
    /// Whether they are told also at their very first sign-in, when no network is known: the phone that confirmed it was in
    /// another network.
    pub notify_on_first_sign_in: bool,
}

/// How exactly it is known when a network was seen last: not every sign-in need write.
const SEEN_AT_PRECISION: Duration = Duration::from_hours(24);
/// How long a network counts as seen after the last sign-in from it.
const NETWORK_RETENTION: Duration = Duration::from_hours(24 * 180);

/// Notes the network of a session that begins, before its row of the log is written; `true` where a notice was left.
pub(super) fn record_network(
    tx: &Tx<'_>,
    employee: &EmployeeKey,
    network: &SignInNetwork,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let (corp, id, name) = (employee.corp(), employee.id(), &*network.name);
    let text = "SELECT seen_at FROM employee_network WHERE corp_id = $1 AND employee_key = $2 AND network = $3";
    let seen = tx.first(text, &args![corp, id, name], |row| row.timestamp(0))?;
    if seen.is_some_and(|seen| now < seen + SEEN_AT_PRECISION) {
        return Ok(false);
    }
    let is_new = seen.is_none_or(|seen| now >= seen + NETWORK_RETENTION);
    // An employee who signed in before networks were noted is not told of the first one: that would be everybody.
    let any = "SELECT 1 FROM employee_network WHERE corp_id = $1 AND employee_key = $2 LIMIT 1";
    let compared = is_new && tx.first(any, &args![corp, id], |row| row.int(0))?.is_some();
    let tells = compared || (is_new && network.notify_on_first_sign_in && is_first_sign_in(tx, employee)?);
    let text = "INSERT INTO employee_network (corp_id, employee_key, network, seen_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (corp_id, employee_key, network) DO UPDATE SET seen_at = excluded.seen_at";
    tx.execute(text, &args![corp, id, name, now])?;
    let Some(notice) = network.notice.as_ref().filter(|_| tells) else { return Ok(false) };
    notice.write(tx)?;
    Ok(true)
}

fn is_first_sign_in(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<bool, StoreError> {
    let text = "SELECT 1 FROM login_log WHERE corp_id = $1 AND employee_key = $2 AND event = $3 LIMIT 1";
    let values = args![employee.corp(), employee.id(), AuditEvent::SignIn.name()];
    Ok(tx.first(text, &values, |row| row.int(0))?.is_none())
}

/// Removes networks that nobody has signed in from for a long time.
pub(crate) fn sweep(tx: &Tx<'_>, now: Timestamp, batch: i64) -> Result<usize, StoreError> {
    let old = "SELECT corp_id, employee_key, network FROM employee_network WHERE seen_at <= $1 LIMIT $2";
    let read = |row: &Row<'_>| Ok((row.text(0)?, row.text(1)?, row.text(2)?));
    let mut gone = 0;
    for (corp, id, network) in tx.rows(old, &args![now - NETWORK_RETENTION, batch], read)? {
        let text = "DELETE FROM employee_network WHERE corp_id = $1 AND employee_key = $2 AND network = $3";
        gone += tx.execute(text, &args![&*corp, &*id, &*network])?;
    }
    Ok(gone)
}
