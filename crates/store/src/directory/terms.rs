//! Search terms of people, stored with them.

use deskpass_core::{EmployeeKey, search_terms};

use crate::database::{Row, SqlValue, Tx};
use crate::{Result, Store};

/// People whose terms are written in one transaction, which shares the writer with sign-ins.
const PEOPLE_PER_TRANSACTION: i64 = 50;

/// Terms that are written in one statement.
const BATCH_ROWS: usize = 20;

/// A person whose terms are to be written.
struct PersonNames {
    key: EmployeeKey,
    employee_id: String,
    name: String,
}

impl PersonNames {
    /// Reads corporation, key, identifier and name.
    fn read(row: &Row<'_>) -> Result<Self> {
        let key = row.employee(0)?;
        Ok(Self { key, employee_id: row.text(2)?, name: row.text(3)? })
    }
}

impl Store {
    /// Writes the terms of up to `batch` people who have none yet; returns the number of people.
    pub async fn index_terms(&self, batch: i64) -> Result<usize> {
        let mut made = 0;
        let mut left = batch;
        while left > 0 {
            let at_once = left.min(PEOPLE_PER_TRANSACTION);
            let some = self.database.write(move |tx| index_batch(tx, at_once)).await?;
            made += some;
            let full = i64::try_from(some).is_ok_and(|some| some == at_once);
            left = if full { left - at_once } else { 0 };
        }
        Ok(made)
    }
}

fn index_batch(tx: &Tx<'_>, at_once: i64) -> Result<usize> {
    // The rows stay locked, so that no name changes meanwhile.
    let text = "UPDATE employee SET terms_of = name WHERE (corp_id, employee_key) IN
        (SELECT corp_id, employee_key FROM employee WHERE terms_of IS NULL ORDER BY corp_id, employee_key LIMIT $1)
        AND terms_of IS NULL RETURNING corp_id, employee_key, employee_id, name";
    let people = tx.rows(text, &args![at_once], PersonNames::read)?;
    write(tx, &people)?;
    Ok(people.len())
}

/// Rewrites a person's terms if they are missing or belong to another name. The caller has locked the person's row.
pub(super) fn refresh(tx: &Tx<'_>, key: &EmployeeKey) -> Result<()> {
    let text = "UPDATE employee SET terms_of = name WHERE corp_id = $1 AND employee_key = $2
        AND (terms_of IS NULL OR terms_of <> name) RETURNING corp_id, employee_key, employee_id, name";
    write(tx, &tx.rows(text, &args![key.corp(), key.id()], PersonNames::read)?)
}

fn write(tx: &Tx<'_>, people: &[PersonNames]) -> Result<()> {
    for PersonNames { key, .. } in people {
        let text = "DELETE FROM employee_term WHERE corp_id = $1 AND employee_key = $2";
        tx.execute(text, &args![key.corp(), key.id()])?;
    }
    let of = |named: &PersonNames| search_terms(&named.employee_id, &named.name);
    let all: Vec<_> =
        people.iter().flat_map(|named| of(named).into_iter().map(move |term| (&named.key, term))).collect();
    for some in all.chunks(BATCH_ROWS) {
        let rows = (0..some.len()).map(|at| format!("(${}, ${}, ${})", 3 * at + 1, 3 * at + 2, 3 * at + 3));
        let rows = rows.collect::<Vec<_>>().join(", ");
        let values: Vec<SqlValue<'_>> =
            some.iter().flat_map(|(key, term)| args![key.corp(), &**term, key.id()]).collect();
        let text =
            format!("INSERT INTO employee_term (corp_id, term, employee_key) VALUES {rows} ON CONFLICT DO NOTHING");
        tx.execute(&text, &values)?;
    }
    Ok(())
}
