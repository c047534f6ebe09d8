//! Whether a corporation has an administrator.

use deskpass_core::Role;

use crate::database::{Sql, read_directly};
use crate::{DirectReadError, Location, Mode, Result, Store};

impl Store {
    /// Whether the corporation has an administrator who may sign in, be it for a while.
    pub async fn has_administrator(&self, corp: String) -> Result<bool> {
        self.database.read(move |sql| exists(sql, &corp)).await
    }
}

/// The same, read next to a running service.
pub async fn read_has_administrator(location: &Location, mode: Mode, corp: String) -> Result<bool, DirectReadError> {
    read_directly(location, mode, move |sql| exists(sql, &corp)).await
}

fn exists(sql: &Sql<'_>, corp: &str) -> Result<bool> {
    let text = "SELECT 1 FROM user_role r JOIN employee e ON e.corp_id = r.corp_id AND e.employee_key = r.employee_key
        WHERE r.corp_id = $1 AND r.role_id = $2 AND e.disabled_at IS NULL AND e.left_at IS NULL LIMIT 1";
    sql.exists(text, &args![corp, Role::Admin])
}
