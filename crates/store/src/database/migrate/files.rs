//! The migrations: the files in `migrations/`.

use std::sync::LazyLock;

use include_dir::{Dir, File, include_dir};

static MIGRATION_FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/migrations");

/// A migration.
pub(super) struct Migration {
    pub(super) id: i64,
    pub(super) text: &'static str,
    /// Whether it creates one index and nothing else. On tables with data, PostgreSQL builds it outside of a transaction.
    pub(super) is_index: bool,
}

/// The migrations, oldest first: the names of the files begin with their numbers. A released migration is never edited. Nodes of
/// the previous version keep working during and after a migration, so migrations only add, and an existing table is locked for a
/// moment only: no migration builds an index on one beside `*_index.sql`, or changes its rows.
pub(super) static MIGRATIONS: LazyLock<Vec<Migration>> = LazyLock::new(|| {
    let read = |file: &'static File<'_>| {
        let name = file.path().to_str()?;
        let id = name.split_once('_')?.0.parse().ok()?;
        Some(Migration { id, text: file.contents_utf8()?, is_index: name.ends_with("_index.sql") })
    };
    let mut migrations: Vec<_> = MIGRATION_FILES.files().filter_map(read).collect();
    migrations.sort_unstable_by_key(|migration| migration.id);
    migrations
});

/// Returns the schema version after all migrations.
#[must_use]
pub fn newest_version() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.id)
}

