//! Fills a store with employees and sessions directly: a million sign-ins through the service would take too long. The tokens of the
//! sessions are derived from their numbers, so that those of ten million sessions need not be kept.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use deskpass_core::{Access, Clock, Role, Secret, Timestamp};
use fastrand::Rng;
use rusqlite::{Connection, params};

use crate::error::BenchError;
use crate::progress::{Progress, grouped};
use crate::requests::WordList;
use crate::server::Server;
use crate::stats::float;
use crate::workspace::Workspace;

/// The corporation of development mode.
pub(crate) const CORP: &str = "wwdeskpass";
/// The lifetime of a session.
pub(crate) const LIFETIME: Duration = Duration::from_hours(8);
/// The length of a token.
pub(crate) const TOKEN_WIDTH: usize = 53;

const EMPLOYEE_WIDTH: usize = 12;
const BATCH: usize = 100_000;

/// The numbers of employees and sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) employees: usize,
    pub(crate) sessions: usize,
}

/// A filled store.
#[derive(Debug)]
pub(crate) struct SeededStore {
    pub(crate) directory: PathBuf,
    pub(crate) sessions: usize,
}

impl SeededStore {
    /// The tokens of the first sessions.
    pub(crate) fn tokens(&self, count: usize) -> WordList {
        let mut words = WordList::new(TOKEN_WIDTH, count);
        (0..count.min(self.sessions)).for_each(|number| words.push(token(number).expose()));
        words
    }

    /// The tokens of all sessions.
    pub(crate) fn all_tokens(&self) -> WordList {
        self.tokens(self.sessions)
    }

    /// Tokens drawn by Zipf's law: session n n times as rarely as the first. The same ones in every run, and others with another `seed`.
    pub(crate) fn drawn_by_zipf(&self, count: usize, seed: u64) -> WordList {
        let (mut rng, mut words) = (Rng::with_seed(seed), WordList::new(TOKEN_WIDTH, count));
        (0..count).for_each(|_| words.push(token(zipf(rng.f64(), self.sessions)).expose()));
        words
    }

    /// A command of the program for this store.
    pub(crate) fn command(&self, workspace: &Workspace) -> Command {
        let mut command = workspace.command(&workspace.deskpass);
        command.env("DESKPASS_DATA", &self.directory);
        command
    }
}

/// The token of a session.
fn token(number: usize) -> Secret<Access> {
    Secret::derive(&[7; 32], &[&number.to_be_bytes()])
}

/// A number below `limit`, from a share of all draws: the logarithm of numbers that are drawn by Zipf's law is evenly distributed.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is positive and below the limit")]
fn zipf(share: f64, limit: usize) -> usize {
    let place = (share * float(limit + 1).ln()).exp();
    (place as usize).saturating_sub(1).min(limit.saturating_sub(1))
}

/// Creates a store with the service, and fills it.
pub(crate) fn seed(
    workspace: &Workspace,
    name: &str,
    layout: Layout,
    progress: &Progress,
) -> Result<SeededStore, BenchError> {
    let Layout { employees, sessions } = layout;
    progress.step(format_args!("{name}: store {} employees, {} sessions", grouped(employees), grouped(sessions)));
    let directory = workspace.store(name, layout);
    Server::deskpass(workspace, &directory)?.stop()?;
    fill(&directory, layout, progress)?;
    // Everything on disk, so that no late write disturbs the measurement.
    File::open(database(&directory))?.sync_all()?;
    Ok(SeededStore { directory, sessions })
}

/// Opens a store that the service has created and closed.
pub(crate) fn open(directory: &Path) -> Result<Connection, BenchError> {
    Ok(Connection::open(database(directory))?)
}

fn database(directory: &Path) -> PathBuf {
    directory.join("deskpass.db")
}

/// The machine's time.
pub(crate) fn now() -> Timestamp {
    Clock::steady(Timestamp::from_millis(0)).now()
}

/// The identifier of an employee; all have the same width.
pub(crate) fn employee(number: usize) -> String {
    format!("bench{number:07}")
}

/// The identifiers of the first `count` employees.
pub(crate) fn employees(count: usize) -> WordList {
    let mut words = WordList::new(EMPLOYEE_WIDTH, count);
    (0..count).for_each(|number| words.push(&employee(number)));
    words
}

