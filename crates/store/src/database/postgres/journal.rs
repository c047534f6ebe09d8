//! How a node learns what others have changed.
//!
//! Whoever changes or ends a session or changes a person writes so into the journal, in the same transaction. Every node
//! reads the journal several times a second, and at once when it is told that there is something to read. What it keeps in
//! memory counts only while it has read the journal a moment ago: there is no way for a change to be committed and not to
//! be heard of, whatever becomes of the node that made it or of the messages between nodes.
//!
//! Transactions do not become visible in the order of their numbers. So each reading notes the oldest transaction that was
//! still under way, and the next one begins there: what it reads twice is forgotten twice, which does no harm.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Row;

use super::address::Address;
use super::connection::Connection;
use crate::StoreError;
use crate::cache::{Cache, Change};

/// How often the journal is read when nobody says that there is something.
const OFTEN: Duration = Duration::from_millis(250);
/// How long a reading may take: beyond it its word would not count for long.
const PATIENCE: Duration = Duration::from_millis(700);
/// How long to wait after a failure.
const REST: Duration = Duration::from_millis(200);

const WRITE: &str = "INSERT INTO journal (xact, at, digest, corp_id, employee_key)
    VALUES (pg_current_xact_id()::text::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $1, $2, $3)";

/// One statement, so that all of it comes from one view of the database.
const READ: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint, j.digest, j.corp_id, j.employee_key
    FROM (SELECT 1) AS always LEFT JOIN journal j ON j.xact >= $1";

/// Long enough that no node can have missed it: one that has not read for a minute forgets everything.
const SWEEP: &str = "DELETE FROM journal WHERE at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 600000";

/// How far apart two readings may be, in milliseconds of the database's clock.
const GAP: i64 = 60_000;

/// Writes what a transaction changed.
pub(super) fn write(connection: &Connection, changes: &[Change]) -> Result<(), StoreError> {
    for change in changes {
        let values = match change {
            // Nobody else can know of it yet.
            Change::Born(..) => continue,
            Change::Session(digest) => args![*digest, None::<&str>, None::<&str>],
            Change::Person(key) => args![None::<&str>, key.corp(), key.id()],
        };
        connection.execute(WRITE, &values)?;
    }
    Ok(())
}

/// Removes what every node has read.
pub(in crate::database) fn sweep(connection: &Connection) -> Result<usize, StoreError> {
    connection.execute(SWEEP, &[])
}

/// Reads the journal for as long as it lives.
#[derive(Debug)]
pub(super) struct Reader {
    look: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Reader {
    pub(super) fn start(address: Address, cache: Arc<Cache>) -> Self {
        let look = Arc::<Notify>::default();
        let follower = Follower { address, cache, look: Arc::clone(&look), well: true };
        Self { look, task: tokio::spawn(follower.follow()) }
    }

    /// Has the journal read at once.
    pub(super) fn look(&self) {
        self.look.notify_one();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Follower {
    address: Address,
    cache: Arc<Cache>,
    look: Arc<Notify>,
    well: bool,
}

impl Follower {
    async fn follow(mut self) {
        loop {
            let Err(error) = self.read_on().await;
            if self.well {
                tracing::warn!(%error, "the journal cannot be read; sessions are looked up in the database");
                self.well = false;
            }
            sleep(REST).await;
        }
    }

    /// Reads the journal on one connection until that fails.
    async fn read_on(&mut self) -> Result<Infallible, StoreError> {
        let (client, driver) = within(self.address.connect()).await?;
        let _driver = Driver(tokio::spawn(async { drop(driver.await) }));
        let statement = within(client.prepare(READ)).await?;
        let mut last: Option<Mark> = None;
        loop {
            let began = Instant::now();
            let since = last.map_or(i64::MAX, |mark| mark.since);
            let mark = take_over(&within(client.query(&statement, &[&since])).await?, &self.cache)?;
            match last {
                // This process may have stood still for so long that what it missed was swept out.
                Some(last) if mark.at - last.at > GAP => return Err(StoreError::unavailable(&"a gap in the journal")),
                Some(_) => {}
                // The server may be another one than before, with other numbers: what was known of it is worth nothing.
                None => self.cache.clear(),
            }
            last = Some(mark);
            self.cache.proof().extend(began);
            self.is_well();
            tokio::select! {
                () = sleep(OFTEN) => {}
                () = self.look.notified() => {}
            }
        }
    }

    fn is_well(&mut self) {
        if !self.well {
            tracing::info!("the journal can be read again");
            self.well = true;
        }
    }
}

/// How far the journal was read.
#[derive(Clone, Copy)]
struct Mark {
    /// Where to read on.
    since: i64,
    /// When, by the database's clock.
    at: i64,
}

/// Has the cache forget what has changed.
fn take_over(rows: &[Row], cache: &Cache) -> Result<Mark, StoreError> {
    let damaged = || StoreError::damaged("unreadable journal");
    for row in rows {
        let (digest, corp, id): (Option<&str>, Option<&str>, Option<&str>) =
            (row.try_get(2)?, row.try_get(3)?, row.try_get(4)?);
        match (digest, corp, id) {
            (Some(digest), ..) => cache.apply(Change::Session(Digest::from_text(digest).ok_or_else(damaged)?)),
            (None, Some(corp), Some(id)) => cache.apply(Change::Person(EmployeeKey::from_parts(corp, id))),
            _ => {}
        }
    }
    let first = rows.first().ok_or_else(damaged)?;
    Ok(Mark { since: first.try_get(0)?, at: first.try_get(1)? })
}

async fn within<T>(answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, StoreError> {
    Ok(timeout(PATIENCE, answer).await.map_err(|_| StoreError::late())??)
}

/// Ends the connection with whoever reads on it.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}
