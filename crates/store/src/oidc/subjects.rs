//! The identifiers by which clients know employees.

use deskpass_core::{EmployeeKey, Timestamp};

use crate::cache::CacheChange;
use crate::deny_list::EndReason;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store};

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

    /// Makes an employee another person for the clients, and logs it: the platform gave the user ID to another person. All sessions and
    /// what clients got for them end, and the identifier and the email address are removed. Returns the number of ended sessions; `None`
    /// when there is no such employee.
    pub async fn renew_subject(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<Option<usize>, ChangeError> {
        self.write_as(by, move |tx| {
            let text = "UPDATE employee SET subject = NULL, email = NULL, email_source = NULL
                WHERE corp_id = $1 AND employee_key = $2";
            if tx.execute(text, &args![key.corp(), key.id()])? == 0 {
                return Ok(None);
            }
            tx.record_change(CacheChange::Person(key.clone()));
            let ended = end_sessions_of(tx, &key, SessionScope::All, (EndReason::Kicked, deny_until), entry.at)?;
            entry.clone().with_detail(format!("{ended} session(s) ended")).write(tx)?;
            Ok(Some(ended))
        })
        .await
    }
}
