//! Fills a store with employees and sessions directly: a million sign-ins through the service would take too long.

use std::path::{Path, PathBuf};
use std::time::Duration;

use deskpass_core::{Access, Clock, Entropy, Role, Secret, Timestamp};
use rusqlite::{Connection, params};

use crate::error::BenchError;
use crate::progress::{Progress, grouped};
use crate::requests::WordList;
use crate::server::Server;
use crate::workspace::Workspace;

/// The corporation of development mode.
pub(crate) const CORP: &str = "wwdeskpass";
/// The lifetime of a session.
pub(crate) const LIFETIME: Duration = Duration::from_hours(8);
/// The length of a token, and of a ticket.
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
    pub(crate) tokens: WordList,
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
    let connection = open(&directory)?;
    // Durability is not needed until the store is complete.
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000; PRAGMA foreign_keys = ON")?;
    let moment = now();
    batches(&connection, employees, "employee", progress, |range| insert_employees(&connection, range, moment))?;
    let mut tokens = WordList::new(TOKEN_WIDTH, sessions);
    batches(&connection, sessions, "session", progress, |range| {
        insert_sessions(&connection, range, employees, moment, &mut tokens)
    })?;
    // Everything on disk, so that no late write disturbs the measurement.
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(SeededStore { directory, tokens })
}

/// Opens a store that the service has created and closed.
pub(crate) fn open(directory: &Path) -> Result<Connection, BenchError> {
    Ok(Connection::open(directory.join("deskpass.db"))?)
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

/// Calls `work` for all numbers below `count`, in transactions that are large enough to be fast.
pub(crate) fn batches(
    connection: &Connection,
    count: usize,
    what: &str,
    progress: &Progress,
    mut work: impl FnMut(std::ops::Range<usize>) -> Result<(), BenchError>,
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

pub(crate) fn insert_employees(
    connection: &Connection,
    numbers: std::ops::Range<usize>,
    at: Timestamp,
) -> Result<(), BenchError> {
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
    numbers: std::ops::Range<usize>,
    employees: usize,
    at: Timestamp,
    tokens: &mut WordList,
) -> Result<(), BenchError> {
    let entropy = Entropy::system();
    let mut session = connection.prepare(
        "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, 'bind', 'h5', ?5, ?6)",
    )?;
    for number in numbers {
        let token = Secret::<Access>::generate(&entropy)?;
        let (digest, id) = (token.digest().to_text(), employee(number % employees.max(1)));
        session.execute(params![digest, CORP, id, Role::User.id(), at.millis(), (at + LIFETIME).millis()])?;
        tokens.push(token.expose());
    }
    Ok(())
}
