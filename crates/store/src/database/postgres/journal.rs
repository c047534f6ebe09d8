//! How a node learns what others have changed.
//!
//! Whoever changes or ends a session or changes a person or a rule writes so into the journal, in the same transaction.
//! Every node reads the journal several times a second, and at once when it is told that there is something to read. What it
//! keeps in memory counts only while it has read the journal a moment ago: there is no way for a change to be committed and
//! not to be heard of, whatever becomes of the node that made it or of the messages between nodes.
//!
//! Transactions do not become visible in the order of their numbers. So each reading notes the oldest transaction that was
//! still under way, and the next one begins there: what it reads twice is forgotten twice, which does no harm.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::Row;

use super::address::Address;
use super::connection::Connection;
use crate::StoreError;
use crate::cache::{Cache, Change, Moment};
use crate::database::Value;

/// How often the journal is read when nobody says that there is something.
const OFTEN: Duration = Duration::from_millis(250);
/// How long a reading may take: beyond it its word would not count for long.
const PATIENCE: Duration = Duration::from_millis(700);
/// How long connecting may take; there may be several addresses to try.
const CONNECT: Duration = Duration::from_secs(5);
/// How long between two readings at least, however often somebody says that there is something.
const SELDOM: Duration = Duration::from_millis(20);
/// How long to wait after a failure.
const REST: Duration = Duration::from_millis(200);

/// A row, as often as there are changes to write at once.
const ROW: &str = "(pg_current_xact_id()::text::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, ";

/// Stands in the place of a digest when the rulebook has changed. A node that does not know it forgets everything, which is
/// right.
const RULES: &str = "rules";

/// Changes that are written at once.
const ROWS: usize = 100;

/// One statement, so that all of it comes from one view of the database. What the last view showed is not shown again.
const READ: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, pg_current_snapshot()::text,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint, j.digest, j.corp_id, j.employee_key
    FROM (SELECT 1) AS always LEFT JOIN journal j ON j.xact >= $1
    AND NOT pg_visible_in_snapshot(j.xact::text::xid8, $2::text::pg_snapshot)";

/// Long enough that no node can have missed it: one that has not read for a minute forgets everything.
const SWEEP: &str = "DELETE FROM journal WHERE ctid IN (SELECT ctid FROM journal
    WHERE at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 600000 LIMIT 5000)";

/// How far apart two readings may be, in milliseconds of the database's clock.
const GAP: i64 = 60_000;

/// Writes what a transaction changed.
pub(super) fn write(connection: &Connection, changes: &[Change]) -> Result<(), StoreError> {
    let heard_of: Vec<_> = changes.iter().filter(|change| change.is_heard_of()).collect();
    for some in heard_of.chunks(ROWS) {
        let rows = (0..some.len()).map(|at| format!("{ROW}${}, ${}, ${})", 3 * at + 1, 3 * at + 2, 3 * at + 3));
        let rows = rows.collect::<Vec<_>>().join(", ");
        let values: Vec<_> = some.iter().flat_map(|change| columns(change)).collect();
        let text = format!("INSERT INTO journal (xact, at, digest, corp_id, employee_key) VALUES {rows}");
        connection.execute(&text, &values)?;
    }
    Ok(())
}

fn columns(change: &Change) -> [Value<'_>; 3] {
    match change {
        Change::Born(digest, _) | Change::Swept(digest) | Change::Session(digest) => {
            args![*digest, None::<&str>, None::<&str>]
        }
        Change::Person(key) => args![None::<&str>, key.corp(), key.id()],
        Change::Rules => args![RULES, None::<&str>, None::<&str>],
    }
}

/// Writes a row that tells nothing, to see that it can be done.
pub(in crate::database) fn try_out(connection: &Connection) -> Result<(), StoreError> {
    let text = format!("INSERT INTO journal (xact, at, digest, corp_id, employee_key) VALUES {ROW}NULL, NULL, NULL)");
    connection.execute(&text, &[]).map(drop)
}

