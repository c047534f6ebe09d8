//! What agents' credentials are stored as, for moving them to another key.

use deskpass_core::EmployeeKey;

use crate::database::Tx;
use crate::{Result, Store};

/// The credentials of an employee that depend on a key.
#[derive(Clone)]
pub struct StoredCredentials {
    /// The employee.
    pub employee: EmployeeKey,
    /// Hash of the password, if there is one.
    pub password: Option<String>,
    /// The sealed secret of the bound device, if there is one.
    pub device: Option<String>,
}

debug_only!(StoredCredentials, employee);

pub(super) const NEXT_CREDENTIALS: &str = "SELECT corp_id, employee_key, password_hash, otp_secret FROM agent
    WHERE (corp_id, employee_key) > ($1, $2) AND (password_hash IS NOT NULL OR otp_secret IS NOT NULL)
    ORDER BY corp_id, employee_key LIMIT $3";

impl Store {
    /// The next `limit` employees after `after` who have credentials, ordered by corporation and identifier.
    pub async fn stored_credentials(&self, after: Option<EmployeeKey>, limit: i64) -> Result<Vec<StoredCredentials>> {
        self.database
            .read(move |sql| {
                let (corp, id) = after.as_ref().map_or(("", ""), |key| (key.corp(), key.id()));
                sql.rows(NEXT_CREDENTIALS, &args![corp, id, limit], |row| {
                    let (employee, password, device) = (row.employee(0)?, row.maybe_text(2)?, row.maybe_text(3)?);
                    Ok(StoredCredentials { employee, password, device })
                })
            })
            .await
    }

    /// The number of bound devices.
    pub async fn device_count(&self) -> Result<u64> {
        let text = "SELECT COUNT(*) FROM agent WHERE otp_secret IS NOT NULL";
        let count = self.database.read(move |sql| sql.first(text, &[], |row| row.int(0))).await?;
        Ok(count.unwrap_or(0).unsigned_abs())
    }

    /// Replaces the sealed secret of a device by the same secret, sealed with another key; `false` when the device was replaced or
    /// removed meanwhile.
    pub async fn reseal_device(&self, employee: EmployeeKey, before: String, after: String) -> Result<bool> {
        let text = "UPDATE agent SET otp_secret = $4 WHERE corp_id = $1 AND employee_key = $2 AND otp_secret = $3";
        let replace =
            move |tx: &mut Tx<'_>| tx.execute(text, &args![employee.corp(), employee.id(), &*before, &*after]);
        Ok(self.database.write(replace).await? == 1)
    }

    /// Replaces the hash of a password by another one of the same password; `false` when the password was changed meanwhile.
    pub async fn rehash_password(&self, employee: EmployeeKey, before: String, after: String) -> Result<bool> {
        let text = "UPDATE agent SET password_hash = $4
            WHERE corp_id = $1 AND employee_key = $2 AND password_hash = $3";
        let replace =
            move |tx: &mut Tx<'_>| tx.execute(text, &args![employee.corp(), employee.id(), &*before, &*after]);
        Ok(self.database.write(replace).await? == 1)
    }
}
