//! How the platform writes the identifiers of employees. Keys do not distinguish upper and lower case.

use std::collections::HashMap;

use deskpass_core::{EmployeeKey, LoginMethod};

use super::terms;
use crate::cache::CacheChange;
use crate::database::SqlValue;
use crate::{AuditEvent, Result, Store};

const ADOPT: &str = "UPDATE employee SET employee_id = $3 WHERE corp_id = $1 AND employee_key = $2 AND NOT EXISTS
    (SELECT 1 FROM login_log l WHERE l.corp_id = $1 AND l.employee_key = $2 AND l.event = $4 AND l.login_method IN ($5, $6))";

/// The number of employees that one statement names.
const STATEMENT_KEYS: usize = 100;

impl Store {
    /// How the identifiers of employees of a corporation are written, by key. Keys without an employee are left out.
    pub async fn spellings(&self, corp: String, keys: Vec<String>) -> Result<HashMap<String, String>> {
        self.database
            .read(move |sql| {
                let mut spellings = HashMap::new();
                for some in keys.chunks(STATEMENT_KEYS) {
                    let places: Vec<_> = (0..some.len()).map(|at| format!("${}", at + 2)).collect();
                    let text = format!(
                        "SELECT employee_key, employee_id FROM employee WHERE corp_id = $1 AND employee_key IN ({})",
                        places.join(", ")
                    );
                    let values = [&corp].into_iter().chain(some).map(|text| SqlValue::from(text.as_str()));
                    let values: Vec<_> = values.collect();
                    spellings.extend(sql.rows(&text, &values, |row| Ok((row.text(0)?, row.text(1)?)))?);
                }
                Ok(spellings)
            })
            .await
    }

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
