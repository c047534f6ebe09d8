//! How the platform writes the identifiers of employees. Keys do not distinguish upper and lower case.

use deskpass_core::{EmployeeKey, LoginMethod};

use super::terms;
use crate::cache::CacheChange;
use crate::{AuditEvent, Result, Store};

const ADOPT: &str = "UPDATE employee SET employee_id = $3 WHERE corp_id = $1 AND employee_key = $2 AND NOT EXISTS
    (SELECT 1 FROM login_log l WHERE l.corp_id = $1 AND l.employee_key = $2 AND l.event = $4 AND l.login_method IN ($5, $6))";

impl Store {
    /// Writes an employee's identifier as the platform does, unless the employee has signed in through the platform: after that the
    /// record belongs to the user with the stored spelling. `true` if it was written.
    pub async fn adopt_spelling(&self, key: EmployeeKey, employee_id: String) -> Result<bool> {
        self.database
            .write(move |tx| {
                let [oauth2, qrcode] = [LoginMethod::Oauth2, LoginMethod::Qrcode].map(LoginMethod::name);
                let event = AuditEvent::SignIn.name();
                let values = args![key.corp(), key.id(), &*employee_id, event, oauth2, qrcode];
                if tx.execute(ADOPT, &values)? == 0 {
                    return Ok(false);
                }
                terms::refresh(tx, &key)?;
                tx.record_change(CacheChange::Person(key.clone()));
                Ok(true)
            })
            .await
    }
}
