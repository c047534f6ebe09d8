//! Fills a store with so many sessions that their tokens are not kept: each is derived from its number when it is needed.

use std::path::{Path, PathBuf};

use deskpass_core::{Access, Role, Secret, Timestamp};
use fastrand::Rng;
use rusqlite::{Connection, params};

use crate::error::BenchError;
use crate::progress::{Progress, grouped};
use crate::requests::WordList;
use crate::seed::{self, CORP, LIFETIME, Layout, TOKEN_WIDTH};
use crate::server::Server;
use crate::stats::float;
use crate::workspace::Workspace;

/// A store whose sessions are numbered.
#[derive(Debug)]
pub(crate) struct DerivedStore {
    pub(crate) directory: PathBuf,
    pub(crate) sessions: usize,
}

impl DerivedStore {
    /// Creates a store with the service, and fills it.
    pub(crate) fn seed(workspace: &Workspace, layout: Layout, progress: &Progress) -> Result<Self, BenchError> {
        let Layout { employees, sessions } = layout;
        progress.step(format_args!("store {} employees, {} sessions", grouped(employees), grouped(sessions)));
        let directory = workspace.store("derived", layout);
        Server::deskpass(workspace, &directory)?.stop()?;
        fill(&directory, layout, progress)?;
        Ok(Self { directory, sessions })
    }

    /// The tokens of the first sessions.
    pub(crate) fn first(&self, count: usize) -> WordList {
        let mut words = WordList::new(TOKEN_WIDTH, count);
        (0..count.min(self.sessions)).for_each(|number| words.push(token(number).expose()));
        words
    }

    /// Tokens of sessions below `limit`, drawn by Zipf's law: session n n times as rarely as the first. The same ones in every run, and
    /// others with another `seed`.
    pub(crate) fn drawn(&self, limit: usize, count: usize, seed: u64) -> WordList {
        let (mut rng, mut words) = (Rng::with_seed(seed), WordList::new(TOKEN_WIDTH, count));
        let limit = limit.min(self.sessions);
        (0..count).for_each(|_| words.push(token(zipf(rng.f64(), limit)).expose()));
        words
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

fn fill(directory: &Path, layout: Layout, progress: &Progress) -> Result<(), BenchError> {
    let Layout { employees, sessions } = layout;
    let (connection, moment) = (seed::open(directory)?, seed::now());
    // A failure makes the file unusable.
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000")?;
    let insert = |range| seed::insert_employees(&connection, range, moment);
    seed::batches(&connection, employees, "employee", progress, insert)?;
    let indexes = drop_indexes(&connection)?;
    let order = order_of_digests(sessions);
    seed::batches(&connection, sessions, "session", progress, |range| {
        insert_sessions(&connection, order.get(range).unwrap_or_default(), employees, moment)
    })?;
    for (create, number) in indexes.iter().zip(1..) {
        connection.execute_batch(create)?;
        progress.at("index", number, indexes.len());
    }
    Ok(connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?)
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
        let (digest, id) = (token(*number).digest().to_text(), seed::employee(number % employees.max(1)));
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
