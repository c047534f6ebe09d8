//! The networks that employees sign in from. An employee is notified of a sign-in from a new network.

use std::sync::LazyLock;
use std::time::Duration;

use deskpass_core::{EmployeeKey, Timestamp};

use super::new_session::NewSession;
use crate::database::{RowList, Sql, Tx, at_place};
use crate::{AuditEvent, Notice, Result};

/// Precision of the time when a network was last seen, so that not every sign-in writes it.
const SEEN_AT_PRECISION: Duration = Duration::from_hours(24);
/// How long a network stays known after the last sign-in from it.
pub(crate) const NETWORK_RETENTION: Duration = Duration::from_hours(24 * 180);

/// Records the networks of new sessions, before their audit events are written; `true` for those of which a notice was queued.
pub(super) fn record_networks(tx: &Tx<'_>, begun: &[&NewSession]) -> Result<Vec<bool>> {
    let seen = match **tx {
        Sql::Postgres(_) if begun.len() > 1 => seen_in_lists(tx, begun)?,
        Sql::Sqlite(_) | Sql::Postgres(_) => seen_each(tx, begun)?,
    };
    let (mut notices, mut statements) = (Vec::with_capacity(begun.len()), Vec::new());
    for (new, seen) in begun.iter().zip(seen) {
        let now = new.session.created_at;
        if seen.is_some_and(|seen| now < seen + SEEN_AT_PRECISION) {
            notices.push(None);
            continue;
        }
        notices.push(notice(tx, new, seen)?);
        let employee = &new.session.employee;
        statements.push((RECORD_NETWORK, args![employee.corp(), employee.id(), &*new.network.name, now].to_vec()));
    }
    tx.execute_all(&statements)?;
    notices.iter().flatten().try_for_each(|notice| notice.write(tx))?;
    Ok(notices.iter().map(Option::is_some).collect())
}

/// When each employee last signed in from the network of the new session, if at all.
fn seen_each(tx: &Tx<'_>, begun: &[&NewSession]) -> Result<Vec<Option<Timestamp>>> {
    let text = "SELECT seen_at FROM employee_network WHERE corp_id = $1 AND employee_key = $2 AND network = $3";
    let keys = begun.iter().map(|NewSession { session, network, .. }| {
        args![session.employee.corp(), session.employee.id(), &*network.name]
    });
    let seen = tx.rows_for_each(text, &keys.collect::<Vec<_>>(), |row| row.timestamp(0))?;
    Ok(seen.into_iter().map(|seen| seen.first().copied()).collect())
}

/// The same for several employees at once, with their places in the list. It is a join, because PostgreSQL reads the whole table as long as it
/// takes the table for empty: for the list then, and not for each employee. In a full table it uses the index.
pub(super) static SEEN_LIST: LazyLock<RowList<4>> = LazyLock::new(|| {
    let columns = [("place", "bigint"), ("corp_id", "text"), ("employee_key", "text"), ("network", "text")];
    RowList::new(LIST_SIZE, columns, |new| {
        format!(
            "SELECT new.place, known.seen_at FROM {new} JOIN employee_network AS known USING (corp_id, employee_key, network)"
        )
    })
});

/// How many networks a statement looks for: a group has some 20 to 60.
const LIST_SIZE: usize = 16;

fn seen_in_lists(tx: &Tx<'_>, begun: &[&NewSession]) -> Result<Vec<Option<Timestamp>>> {
    let keys = (0_i64..).zip(begun).map(|(place, NewSession { session, network, .. })| {
        args![place, session.employee.corp(), session.employee.id(), &*network.name]
    });
    let lists = SEEN_LIST.values(keys.collect());
    let found = tx.rows_for_each(&SEEN_LIST.text, &lists, |row| Ok((row.int(0)?, row.timestamp(1)?)))?;
    let mut seen = vec![None; begun.len()];
    for (place, at) in found.into_iter().flatten() {
        *at_place(&mut seen, place)? = Some(at);
    }
    Ok(seen)
}

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