/// Removes what every node has read.
pub(in crate::database) fn sweep(connection: &Connection) -> Result<usize, StoreError> {
    connection.execute(SWEEP, &[])
}

/// Reads the journal for as long as it lives.
#[derive(Debug)]
pub(super) struct Reader {
    look: Arc<Notify>,
    /// When the last reading began that has ended.
    read: watch::Receiver<Moment>,
    task: JoinHandle<()>,
}

impl Reader {
    pub(super) fn start(address: Address, cache: Arc<Cache>) -> Self {
        let look = Arc::<Notify>::default();
        let (reading, read) = watch::channel(Moment::now());
        let follower = Follower { address, cache, look: Arc::clone(&look), reading, well: true };
        Self { look, read, task: tokio::spawn(follower.follow()) }
    }

    /// Waits for a reading that begins after this call.
    pub(super) async fn caught_up(&self) {
        let (mut read, now) = (self.read.clone(), Moment::now());
        self.look();
        // The other end lives as long as this one.
        let _ = read.wait_for(|began| *began >= now).await;
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
    reading: watch::Sender<Moment>,
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
        let connecting = timeout(CONNECT, self.address.connect()).await;
        let (client, driver) = connecting.map_err(|_| StoreError::late())??;
        let _driver = Driver(tokio::spawn(async { drop(driver.await) }));
        let statement = within(client.prepare(READ)).await?;
        let mut last: Option<Mark> = None;
        loop {
            let began = Moment::now();
            let from = last.clone().unwrap_or_else(Mark::nowhere);
            let rows = within(client.query(&statement, &[&from.since, &from.snapshot])).await?;
            let mark = take_over(&rows, &self.cache)?;
            match &last {
                // This process may have stood still for so long that what it missed was swept out; or the server, or its
                // clock, is not what it was.
                Some(last) if !mark.follows(last) => return Err(StoreError::unavailable(&"a gap in the journal")),
                Some(_) => {}
                // The server may be another one than before, with other numbers: what was known of it is worth nothing.
                None => self.cache.clear(),
            }
            last = Some(mark);
            self.cache.proof().extend(began);
            self.reading.send_replace(began);
            self.is_well();
            sleep(SELDOM).await;
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
#[derive(Clone)]
struct Mark {
    /// The oldest transaction that was under way.
    since: i64,
    /// Which transactions could be seen.
    snapshot: String,
    /// When, by the database's clock.
    at: i64,
}

impl Mark {
    /// Whoever begins wants to know where it is, and nothing from before.
    fn nowhere() -> Self {
        Self { since: i64::MAX, snapshot: "1:1:".to_owned(), at: 0 }
    }

    fn follows(&self, last: &Self) -> bool {
        self.since >= last.since && (last.at..=last.at + GAP).contains(&self.at)
    }
}

/// Has the cache forget what has changed.
fn take_over(rows: &[Row], cache: &Cache) -> Result<Mark, StoreError> {
    for row in rows {
        let (digest, corp, id): (Option<&str>, Option<&str>, Option<&str>) =
            (row.try_get(3)?, row.try_get(4)?, row.try_get(5)?);
        if digest == Some(RULES) {
            cache.apply(Change::Rules);
            continue;
        }
        match (digest.map(Digest::from_text), corp, id) {
            (Some(Some(digest)), ..) => cache.apply(Change::Session(digest)),
            // Something changed, and nobody can tell what.
            (Some(None), ..) => cache.clear(),
            (None, Some(corp), Some(id)) => cache.apply(Change::Person(EmployeeKey::from_parts(corp, id))),
            _ => {}
        }
    }
    let first = rows.first().ok_or_else(|| StoreError::unavailable(&"the journal says nothing"))?;
    Ok(Mark { since: first.try_get(0)?, snapshot: first.try_get(1)?, at: first.try_get(2)? })
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
