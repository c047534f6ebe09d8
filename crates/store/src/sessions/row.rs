//! Reading a session from its row.

use deskpass_core::{EmployeeKey, LoginMethod, LoginSource, PlatformVouching, Session};

use crate::StoreError;
use crate::database::Row;

pub(super) fn session(row: &Row<'_>) -> Result<Session, StoreError> {
    let damaged = || StoreError::damaged("unreadable session");
    Ok(Session {
        employee: EmployeeKey::from_parts(&row.text(0)?, &row.text(1)?),
        current_role: row.role(2)?,
        method: LoginMethod::from_name(&row.text(3)?).ok_or_else(damaged)?,
        source: LoginSource::from_name(&row.text(4)?).ok_or_else(damaged)?,
        created_at: row.timestamp(5)?,
        expires_at: row.timestamp(6)?,
        vouched: PlatformVouching::from_number(row.int(7)?),
        default_role: if row.is_null(8)? { None } else { Some(row.role(8)?) },
    })
}
