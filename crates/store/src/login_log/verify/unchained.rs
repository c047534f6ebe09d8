//! Rows that are in no chain, or at no position in one: walking the chains does not find them.

use super::{LogFaultKind, Verification};
use crate::Result;
use crate::database::{Row, Sql, SqlValue, in_snapshot};

/// The maximum number of rows that are reported individually: of those in no chain, and of those without a position in each chain.
const MAX_LISTED_UNCHAINED: i64 = 100;

/// The maximum number of reported rows whose position is not a number.
const MAX_STRAYS: usize = 1_000;

/// The number of rows that one snapshot searches for those, for each row that one snapshot verifies: no hash is computed.
const STRAY_BATCH_FACTOR: i64 = 10;

impl Verification<'_> {
    /// Reports rows whose position is not a number, which only SQLite can contain.
    pub(super) fn strays(&mut self, sql: &Sql<'_>) -> Result<()> {
        let Sql::Sqlite(_) = sql else { return Ok(()) };
        let batch = self.batch_rows.saturating_mul(STRAY_BATCH_FACTOR);
        let (mut from, mut left) = (Some(i64::MIN), MAX_STRAYS);
        while let Some(first) = from.filter(|_| left > 0) {
            let (to, strays) = in_snapshot(sql, |sql| strays_from(sql, first, batch))?;
            for id in strays.into_iter().take(left) {
                self.add_general_fault(LogFaultKind::Added, id, None);
                left -= 1;
            }
            from = to.and_then(|to| to.checked_add(1));
        }
        Ok(())
    }

    /// Counts and reports rows that are in no chain, or in one of these without a position.
    pub(super) fn unchained(&mut self, sql: &Sql<'_>, chains: &[i64]) -> Result<()> {
        in_snapshot(sql, |sql| self.report_unchained(sql, IN_NO_CHAIN, &[]))?;
        for chain in chains {
            in_snapshot(sql, |sql| self.report_unchained(sql, WITHOUT_POSITION, &args![*chain]))?;
        }
        Ok(())
    }

    fn report_unchained(&mut self, sql: &Sql<'_>, place: &str, values: &[SqlValue<'_>]) -> Result<()> {
        let rows = sql.first(&count(place), values, |row| row.int(0))?.unwrap_or(0).unsigned_abs();
        if rows == 0 {
            return Ok(());
        }
        let mut listed = sql.rows(&list(place), values, |row| Ok((row.text(0).ok(), row.timestamp(1).ok())))?;
        listed.sort();
        let further = rows.saturating_sub(u64::try_from(listed.len()).unwrap_or(u64::MAX));
        for (id, at) in listed {
            self.add_general_fault(LogFaultKind::Unchained, id, at);
        }
        self.faults.add(further);
        self.unchained = self.unchained.saturating_add(rows);
        Ok(())
    }
}

/// The conditions for rows in no chain, and for rows in a chain without a position.
const IN_NO_CHAIN: &str = "chain IS NULL";
const WITHOUT_POSITION: &str = "chain = $1 AND seq IS NULL";

fn count(place: &str) -> String {
    format!("SELECT COUNT(*) FROM login_log WHERE {place}")
}

/// In the order of the index: another one would read the whole table.
fn list(place: &str) -> String {
    format!("SELECT id, at FROM login_log WHERE {place} ORDER BY chain, seq LIMIT {MAX_LISTED_UNCHAINED}")
}

/// The statements that find these rows, each with its name and values, for the test that requires them to use an index.
pub(super) fn statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    vec![
        ("verify, rows in no chain", count(IN_NO_CHAIN), Vec::new()),
        ("verify, list of rows in no chain", list(IN_NO_CHAIN), Vec::new()),
        ("verify, rows without a position", count(WITHOUT_POSITION), args![3_i64].to_vec()),
        ("verify, list of rows without a position", list(WITHOUT_POSITION), args![3_i64].to_vec()),
    ]
}

/// The number of the last of the next `batch` rows in the table, in the order in which they were written, and the identifiers of those
/// whose position is not a number.
fn strays_from(sql: &Sql<'_>, first: i64, batch: i64) -> Result<(Option<i64>, Vec<Option<String>>)> {
    let text =
        "SELECT MAX(number) FROM (SELECT rowid AS number FROM login_log WHERE rowid >= $1 ORDER BY rowid LIMIT $2)";
    let last = sql.first(text, &args![first, batch], |row| row.maybe_int(0))?.flatten();
    let Some(to) = last else { return Ok((None, Vec::new())) };
    let text = format!(
        "SELECT id FROM login_log WHERE rowid >= $1 AND rowid <= $2 AND ((chain IS NOT NULL AND typeof(chain) <> 'integer')
         OR (seq IS NOT NULL AND typeof(seq) <> 'integer')) LIMIT {MAX_STRAYS}"
    );
    let strays = sql.rows(&text, &args![first, to], |row: &Row<'_>| Ok(row.text(0).ok()))?;
    Ok((last, strays))
}
