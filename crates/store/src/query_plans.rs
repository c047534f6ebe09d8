//! Query plans of lists and of the sweep, for the tests that require them to use an index.

use std::collections::HashMap;

use crate::database::{Row, Sql, SqlValue, in_snapshot};
use crate::directory::{MAX_SCANNED_ENTRIES, PeopleSql, is_selective};
use crate::login_log::{empty_page_statements, page_statements};
use crate::sessions::SessionWalk;
use crate::{Cursor, PeopleFilter, Result, SessionFilter, Store, oidc, people};

impl Store {
    /// The plans for selecting the next `step` entries of a list of people, and for reading as many people and their roles.
    #[doc(hidden)]
    pub async fn people_plans(&self, filter: PeopleFilter, from: Option<Cursor>, step: usize) -> Result<[String; 3]> {
        let keys: Vec<_> = (0..step).map(|number| format!("person{number}")).collect();
        let plans = move |sql: &Sql<'_>| {
            in_snapshot(sql, |sql| {
                let selective = is_selective(sql, &filter, MAX_SCANNED_ENTRIES)?;
                let batch = PeopleSql::batch(&filter, from.as_ref(), step, selective)?;
                let (people, roles) = (PeopleSql::people(&filter.corp, &keys), PeopleSql::roles(&filter.corp, &keys));
                let plan = |query: PeopleSql| plan(sql, &query.text, &query.values);
                Ok([plan(batch)?, plan(people)?, plan(roles)?])
            })
        };
        self.database.read(plans).await
    }

    /// The plan for counting people among so many entries.
    #[doc(hidden)]
    pub async fn count_plan(&self, filter: PeopleFilter, entries: i64) -> Result<String> {
        let count = move |sql: &Sql<'_>| {
            in_snapshot(sql, |sql| {
                let query = PeopleSql::count(&filter, entries, is_selective(sql, &filter, MAX_SCANNED_ENTRIES)?)?;
                plan(sql, &query.text, &query.values)
            })
        };
        self.database.read(count).await
    }

    /// The plan for reading a page of sessions.
    #[doc(hidden)]
    pub async fn sessions_plan(&self, filter: SessionFilter, after: Option<Cursor>, limit: usize) -> Result<String> {
        let walk = SessionWalk::from(&filter, after.as_ref(), limit)?;
        self.database.read(move |sql| plan(sql, &walk.text(sql), &walk.values())).await
    }

    /// The plans of the statements for OpenID Connect that run often, each with its name.
    #[doc(hidden)]
    pub async fn oidc_plans(&self) -> Result<Vec<(&'static str, String)>> {
        self.database.read(|sql| plans(sql, oidc::statements())).await
    }

    /// The plans of the statements about what the platform says that run often, each with its name.
    #[doc(hidden)]
    pub async fn platform_plans(&self) -> Result<Vec<(&'static str, String)>> {
        self.database.read(|sql| plans(sql, people::statements())).await
    }

    /// The plans for reading a page of the log, each with its name.
    #[doc(hidden)]
    pub async fn log_page_plans(&self) -> Result<Vec<(String, String)>> {
        let plans = |sql: &Sql<'_>| {
            let plans = page_statements(sql).map(|(name, text, values)| Ok((name, plan(sql, &text, &values)?)));
            plans.collect()
        };
        self.database.read(move |sql| in_snapshot(sql, plans)).await
    }

    /// How many pages PostgreSQL reads for a page of the log that has no entries, by the name of the statement.
    #[doc(hidden)]
    pub async fn log_page_reads(&self) -> Result<Vec<(String, u64)>> {
        let reads = |sql: &Sql<'_>| {
            empty_page_statements(sql)
                .map(|(name, text, values)| Ok((name, pages_read(sql, &text, &values)?)))
                .collect()
        };
        self.database.read(move |sql| in_snapshot(sql, reads)).await
    }
}

/// The number of pages that PostgreSQL read, from memory or not.
fn pages_read(sql: &Sql<'_>, text: &str, values: &[SqlValue<'_>]) -> Result<u64> {
    let lines = sql.rows(&format!("EXPLAIN (ANALYZE, BUFFERS) {text}"), values, |row| row.text(0))?;
    // The first is about the whole statement.
    let buffers = lines.iter().find_map(|line| line.trim().strip_prefix("Buffers: shared ")).unwrap_or_default();
    let counts = buffers.split(' ').filter_map(|part| part.strip_prefix("hit=").or(part.strip_prefix("read=")));
    Ok(counts.filter_map(|count| count.parse::<u64>().ok()).sum())
}

/// A statement, with its name and values.
type NamedStatement = (&'static str, String, Vec<SqlValue<'static>>);

/// The plan of each statement, with its name.
fn plans(sql: &Sql<'_>, statements: Vec<NamedStatement>) -> Result<Vec<(&'static str, String)>> {
    statements.into_iter().map(|(name, text, values)| Ok((name, plan(sql, &text, &values)?))).collect()
}

/// One line per step, indented below its parent.
pub(crate) fn plan(sql: &Sql<'_>, text: &str, values: &[SqlValue<'_>]) -> Result<String> {
    if let Sql::Postgres(_) = sql {
        return Ok(sql.rows(&format!("EXPLAIN {text}"), values, |row| row.text(0))?.join("\n"));
    }
    let read = |row: &Row<'_>| Ok((row.int(0)?, row.int(1)?, row.text(3)?));
    let steps = sql.rows(&format!("EXPLAIN QUERY PLAN {text}"), values, read)?;
    let mut depths = HashMap::new();
    let lines = steps.into_iter().map(|(id, parent, step)| {
        let depth = depths.get(&parent).map_or(0, |depth| depth + 1);
        depths.insert(id, depth);
        format!("{}{step}", "  ".repeat(depth))
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}
