//! The tables of each version, as the migrations create them: what a backup contains, from either database.

use super::migrate;
use super::postgres::Column;
use super::sqlite::SqliteConnection;
use super::{Sql, SqlValue};
use crate::Result;

/// The tables that a backup leaves out: they describe the running nodes or the tables, or are the same in every database.
const NOT_IN_BACKUP: [&str; 4] = ["chore", "journal", "migration", "role"];

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// The positions of the columns of the primary key, and their names. A table without one has one row.
    pub(super) key: Vec<(usize, String)>,
}

impl Table {
    pub(super) fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// The values of the primary key in a row.
    pub(super) fn key_of(&self, row: &[SqlValue<'static>]) -> Vec<SqlValue<'static>> {
        self.key.iter().filter_map(|(at, _)| row.get(*at).cloned()).collect()
    }
}

/// The tables of a version that belong into a backup, in the order in which they are created: a table comes before those that
/// refer to it. They are taken from an empty database, so that they are the same whatever database is backed up.
pub(super) fn tables_at(version: i64) -> Result<Vec<Table>> {
    let empty = SqliteConnection::open_in_memory()?;
    migrate::create_tables(&Sql::Sqlite(&empty), version)?;
    let text = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid";
    let names = empty.rows(text, &[], |row| row.text(0))?;
    let wanted = names.into_iter().filter(|name| !NOT_IN_BACKUP.contains(&&**name));
    wanted.map(|name| describe(&empty, name)).collect()
}

fn describe(empty: &SqliteConnection, name: String) -> Result<Table> {
    let text = "SELECT name, type, pk FROM pragma_table_info($1) ORDER BY cid";
    let found = empty.rows(text, &args![&*name], |row| Ok((row.text(0)?, row.text(1)? == "TEXT", row.int(2)?)))?;
    let mut key: Vec<_> = found.iter().enumerate().filter(|(_, (.., place))| *place > 0).collect();
    key.sort_unstable_by_key(|(_, (.., place))| *place);
    let key = key.into_iter().map(|(at, (name, ..))| (at, name.clone())).collect();
    let columns = found.into_iter().map(|(name, is_text, _)| Column { name, is_text }).collect();
    Ok(Table { name, columns, key })
}

/// The number of rows in a table that a migration or the start of a service does not create.
pub(super) fn used_rows(sql: &Sql<'_>, table: &str) -> Result<u64> {
    let used = match table {
        // Empty chains and their marker exist as soon as a service has run.
        "log_chain" => "seq > 0",
        "log_marker" => "adopted > 0",
        "desk" | "probe" => return Ok(0),
        _ => "1 = 1",
    };
    let count = sql.first(&format!("SELECT COUNT(*) FROM {table} WHERE {used}"), &[], |row| row.int(0))?;
    Ok(count.map_or(0, i64::unsigned_abs))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_backup_has_every_table_but_those_it_leaves_out() {
        let tables = tables_at(migrate::newest_version()).unwrap();
        let names: Vec<_> = tables.iter().map(|table| &*table.name).collect();
        for wanted in ["employee", "session", "login_log", "log_chain", "used_once", "desk", "probe"] {
            assert!(names.contains(&wanted), "{wanted}");
        }
        assert!(!names.iter().any(|name| NOT_IN_BACKUP.contains(name)));
        // A larger table without a key would be read at once.
        let keyless: Vec<_> = tables.iter().filter(|table| table.key.is_empty()).map(|table| &*table.name).collect();
        assert_eq!(keyless, ["desk", "probe"]);
    }

    #[test]
    fn a_key_has_its_columns_in_their_order() {
        let tables = tables_at(migrate::newest_version()).unwrap();
        let key = |name: &str| {
            let table = tables.iter().find(|table| table.name == name).unwrap();
            table.key.iter().map(|(_, column)| column.clone()).collect::<Vec<_>>()
        };
        assert_eq!(key("known_browser"), ["digest", "corp_id", "employee_key"]);
        assert_eq!(key("session"), ["digest"]);
    }

    #[test]
    fn an_earlier_version_has_the_tables_of_its_time() {
        let tables = tables_at(2).unwrap();
        assert!(tables.iter().any(|table| table.name == "link") && !tables.iter().any(|table| table.name == "notice"));
    }
}
