//! The identifiers by which clients know employees.

use deskpass_core::EmployeeKey;

use crate::cache::CacheChange;
use crate::{Result, Store};

impl Store {
    /// The identifier by which clients know an employee: the one that they have, or else `candidate`, which they keep from now on.
    /// `None` when there is no such employee.
    pub async fn subject(&self, key: EmployeeKey, candidate: String) -> Result<Option<String>> {
        self.database
            .write(move |tx| {
                // Of two concurrent calls, the second waits here and then finds the identifier of the first.
                let text =
                    "UPDATE employee SET subject = $3 WHERE corp_id = $1 AND employee_key = $2 AND subject IS NULL";
                if tx.execute(text, &args![key.corp(), key.id(), &*candidate])? == 1 {
                    tx.record_change(CacheChange::Person(key.clone()));
                    return Ok(Some(candidate.clone()));
                }
                let text = "SELECT subject FROM employee WHERE corp_id = $1 AND employee_key = $2";
                Ok(tx.first(text, &args![key.corp(), key.id()], |row| row.maybe_text(0))?.flatten())
            })
            .await
    }
}
