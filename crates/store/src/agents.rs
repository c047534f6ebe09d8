//! Support staff.

use deskpass_core::{EmployeeKey, Role, Timestamp};

use crate::{Store, StoreError};

impl Store {
    /// The role of somebody's agent record, if they have one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn agent_role(&self, key: EmployeeKey) -> Result<Option<Role>, StoreError> {
        let text = "SELECT role_id FROM agent WHERE corp_id = $1 AND employee_key = $2";
        self.database.read(move |sql| sql.first(text, &args![key.corp(), key.id()], |row| row.role(0))).await
    }

    /// Makes an employee an agent; `false` when they are one already, and then nothing changes.
    ///
    /// # Errors
    /// When the store fails, or there is no such employee.
    pub async fn add_agent(&self, key: EmployeeKey, role: Role, at: Timestamp) -> Result<bool, StoreError> {
        self.database
            .write(move |tx| {
                let text = "INSERT INTO agent (corp_id, employee_key, role_id, created_at) VALUES ($1, $2, $3, $4)
                    ON CONFLICT DO NOTHING";
                Ok(tx.execute(text, &args![key.corp(), key.id(), role, at])? == 1)
            })
            .await
    }
}