impl Migration {
    /// The tables that it changes and does not create.
    pub(super) fn changed_tables(&self) -> Vec<&'static str> {
        let mut tables = Vec::new();
        for line in self.text.lines() {
            if let ["ALTER", "TABLE", table, ..] | ["CREATE", "INDEX", _, "ON", table, ..] =
                *line.split_whitespace().collect::<Vec<_>>()
                && !tables.contains(&table)
                && !self.creates(table)
            {
                tables.push(table);
            }
        }
        tables
    }

    fn creates(&self, table: &str) -> bool {
        self.text.contains(&format!("CREATE TABLE {table} ("))
    }

    /// The name of the index that it creates, and the statement that does so without blocking writers.
    pub(super) fn concurrent_index(&self) -> (&'static str, String) {
        let at = self.text.find("CREATE INDEX ").unwrap_or_default();
        let rest = self.text.get(at..).and_then(|text| text.strip_prefix("CREATE INDEX ")).unwrap_or_default();
        (rest.split(' ').next().unwrap_or_default(), format!("CREATE INDEX CONCURRENTLY {rest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The version of the first release. Earlier migrations run on no data that a release wrote.
    const FIRST_RELEASE: i64 = 10;

    /// Indexes that are built in a transaction on a table from before: they contain no row of an earlier version.
    const EMPTY_INDEXES: [&str; 2] = ["user_role_by_end", "user_role_by_rule"];

    /// Tables with few rows, which a migration may change.
    const SMALL_TABLES: [&str; 2] = ["chore", "desk"];

    /// What is wrong with a statement of a migration that runs in a transaction, while nodes use the tables.
    fn problem(migration: &Migration, statement: &str) -> Option<&'static str> {
        let may_change = |table: &str| SMALL_TABLES.contains(&table) || migration.creates(table);
        match *statement.split_whitespace().collect::<Vec<_>>() {
            ["CREATE", "TABLE", ..] | ["ALTER", "TABLE", _, "ADD", "COLUMN", _, "TEXT" | "BIGINT"] => None,
            ["CREATE", "INDEX", index, "ON", table, ..]
                if migration.creates(table) || EMPTY_INDEXES.contains(&index) =>
            {
                None
            }
            ["CREATE", "INDEX", ..] => Some("builds an index of an existing table: put it into a file *_index.sql"),
            ["UPDATE", table, ..] | ["DELETE" | "INSERT", _, table, ..] if may_change(table) => None,
            ["UPDATE" | "DELETE" | "INSERT", ..] => {
                Some("changes rows of an existing table: do it in batches, after the migration")
            }
            // A constant default is not written to the rows.
            ["ALTER", "TABLE", _, "ADD", "COLUMN", _, "TEXT" | "BIGINT", "NOT", "NULL", "DEFAULT", value]
                if !value.contains('(') =>
            {
                None
            }
            _ => Some("may lock a table for long, or stop nodes of the previous version: only add"),
        }
    }

    fn statements(text: &str) -> Vec<String> {
        let code = text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
        code.split(';').map(|statement| statement.trim().to_owned()).filter(|text| !text.is_empty()).collect()
    }

    #[test]
    fn migrations_are_numbered_without_gaps() {
        assert!(MIGRATIONS.iter().map(|migration| migration.id).eq(1..=newest_version()));
        assert_eq!(MIGRATIONS.len(), MIGRATION_FILES.files().count());
    }

    #[test]
    fn a_migration_that_builds_an_index_does_nothing_else() {
        for migration in MIGRATIONS.iter().filter(|migration| migration.is_index) {
            let (name, concurrent) = migration.concurrent_index();
            let statements = statements(migration.text);
            assert_eq!(statements.len(), 1, "{name}");
            assert!(statements.iter().all(|text| text.starts_with(&format!("CREATE INDEX {name} ON "))), "{name}");
            assert!(concurrent.starts_with(&format!("CREATE INDEX CONCURRENTLY {name} ON ")), "{concurrent}");
        }
    }

    #[test]
    fn a_migration_in_a_transaction_locks_no_table_for_long() {
        let in_transactions = |migration: &&Migration| migration.id > FIRST_RELEASE && !migration.is_index;
        for migration in MIGRATIONS.iter().filter(in_transactions) {
            for statement in statements(migration.text) {
                assert_eq!(problem(migration, &statement), None, "{}: {statement}", migration.id);
            }
        }
    }

    #[test]
    fn statements_that_lock_a_table_for_long_are_found() {
        let made = Migration { id: 99, text: "CREATE TABLE made (a TEXT);", is_index: false };
        for statement in [
            "CREATE INDEX some ON login_log (at)",
            "CREATE UNIQUE INDEX some ON made (a)",
            "UPDATE employee SET watched = 1",
            "DELETE FROM session WHERE expires_at < 0",
            "INSERT INTO login_log (id) SELECT 1",
            "ALTER TABLE employee DROP COLUMN name",
            "ALTER TABLE employee ADD COLUMN a TEXT UNIQUE",
            "ALTER TABLE employee ADD COLUMN a TEXT NOT NULL",
            "ALTER TABLE employee ADD COLUMN a BIGINT NOT NULL DEFAULT random()",
            "ALTER TABLE employee ADD COLUMN a BIGINT REFERENCES role (id)",
        ] {
            assert!(problem(&made, statement).is_some(), "{statement}");
        }
        for statement in [
            "CREATE TABLE other (a TEXT)",
            "CREATE INDEX some ON made (a)",
            "INSERT INTO made (a) VALUES ('x')",
            "UPDATE desk SET person_id = 'userid'",
            "ALTER TABLE employee ADD COLUMN a TEXT",
            "ALTER TABLE employee ADD COLUMN a BIGINT NOT NULL DEFAULT 0",
        ] {
            assert_eq!(problem(&made, statement), None, "{statement}");
        }
    }

    #[test]
    fn the_tables_that_a_migration_changes_are_known() {
        let text = "-- ALTER TABLE is a word here.\nCREATE TABLE made (a TEXT);\nCREATE INDEX made_by_a ON made (a);\n\
            ALTER TABLE employee ADD COLUMN b TEXT;\nALTER TABLE employee ADD COLUMN c TEXT;\nCREATE INDEX d ON agent (e);";
        let migration = Migration { id: 99, text, is_index: false };
        assert_eq!(migration.changed_tables(), ["employee", "agent"]);
    }
}
