//! A row of the audit log as it is read.

use deskpass_core::{EmployeeKey, Role, Timestamp};

use super::AuditEvent;
use crate::StoreError;
use crate::database::Row;

/// A row as it is read. Words as they stand in the table: one of a later version must not spoil a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// Sixteen bytes that begin with the time, in hexadecimal.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: String,
    /// Whom it is about; without an identifier, nobody who is known.
    pub about: EmployeeKey,
    /// The role that was active afterwards, or last.
    pub role: Option<Role>,
    /// How they had signed in, or tried to; else empty.
    pub method: String,
    /// Which client they had signed in to; else empty.
    pub source: String,
    /// From where, as the first proxy was told.
    pub ip_address: String,
    /// The address that limits and allow-lists decided by; rows of earlier versions have none.
    pub decided_address: Option<String>,
    /// The other end of the connection.
    pub peer_address: String,
    /// With which program.
    pub user_agent: String,
    /// Who did it, where somebody did it to somebody else.
    pub actor: Option<EmployeeKey>,
    /// Why not, in a word, where it was refused.
    pub reason: Option<String>,
    /// What exactly.
    pub detail: String,
    /// Whether it is in a chain and as it was written; not looked at where nobody asked.
    pub verified: Option<bool>,
}

impl LogRow {
    /// Whether somebody signed in, or was turned away.
    #[must_use]
    pub fn is_sign_in(&self) -> bool {
        [AuditEvent::SignIn, AuditEvent::SignInRefused].iter().any(|event| self.event == event.name())
    }

    /// From where, to be judged by people: the address that limits and allow-lists decided by, where it is known.
    #[must_use]
    pub fn address(&self) -> &str {
        self.decided_address.as_deref().unwrap_or(&self.ip_address)
    }
}

/// The columns that [`read`] reads, in its order.
pub(super) const COLUMNS: &str =
    "SELECT id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
    peer_address, user_agent, actor_corp_id, actor_key, reason, detail, decided_address";

pub(super) fn read(row: &Row<'_>) -> Result<LogRow, StoreError> {
    let (actor_corp, actor) = (row.maybe_text(11)?, row.maybe_text(12)?);
    Ok(LogRow {
        id: row.text(0)?,
        at: row.timestamp(1)?,
        event: row.text(2)?,
        about: EmployeeKey::from_parts(&row.text(3)?, &row.text(4)?),
        role: Role::from_id(row.int(5)?),
        method: row.text(6)?,
        source: row.text(7)?,
        ip_address: row.text(8)?,
        peer_address: row.text(9)?,
        user_agent: row.text(10)?,
        actor: actor_corp.zip(actor).map(|(corp, id)| EmployeeKey::from_parts(&corp, &id)),
        reason: row.maybe_text(13)?,
        // Rows from before there was one have none.
        detail: row.maybe_text(14)?.unwrap_or_default(),
        decided_address: row.maybe_text(15)?,
        verified: None,
    })
}
