//! The rows of requests, by their references, of all corporations.

use super::ChainKeys;
use super::row::{COLUMNS, LogRow, read};
use super::row_check::verify_rows;
use crate::database::{Sql, SqlValue, in_snapshot};
use crate::{Result, Store};

/// The maximum number of other corporations that are searched: any client can name one that does not exist.
const MAX_OTHER_CORPS: usize = 1_000;

/// The maximum number of rows per corporation. A request writes one or two.
const MAX_ROWS_PER_CORP: usize = 50;

/// In the order of the index of references: along another index, PostgreSQL would pass over all rows without one.
pub(super) const NEXT_CORP: &str =
    "SELECT corp_id FROM login_log WHERE corp_id > $1 AND reference IS NOT NULL ORDER BY corp_id, reference LIMIT 1";

/// Reads the rows of a corporation with so many references.
pub(super) fn with_references(count: usize) -> String {
    let places: Vec<_> = (2..2 + count).map(|place| format!("${place}")).collect();
    // Without an order, which would lead the planner along another index.
    format!(
        "{COLUMNS} FROM login_log WHERE corp_id = $1 AND reference IN ({}) AND reference IS NOT NULL
         LIMIT {MAX_ROWS_PER_CORP}",
        places.join(", ")
    )
}

impl Store {
    /// The rows of the requests with these references, oldest first, each verified with the key: of these corporations, or if
    /// they have none, of others that the log names.
    pub async fn log_rows_of(
        &self,
        references: Vec<String>,
        corps: Vec<String>,
        key: ChainKeys,
    ) -> Result<Vec<LogRow>> {
        self.database.read(move |sql| in_snapshot(sql, |sql| rows_of(sql, &references, &corps, &key))).await
    }
}

fn rows_of(sql: &Sql<'_>, references: &[String], corps: &[String], key: &ChainKeys) -> Result<Vec<LogRow>> {
    let mut rows = Vec::new();
    for corp in corps {
        rows.extend(rows_in(sql, corp, references)?);
    }
    // From one corporation to the next along the index, which begins with the corporation: each step reads one entry of it.
    let mut corp = String::new();
    for _ in 0..MAX_OTHER_CORPS {
        if !rows.is_empty() {
            break;
        }
        let Some(following) = sql.first(NEXT_CORP, &args![&*corp], |row| row.text(0))? else { break };
        corp = following;
        rows.extend(rows_in(sql, &corp, references)?);
    }
    rows.sort_by(|one, other| one.id.cmp(&other.id));
    verify_rows(sql, key, &mut rows)?;
    Ok(rows)
}

fn rows_in(sql: &Sql<'_>, corp: &str, references: &[String]) -> Result<Vec<LogRow>> {
    let text = with_references(references.len());
    let references = references.iter().map(|reference| SqlValue::from(&**reference));
    let values: Vec<_> = std::iter::once(SqlValue::from(corp)).chain(references).collect();
    sql.rows(&text, &values, read)
}
