//! Rows of the audit log about what the operator does to data that no service has open.

use deskpass_core::{ClientInfo, CorpId, EmployeeKey, Entropy, Timestamp};
use deskpass_store::{AuditEvent, ChainKeys, LogEntry};

use super::CliError;
use crate::config::Settings;

/// A row about the whole service.
pub(super) fn operator_entry(
    settings: &Settings,
    event: AuditEvent,
    now: Timestamp,
    detail: &str,
) -> Result<LogEntry, CliError> {
    let home = CorpId::parse(&settings.platform.corp_id).map_err(|error| format!("platform.corp_id {error}"))?;
    let random = u128::from_be_bytes(Entropy::system().bytes()?) >> 48;
    Ok(LogEntry {
        id: format!("{:012x}{random:020x}", now.millis()),
        at: now,
        event,
        about: EmployeeKey::from_parts(home.as_str(), ""),
        role: None,
        method: None,
        source: None,
        visitor: ClientInfo::operator(),
        actor: None,
        reason: None,
        detail: detail.to_owned(),
        key: ChainKeys::new(&settings.sealing_keys()),
    })
}
