//! Carries everything from the embedded database over to a server: all of it, or nothing.

use std::path::{Path, PathBuf};

use deskpass_core::Timestamp;

use super::postgres::{self, Column};
use super::sqlite::Sqlite;
use super::{Mode, OpenError, Postgres, Sql, Value};
use crate::StoreError;

/// What is carried over, in an order in which nothing refers to what is not there yet. The rest is made anew by whoever
/// opens the target, or is about the database itself.
const TABLES: [&str; 8] =
    ["employee", "user_role", "agent", "link", "session", "denied_token", "bind_proof", "login_log"];

/// Rows that travel together.
const ROWS: i64 = 5_000;

/// How far a copy has come.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// The table.
    pub table: &'static str,
    /// How many of its rows were carried over.
    pub rows: u64,
    /// Of how many.
    pub of: u64,
}

/// Why nothing was copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// There is nothing to copy.
    #[error("there is no deskpass data in {}; check --from", .0.display())]
    Missing(PathBuf),
    /// Source or target cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The target has data.
    #[error("the target has data already (in the table {0}); copy into an empty database, nothing was changed")]
    NotEmpty(String),
    /// Reading or writing failed.
    #[error("{0}; nothing was copied, the target is as it was")]
    Failed(#[from] StoreError),
}

/// Carries all data from a directory to a server that has none; returns how many rows of each table there are. The
/// directory must not be in use, and stays as it is.
///
/// # Errors
/// When source or target cannot be used, or the target is not empty; then nothing was copied.
pub async fn copy(
    from: &Path,
    to: &Postgres,
    mode: Mode,
    now: Timestamp,
    mut progress: impl FnMut(Carried) + Send + 'static,
) -> Result<Vec<Carried>, CopyError> {
    if !from.join("deskpass.db").exists() {
        return Err(CopyError::Missing(from.to_owned()));
    }
    // Held until the end, so that nothing changes behind our back.
    let source = Sqlite::open(from, mode, std::sync::Arc::new(crate::cache::Cache::new(1)), now)?;
    let reader = Sql::Sqlite(source.reader()?);
    postgres::on_one_connection(to, mode, now, move |target| carry_all(&reader, target, &mut progress)).await?
}

fn carry_all(source: &Sql, target: &Sql, progress: &mut impl FnMut(Carried)) -> Result<Vec<Carried>, CopyError> {
    target.batch("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0")?;
    // Nobody signs in meanwhile. Whoever looks sees the target empty until all is there.
    target.batch("LOCK TABLE employee, session, denied_token, login_log IN SHARE ROW EXCLUSIVE MODE")?;
    for table in TABLES {
        let text = format!("SELECT 1 FROM {table} LIMIT 1");
        if target.first(&text, &[], |row| row.int(0))?.is_some() {
            return Err(CopyError::NotEmpty(table.to_owned()));
        }
    }
    let carried = TABLES.into_iter().map(|table| carry(source, target, table, progress));
    let carried = carried.collect::<Result<Vec<_>, _>>()?;
    let newest = source.first("SELECT at FROM probe", &[], |row| row.moment(0))?;
    target.execute("UPDATE probe SET at = CASE WHEN at > $1 THEN at ELSE $1 END", &args![newest])?;
    target.batch("COMMIT")?;
    Ok(carried)
}

fn carry(
    source: &Sql,
    target: &Sql,
    table: &'static str,
    progress: &mut impl FnMut(Carried),
) -> Result<Carried, StoreError> {
    let columns = columns(source, table)?;
    let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
    let text = format!("SELECT rowid, {} FROM {table} WHERE rowid > $1 ORDER BY rowid LIMIT $2", names.join(", "));
    let count = source.first(&format!("SELECT COUNT(*) FROM {table}"), &[], |row| row.int(0))?;
    let mut carried = Carried { table, rows: 0, of: count.map_or(0, i64::unsigned_abs) };
    let mut after = i64::MIN;
    loop {
        progress(carried);
        let rows = source.rows(&text, &args![after, ROWS], |row| {
            let values = (1..=columns.len()).map(|column| row.value(column)).collect::<Result<Vec<_>, _>>()?;
            Ok((row.int(0)?, values))
        })?;
        let Some((last, _)) = rows.last() else { return Ok(carried) };
        after = *last;
        let rows: Vec<Vec<Value<'_>>> = rows.into_iter().map(|(_, values)| values).collect();
        carried.rows += target.append(table, &columns, &rows)?;
    }
}

fn columns(source: &Sql, table: &str) -> Result<Vec<Column>, StoreError> {
    let text = "SELECT name, type FROM pragma_table_info($1) ORDER BY cid";
    source.rows(text, &args![table], |row| Ok(Column { name: row.text(0)?, is_text: row.text(1)? == "TEXT" }))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn no_table_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let cache = std::sync::Arc::new(crate::cache::Cache::new(1));
        let source = Sqlite::open(directory.path(), Mode::Production, cache, Timestamp::from_millis(0)).unwrap();
        let tables = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
        let found = Sql::Sqlite(source.reader().unwrap()).rows(tables, &[], |row| row.text(0)).unwrap();
        // About the database itself, the same in every one, or about to be over.
        let left = ["chore", "desk", "journal", "migration", "probe", "role"];
        let mut known: Vec<_> = TABLES.into_iter().chain(left).collect();
        known.sort_unstable();
        assert_eq!(found, known);
    }
}
