//! Query plans of the statements that run in the background, on the command line, or over many rows. The test has a table with the index
//! of each, and fails for a statement that is not in the table.

use crate::database::{Sql, SqlValue, in_snapshot, journal_statements};
use crate::query_plans::plan;
use crate::{Result, Store, agents, login_log, oidc, people, sessions, statistics, sweep};

/// A statement, with its name and values.
type NamedStatement = (String, String, Vec<SqlValue<'static>>);

impl Store {
    /// The plan of each of these statements, with its name.
    #[doc(hidden)]
    pub async fn statement_plans(&self) -> Result<Vec<(String, String)>> {
        self.database
            .read(|sql| {
                // Reads of the log use a snapshot, which also has settings for the planner.
                let mut found = in_snapshot(sql, |sql| plans(sql, named(login_log::reading_statements())))?;
                found.extend(plans(sql, statements(sql))?);
                Ok(found)
            })
            .await
    }
}

fn statements(sql: &Sql<'_>) -> Vec<NamedStatement> {
    let hours = args![1_000_100_i64, 1_000_124_i64].to_vec();
    let statistics = ("statistics", statistics::COUNTS_OF_HOURS.to_owned(), hours);
    let mut all = sweep::statements();
    all.extend(named(login_log::pruning_statements()));
    all.extend(named(agents::statements()));
    all.extend(named(sessions::statements()));
    all.extend(named(oidc::logout_statements()));
    all.extend(named([people::claim_statement(), statistics]));
    if let Sql::Postgres(_) = sql {
        all.extend(journal_statements().map(|(name, text)| (name.to_owned(), text, Vec::new())));
    }
    all
}

fn named(
    statements: impl IntoIterator<Item = (&'static str, String, Vec<SqlValue<'static>>)>,
) -> impl IntoIterator<Item = NamedStatement> {
    statements.into_iter().map(|(name, text, values)| (name.to_owned(), text, values))
}

fn plans(sql: &Sql<'_>, statements: impl IntoIterator<Item = NamedStatement>) -> Result<Vec<(String, String)>> {
    statements.into_iter().map(|(name, text, values)| Ok((name, plan(sql, &text, &values)?))).collect()
}
