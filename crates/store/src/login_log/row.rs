//! A row of the audit log as it is read.

use deskpass_core::{EmployeeKey, Role, Timestamp};

use super::AuditEvent;
use crate::Result;
use crate::database::Row;

/// A row as it is read. Names are kept as text: a name of a later version must not make a page unreadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// Sixteen bytes that begin with the time, in hexadecimal.
    pub id: String,
    /// When the event happened.
    pub at: Timestamp,
    /// The name of the event.
    pub event: String,
    /// The employee whom the event is about; without an identifier, the employee is unknown.
    pub about: EmployeeKey,
    /// The role that was active afterwards, or last.
    pub role: Option<Role>,
    /// The method of the sign-in or the attempt; otherwise empty.
    pub method: String,
    /// The client that the employee signed in to; otherwise empty.
    pub source: String,
    /// The client's address, as reported to the first proxy.
    pub ip_address: String,
    /// The address that rate limits and allow lists were applied to; rows of earlier versions have none.
    pub decided_address: Option<String>,
    /// The address of the connection's peer.
    pub peer_address: String,
    /// The client's `User-Agent`.
    pub user_agent: String,
    /// The employee who caused the event, if it is about another employee.
    pub actor: Option<EmployeeKey>,
    /// The reason of a refusal.
    pub reason: Option<String>,
    /// Further details.
    pub detail: String,
    /// The reference of the request; rows of earlier versions and of the command line have none.
    pub reference: Option<String>,
    /// Whether the row is in a chain and unchanged; `None` if that was not checked.
    pub verified: Option<bool>,
}

impl LogRow {
    /// Whether the event is a sign-in or a refused one.
    #[must_use]
    pub fn is_sign_in(&self) -> bool {
        [AuditEvent::SignIn, AuditEvent::SignInRefused].iter().any(|event| self.event == event.name())
    }

    /// The address to show to users: the address that rate limits and allow lists were applied to, if it is known.
    #[must_use]
    pub fn address(&self) -> &str {
        self.decided_address.as_deref().unwrap_or(&self.ip_address)
    }
}

/// The columns that [`read`] reads, in its order.
pub(super) const COLUMNS: &str =
    "SELECT id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
    peer_address, user_agent, actor_corp_id, actor_key, reason, detail, decided_address, reference";

pub(super) fn read(row: &Row<'_>) -> Result<LogRow> {
    Ok(LogRow {
        id: row.text(0)?,
        at: row.timestamp(1)?,
        event: row.text(2)?,
        about: row.employee(3)?,
        role: Role::from_id(row.int(5)?),
        method: row.text(6)?,
        source: row.text(7)?,
        ip_address: row.text(8)?,
        peer_address: row.text(9)?,
        user_agent: row.text(10)?,
        actor: row.maybe_employee(11)?,
        reason: row.maybe_text(13)?,
        // Rows from before this column existed have none.
        detail: row.maybe_text(14)?.unwrap_or_default(),
        decided_address: row.maybe_text(15)?,
        reference: row.maybe_text(16)?,
        verified: None,
    })
}
