//! The roles that a grant depends on, which change when its client is told others.

use deskpass_core::Roles;

use super::endings::{drop_tokens, end_alone};
use super::record::{GRANT_COLUMNS, NEXT_COLUMN, grant, role_names};
use crate::database::{Row, Tx};
use crate::locks::lock_roles;
use crate::{Result, Store};

impl Store {
    /// Records the roles that a grant depends on: those that its client was told last, and those without which the client would not
    /// have got it. A role that the employee does not hold any more ends the grant, as it would if it had been recorded before the role
    /// was revoked. `false` when the grant has ended, now or before.
    pub async fn set_told_roles(&self, grant_id: String, roles: Roles) -> Result<bool> {
        self.database.write(move |tx| set_told_roles(tx, &grant_id, roles)).await
    }
}

fn set_told_roles(tx: &mut Tx<'_>, id: &str, roles: Roles) -> Result<bool> {
    // The store has no clock, and the newest token was made a short time ago.
    let text = format!(
        "SELECT {GRANT_COLUMNS}, s.lent_role_id, (SELECT MAX(t.created_at) FROM oidc_token t WHERE t.grant_id = g.id)
         FROM oidc_grant g JOIN session s ON s.digest = g.session WHERE g.id = $1 AND g.ended_at IS NULL"
    );
    let read = |row: &Row<'_>| {
        let now = row.maybe_timestamp(NEXT_COLUMN + 1)?;
        Ok((grant(row)?, row.maybe_role(NEXT_COLUMN)?, now))
    };
    let Some((grant, default_role, now)) = tx.first(&text, &args![id], read)? else { return Ok(false) };
    if grant.roles == roles {
        return Ok(true);
    }
    let now = now.unwrap_or(grant.created_at);
    // Before the grant, in the order in which a revocation locks them.
    if lock_roles(tx, &grant.employee, roles, default_role, now)?.is_some() {
        end_alone(tx, "id = $1", &args![id], now, true)?;
        return Ok(false);
    }
    let (text, names) = ("UPDATE oidc_grant SET roles = $2 WHERE id = $1 AND ended_at IS NULL", role_names(roles));
    if tx.execute(text, &args![id, &*names])? == 0 {
        return Ok(false);
    }
    drop_tokens(tx, &[id])?;
    Ok(true)
}
