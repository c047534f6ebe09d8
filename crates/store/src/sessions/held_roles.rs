//! The roles that employees hold while their sessions begin. A default role is added only to known roles: if others were assigned
//! meanwhile, it may not apply any more, and the session must not begin with it.

use std::sync::LazyLock;

use deskpass_core::Roles;

use super::new_session::NewSession;
use crate::Result;
use crate::database::{RowList, Sql, Tx, at_place};

/// Whether each session has a default role although the roles of its employee are no longer those that it was added to. The caller has
/// locked the employees, so that their roles stay as they are read here.
pub(super) fn have_changed(tx: &Tx<'_>, sessions: &[&NewSession]) -> Result<Vec<bool>> {
    let with_default: Vec<_> = sessions.iter().filter(|new| new.session.default_role.is_some()).copied().collect();
    let held = held_roles(tx, &with_default)?;
    let mut changed = with_default.iter().zip(held).map(|(new, held)| new.held_roles != held);
    let has_default = sessions.iter().map(|new| new.session.default_role.is_some());
    Ok(has_default.map(|has_default| has_default && changed.next().unwrap_or(true)).collect())
}

const HELD: &str = "SELECT CAST($1 AS BIGINT), role_id FROM user_role WHERE corp_id = $2 AND employee_key = $3
    AND (by_hand = 1 OR by_rule = 1 OR until IS NULL OR until > $4)
    AND NOT EXISTS (SELECT 1 FROM employee e WHERE e.corp_id = $2 AND e.employee_key = $3 AND e.unconfirmed_at IS NOT NULL)";

/// The same for several employees at once; a join for the reason that [`SEEN_LIST`](super::network::SEEN_LIST) is one.
pub(super) static HELD_LIST: LazyLock<RowList<4>> = LazyLock::new(|| {
    let columns = [("place", "bigint"), ("corp_id", "text"), ("employee_key", "text"), ("at", "bigint")];
    RowList::new(LIST_SIZE, columns, |new| {
        format!(
            "SELECT new.place, held.role_id FROM {new} JOIN user_role AS held USING (corp_id, employee_key)
             JOIN employee AS holder USING (corp_id, employee_key)
             WHERE holder.unconfirmed_at IS NULL AND (held.by_hand = 1 OR held.by_rule = 1 OR held.until IS NULL OR held.until > new.at)"
        )
    })
});

/// How many employees a statement asks for: a group has some 20 to 60.
const LIST_SIZE: usize = 16;

/// The roles that the employee of each session holds when it begins.
fn held_roles(tx: &Tx<'_>, sessions: &[&NewSession]) -> Result<Vec<Roles>> {
    let keys = (0_i64..).zip(sessions).map(|(place, NewSession { session, .. })| {
        args![place, session.employee.corp(), session.employee.id(), session.created_at]
    });
    let (text, values) = match **tx {
        Sql::Postgres(_) if sessions.len() > 1 => (&*HELD_LIST.text, HELD_LIST.values(keys.collect())),
        Sql::Sqlite(_) | Sql::Postgres(_) => (HELD, keys.map(Vec::from).collect()),
    };
    let found = tx.rows_for_each(text, &values, |row| Ok((row.int(0)?, row.role(1)?)))?;
    let mut held = vec![Roles::NONE; sessions.len()];
    for (place, role) in found.into_iter().flatten() {
        let held = at_place(&mut held, place)?;
        *held = held.with(role);
    }
    Ok(held)
}
