//! The rows of requests, by their references, of all corporations.

use super::ChainKey;
use super::row::{COLUMNS, LogRow, read};
use super::row_check::verify_rows;
use crate::database::{Sql, SqlValue, in_snapshot};
use crate::{Result, Store};

/// The maximum number of corporations that are searched. The index begins with the corporation.
const MAX_CORPS: usize = 1_000;

/// The maximum number of rows per corporation. A request writes one or two.
const MAX_ROWS_PER_CORP: usize = 50;

impl Store {
    /// The rows of the requests with these references, oldest first, each verified with the key.
    pub async fn log_rows_of(&self, references: Vec<String>, key: ChainKey) -> Result<Vec<LogRow>> {
        self.database.read(move |sql| in_snapshot(sql, |sql| rows_of(sql, &references, &key))).await
    }
}

fn rows_of(sql: &Sql<'_>, references: &[String], key: &ChainKey) -> Result<Vec<LogRow>> {
    let places: Vec<_> = (2..2 + references.len()).map(|place| format!("${place}")).collect();
    let text = format!(
        "{COLUMNS} FROM login_log WHERE corp_id = $1 AND reference IN ({}) AND reference IS NOT NULL
         LIMIT {MAX_ROWS_PER_CORP}",
        places.join(", ")
    );
    // From one corporation to the next along the index: each step reads one entry of it.
    let next = "SELECT corp_id FROM login_log WHERE corp_id > $1 AND reference IS NOT NULL ORDER BY corp_id LIMIT 1";
    let (mut rows, mut corp) = (Vec::new(), String::new());
    for _ in 0..MAX_CORPS {
        let Some(following) = sql.first(next, &args![&*corp], |row| row.text(0))? else { break };
        corp = following;
        let corps = std::iter::once(SqlValue::from(&*corp));
        let values: Vec<_> = corps.chain(references.iter().map(|reference| SqlValue::from(&**reference))).collect();
        rows.extend(sql.rows(&text, &values, read)?);
    }
    rows.sort_by(|one, other| one.id.cmp(&other.id));
    verify_rows(sql, key, &mut rows)?;
    Ok(rows)
}