fn fill(directory: &Path, layout: Layout, progress: &Progress) -> Result<(), BenchError> {
    let Layout { employees, sessions } = layout;
    let (connection, moment) = (open(directory)?, now());
    // A failure makes the file unusable.
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000")?;
    batches(&connection, employees, "employee", progress, |range| insert_employees(&connection, range, moment))?;
    let indexes = drop_indexes(&connection)?;
    let order = order_of_digests(sessions);
    batches(&connection, sessions, "session", progress, |range| {
        insert_sessions(&connection, order.get(range).unwrap_or_default(), employees, moment)
    })?;
    for create in &indexes {
        connection.execute_batch(create)?;
    }
    Ok(connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?)
}

/// Calls `work` for all numbers below `count`, in transactions that are large enough to be fast.
fn batches(
    connection: &Connection,
    count: usize,
    what: &str,
    progress: &Progress,
    mut work: impl FnMut(Range<usize>) -> Result<(), BenchError>,
) -> Result<(), BenchError> {
    for start in (0..count).step_by(BATCH) {
        let end = count.min(start + BATCH);
        connection.execute_batch("BEGIN")?;
        work(start..end)?;
        connection.execute_batch("COMMIT")?;
        progress.at(what, end, count);
    }
    Ok(())
}

/// Drops the indexes of the sessions, except that of the primary key; returns the statements that create them.
fn drop_indexes(connection: &Connection) -> Result<Vec<String>, BenchError> {
    let text = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = 'session'";
    let mut statement = connection.prepare(text)?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found: Vec<(String, String)> = found.collect::<Result<_, _>>()?;
    for (name, _) in &found {
        connection.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    Ok(found.into_iter().map(|(_, create)| create).collect())
}

/// The numbers of the sessions, in the order of the primary key: then each row is appended to its index.
fn order_of_digests(sessions: usize) -> Vec<usize> {
    let mut all: Vec<_> = (0..sessions).map(|number| (start_of_digest(number), number)).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, number)| number).collect()
}

/// The first letters of a digest, as a number that is compared as they are.
fn start_of_digest(number: usize) -> u64 {
    let text = token(number).digest().to_text();
    text.as_bytes().first_chunk().map_or(0, |letters| u64::from_be_bytes(*letters))
}

fn insert_employees(connection: &Connection, numbers: Range<usize>, at: Timestamp) -> Result<(), BenchError> {
    let mut person = connection.prepare(
        "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at)
         VALUES (?1, ?2, ?2, ?3, 'Service Desk', '', ?4)",
    )?;
    let mut role = connection.prepare("INSERT INTO user_role (corp_id, employee_key, role_id) VALUES (?1, ?2, ?3)")?;
    for number in numbers {
        let id = employee(number);
        person.execute(params![CORP, id, format!("Employee {number:07}"), at.millis()])?;
        role.execute(params![CORP, id, Role::User.id()])?;
    }
    Ok(())
}

fn insert_sessions(
    connection: &Connection,
    numbers: &[usize],
    employees: usize,
    at: Timestamp,
) -> Result<(), BenchError> {
    let mut session = connection.prepare_cached(
        "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, 'bind', 'h5', ?5, ?6)",
    )?;
    for number in numbers {
        let (digest, id) = (token(*number).digest().to_text(), employee(number % employees.max(1)));
        session.execute(params![digest, CORP, id, Role::User.id(), at.millis(), (at + LIFETIME).millis()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sessions_are_drawn_most_and_none_beyond_the_last() {
        let mut rng = Rng::with_seed(1);
        let mut counts = [0_usize; 1_000];
        for _ in 0..100_000 {
            if let Some(count) = counts.get_mut(zipf(rng.f64(), 1_000)) {
                *count += 1;
            }
        }
        assert_eq!(counts.iter().sum::<usize>(), 100_000);
        let [first, second, ..] = counts;
        let eleventh = counts.get(10).copied().unwrap_or_default();
        assert!(first > second && second > eleventh, "{first}, {second}, {eleventh}");
        assert_eq!((zipf(0.0, 1_000), zipf(0.999_999_999, 1_000)), (0, 999));
    }

    #[test]
    fn sessions_are_stored_in_the_order_of_their_digests() {
        let order = order_of_digests(1_000);
        let digests: Vec<_> = order.iter().map(|number| token(*number).digest().to_text()).collect();
        assert!(digests.is_sorted() && digests.len() == 1_000);
    }
}
