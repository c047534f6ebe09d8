//! Fills a store with as many rows as a large company has after years, directly: COPY into PostgreSQL, one transaction for each table of
//! SQLite. Indexes are dropped before and created after, except those of primary keys, in whose order the rows come.

mod layout;
mod log;
mod people;
mod postgres;
mod sessions;
mod sqlite;
mod table;

use std::fmt::Display;
use std::path::Path;

use deskpass_core::Timestamp;
use deskpass_store::{ChainBuilder, ChainKeys};

pub(crate) use layout::{BUSY_EMPLOYEE, SUPERVISOR, ScaleLayout, days_before};
pub(crate) use log::{PRUNED_DAYS, reference};

use crate::error::BenchError;
use crate::progress::{Progress, grouped};
use postgres::PostgresLoader;
use sqlite::SqliteLoader;
use table::{Cell, Table};

/// The number of progress reports of a table.
const PROGRESS_REPORTS: usize = 20;

/// The store to fill, which the service has created and no process uses.
#[derive(Debug)]
pub(crate) enum Loader {
    Sqlite(SqliteLoader),
    Postgres(PostgresLoader),
}

impl Loader {
    /// An embedded store.
    pub(crate) fn sqlite(directory: &Path) -> Result<Self, BenchError> {
        Ok(Self::Sqlite(SqliteLoader::open(directory)?))
    }

    /// A database of PostgreSQL.
    pub(crate) async fn postgres(url: &str) -> Result<Self, BenchError> {
        Ok(Self::Postgres(PostgresLoader::open(url).await?))
    }

    /// Fills the store. The log is chained with the keys.
    pub(crate) async fn fill(
        mut self,
        layout: ScaleLayout,
        now: Timestamp,
        keys: &ChainKeys,
        progress: &Progress,
    ) -> Result<(), BenchError> {
        let filling = Filling { title: self.title(), progress };
        for table in [&people::EMPLOYEE, &people::USER_ROLE, &people::EMPLOYEE_TERM, &people::AGENT] {
            self.drop_indexes(table).await?;
        }
        for table in [&sessions::SESSION, &sessions::SIGN_IN_COUNT, &log::LOGIN_LOG] {
            self.drop_indexes(table).await?;
        }
        self.fill_people(layout, now, filling).await?;
        let rows = filling.watched("sessions", layout.sessions, sessions::sessions(layout, now));
        self.load(&sessions::SESSION, rows).await?;
        self.load(&sessions::SIGN_IN_COUNT, sessions::statistics(now)).await?;
        self.fill_log(layout, now, keys, filling).await?;
        filling.step("create the indexes");
        match self {
            Self::Sqlite(loader) => loader.finish(progress).await,
            Self::Postgres(loader) => loader.finish(progress).await,
        }
    }

    async fn fill_people(&self, layout: ScaleLayout, now: Timestamp, filling: Filling<'_>) -> Result<(), BenchError> {
        let rows = filling.watched("employees", layout.employees, people::employees(layout, now));
        self.load(&people::EMPLOYEE, rows).await?;
        self.load(&people::USER_ROLE, people::roles(layout)).await?;
        self.load(&people::AGENT, people::agents(layout, now)).await?;
        let terms = people::terms(layout);
        let rows = filling.watched("search terms", terms.len(), terms.into_iter().map(people::term));
        self.load(&people::EMPLOYEE_TERM, rows).await
    }

    async fn fill_log(
        &self,
        layout: ScaleLayout,
        now: Timestamp,
        keys: &ChainKeys,
        filling: Filling<'_>,
    ) -> Result<(), BenchError> {
        let mut chains = ChainBuilder::new(keys.clone());
        let rows = log::entries(layout, now, keys).map(|entry| {
            let place = chains.append(&entry);
            log::row(entry, place)
        });
        self.load(&log::LOGIN_LOG, filling.watched("rows of the audit log", layout.log_rows, rows)).await?;
        for (chain, seq, hash) in chains.ends() {
            // A hash has no quotation marks.
            self.execute(&format!("UPDATE log_chain SET seq = {seq}, hash = '{hash}' WHERE chain = {chain}")).await?;
        }
        Ok(())
    }

    const fn title(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    async fn drop_indexes(&mut self, table: &Table) -> Result<(), BenchError> {
        match self {
            Self::Sqlite(loader) => loader.drop_indexes(table),
            Self::Postgres(loader) => loader.drop_indexes(table).await,
        }
    }

    async fn load(&self, table: &Table, rows: impl Iterator<Item = Vec<Cell>>) -> Result<(), BenchError> {
        let loaded = match self {
            Self::Sqlite(loader) => loader.load(table, rows).await,
            Self::Postgres(loader) => loader.load(table, rows).await,
        };
        loaded.map_err(|failed| failed.during(table.name))
    }

    async fn execute(&self, text: &str) -> Result<(), BenchError> {
        match self {
            Self::Sqlite(loader) => loader.execute(text),
            Self::Postgres(loader) => loader.execute(text).await,
        }
    }
}

/// Reports the progress of filling a store.
#[derive(Clone, Copy)]
struct Filling<'a> {
    title: &'static str,
    progress: &'a Progress,
}

impl Filling<'_> {
    fn step(self, what: impl Display) {
        self.progress.step(format_args!("{}: {what}", self.title));
    }

    /// Begins a step, and reports how many of its rows were taken.
    fn watched<T>(self, what: &'static str, count: usize, rows: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        self.step(format_args!("store {} {what}", grouped(count)));
        let each = (count / PROGRESS_REPORTS).max(1);
        rows.zip(1_usize..).map(move |(row, done)| {
            if done.is_multiple_of(each) || done == count {
                self.progress.at(what, done, count);
            }
            row
        })
    }
}
