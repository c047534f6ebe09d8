//! The email addresses of employees. No two employees have the same.

use deskpass_core::{Email, EmailSource, EmployeeKey, IdentifiedPerson};

use super::person::find;
use crate::cache::CacheChange;
use crate::database::{Sql, Tx};
use crate::locks::lock_administration;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store};

/// Outcome of setting an email address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetEmailOutcome {
    /// The employee has the address, or none.
    Set,
    /// There is no such employee.
    NoSuchEmployee,
    /// Another employee has the address.
    Taken,
}

impl Store {
    /// Sets or removes the email address of an employee, and logs it. It is stored in lower case.
    pub async fn set_email(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        email: Option<Email>,
        entry: LogEntry,
    ) -> Result<SetEmailOutcome, ChangeError> {
        let email = email.map(|email| Email { address: email.address.to_lowercase(), ..email });
        self.write_as(by, move |tx| {
            // Of two concurrent changes, the second must see the address of the first.
            lock_administration(tx)?;
            if find(tx, &key)?.is_none() {
                return Ok(SetEmailOutcome::NoSuchEmployee);
            }
            if let Some(email) = &email
                && is_taken(tx, &email.address, &key)?
            {
                return Ok(SetEmailOutcome::Taken);
            }
            write(tx, &key, email.as_ref())?;
            tx.record_change(CacheChange::Person(key.clone()));
            entry.write(tx)?;
            Ok(SetEmailOutcome::Set)
        })
        .await
    }

    /// The employee who has this email address, if there is one.
    pub async fn employee_of_email(&self, address: String) -> Result<Option<EmployeeKey>> {
        let address = address.to_lowercase();
        let text = "SELECT corp_id, employee_key FROM employee WHERE email = $1 LIMIT 1";
        self.database.read(move |sql| sql.first(text, &args![&*address], |row| row.employee(0))).await
    }
}

/// Whether another employee has an address.
fn is_taken(sql: &Sql<'_>, address: &str, key: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM employee WHERE email = $1 AND NOT (corp_id = $2 AND employee_key = $3) LIMIT 1";
    sql.exists(text, &args![address, key.corp(), key.id()])
}

fn write(tx: &Tx<'_>, key: &EmployeeKey, email: Option<&Email>) -> Result<()> {
    let (address, source) = email.map(|email| (&*email.address, email.source.name())).unzip();
    let text = "UPDATE employee SET email = $3, email_source = $4 WHERE corp_id = $1 AND employee_key = $2";
    tx.execute(text, &args![key.corp(), key.id(), address, source]).map(drop)
}

/// What a person's email address becomes by the platform's data.
pub(super) enum EmailChange {
    /// It stays.
    None,
    /// It becomes this one, or none.
    To(Option<Email>),
}

/// Decides what a person's email address becomes. An operator's entry stays, and so does the stored one if another employee has the
/// new one. The caller has locked nothing yet: a change locks the addresses of all employees.
pub(super) fn platform_change(tx: &Tx<'_>, who: &IdentifiedPerson) -> Result<EmailChange> {
    let Some(sent) = &who.email else { return Ok(EmailChange::None) };
    let address = sent.to_lowercase();
    if !differs(tx, &who.key, &address)? {
        return Ok(EmailChange::None);
    }
    lock_administration(tx)?;
    // An operator may have entered one meanwhile.
    if !differs(tx, &who.key, &address)? {
        return Ok(EmailChange::None);
    }
    if address.is_empty() {
        return Ok(EmailChange::To(None));
    }
    if is_taken(tx, &address, &who.key)? {
        tracing::warn!(employee = %who.key, "the platform's email address of an employee belongs to another employee");
        return Ok(EmailChange::None);
    }
    Ok(EmailChange::To(Some(Email { address, source: EmailSource::Platform })))
}

/// Whether an employee has another address than this one, and not from an operator. While it is not confirmed that the holder is the
/// person whom programs know, the address stays.
fn differs(sql: &Sql<'_>, key: &EmployeeKey, address: &str) -> Result<bool> {
    let found = find(sql, key)?;
    if found.as_ref().is_some_and(|found| found.person.unconfirmed) {
        return Ok(false);
    }
    Ok(match found.and_then(|found| found.person.email) {
        None => !address.is_empty(),
        Some(known) => known.source != EmailSource::Operator && known.address != address,
    })
}

/// Makes the change, in the transaction that decided it.
pub(super) fn apply(tx: &Tx<'_>, key: &EmployeeKey, change: &EmailChange) -> Result<()> {
    match change {
        EmailChange::None => Ok(()),
        EmailChange::To(email) => write(tx, key, email.as_ref()),
    }
}
