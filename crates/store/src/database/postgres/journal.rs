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
use crate::cache::{BootInstant, Cache, CacheChange};
use crate::database::Value;

/// How often the journal is read when nobody says that there is something.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How long a reading may take: beyond it its word would not count for long.
const READ_TIMEOUT: Duration = Duration::from_millis(700);
/// How long connecting may take; there may be several addresses to try.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long between two readings at least, however often somebody says that there is something.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(20);
/// How long to wait after a failure.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// A row, as often as there are changes to write at once.
const ROW_PREFIX: &str =
    "(pg_current_xact_id()::text::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, ";

/// Stands in the place of a digest when the rulebook has changed. A node that does not know it forgets everything, which is
/// right.
const RULES_MARKER: &str = "rules";

/// Changes that are written at once.
const BATCH_ROWS: usize = 100;

/// One statement, so that all of it comes from one view of the database. What the last view showed is not shown again.
const READ_CHANGES: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, pg_current_snapshot()::text,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint, j.digest, j.corp_id, j.employee_key
    FROM (SELECT 1) AS always LEFT JOIN journal j ON j.xact >= $1
    AND NOT pg_visible_in_snapshot(j.xact::text::xid8, $2::text::pg_snapshot)";

/// Long enough that no node can have missed it: one that has not read for a minute forgets everything.
const SWEEP: &str = "DELETE FROM journal WHERE ctid IN (SELECT ctid FROM journal
    WHERE at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 600000 LIMIT 5000)";

/// How far apart two readings may be, in milliseconds of the database's clock.
const MAX_READ_GAP_MILLIS: i64 = 60_000;

/// Writes what a transaction changed.
pub(super) fn write(connection: &Connection, changes: &[CacheChange]) -> Result<(), StoreError> {
    let to_announce: Vec<_> = changes.iter().filter(|change| change.concerns_other_nodes()).collect();
    for some in to_announce.chunks(BATCH_ROWS) {
        let rows = (0..some.len()).map(|at| format!("{ROW_PREFIX}${}, ${}, ${})", 3 * at + 1, 3 * at + 2, 3 * at + 3));
        let rows = rows.collect::<Vec<_>>().join(", ");
        let values: Vec<_> = some.iter().flat_map(|change| columns(change)).collect();
        let text = format!("INSERT INTO journal (xact, at, digest, corp_id, employee_key) VALUES {rows}");
        connection.execute(&text, &values)?;
    }
    Ok(())
}

fn columns(change: &CacheChange) -> [Value<'_>; 3] {
    match change {
        CacheChange::SessionStarted(digest, _) | CacheChange::SessionSwept(digest) | CacheChange::Session(digest) => {
            args![*digest, None::<&str>, None::<&str>]
        }
        CacheChange::Person(key) => args![None::<&str>, key.corp(), key.id()],
        CacheChange::Rules => args![RULES_MARKER, None::<&str>, None::<&str>],
    }
}

/// Writes a row that tells nothing, to see that it can be done.
pub(crate) fn probe_write(connection: &Connection) -> Result<(), StoreError> {
    let text =
        format!("INSERT INTO journal (xact, at, digest, corp_id, employee_key) VALUES {ROW_PREFIX}NULL, NULL, NULL)");
    connection.execute(&text, &[]).map(drop)
}

/// Removes what every node has read.
pub(crate) fn sweep(connection: &Connection) -> Result<usize, StoreError> {
    connection.execute(SWEEP, &[])
}

/// Reads the journal for as long as it lives.
#[derive(Debug)]
pub(super) struct JournalReader {
    wake: Arc<Notify>,
    /// When the last reading began that has ended.
    read: watch::Receiver<BootInstant>,
    task: JoinHandle<()>,
}

impl JournalReader {
    pub(super) fn start(address: Address, cache: Arc<Cache>) -> Self {
        let wake = Arc::<Notify>::default();
        let (reading, read) = watch::channel(BootInstant::now());
        let follower = JournalFollower { address, cache, wake: Arc::clone(&wake), reading, well: true };
        Self { wake, read, task: tokio::spawn(follower.follow()) }
    }

    /// Waits for a reading that begins after this call.
    pub(super) async fn wait_until_caught_up(&self) {
        let (mut read, now) = (self.read.clone(), BootInstant::now());
        self.wake();
        // The other end lives as long as this one.
        let _ = read.wait_for(|began| *began >= now).await;
    }

    /// Has the journal read at once.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }
}

impl Drop for JournalReader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct JournalFollower {
    address: Address,
    cache: Arc<Cache>,
    wake: Arc<Notify>,
    reading: watch::Sender<BootInstant>,
    well: bool,
}

impl JournalFollower {
    async fn follow(mut self) {
        loop {
            let Err(error) = self.read_on().await;
            if self.well {
                tracing::warn!(%error, "the journal cannot be read; sessions are looked up in the database");
                self.well = false;
            }
            sleep(RETRY_DELAY).await;
        }
    }

    /// Reads the journal on one connection until that fails.
    async fn read_on(&mut self) -> Result<Infallible, StoreError> {
        let connecting = timeout(CONNECT_TIMEOUT, self.address.connect()).await;
        let (client, driver) = connecting.map_err(|_| StoreError::timed_out())??;
        let _driver = DriverTask(tokio::spawn(async { drop(driver.await) }));
        let statement = with_timeout(client.prepare(READ_CHANGES)).await?;
        let mut last: Option<JournalPosition> = None;
        loop {
            let began = BootInstant::now();
            let from = last.clone().unwrap_or_else(JournalPosition::initial);
            let rows = with_timeout(client.query(&statement, &[&from.since, &from.snapshot])).await?;
            let mark = apply_rows(&rows, &self.cache)?;
            match &last {
                // This process may have stood still for so long that what it missed was swept out; or the server, or its
                // clock, is not what it was.
                Some(last) if !mark.follows(last) => return Err(StoreError::unavailable(&"a gap in the journal")),
                Some(_) => {}
                // The server may be another one than before, with other numbers: what was known of it is worth nothing.
                None => self.cache.clear(),
            }
            last = Some(mark);
            self.cache.freshness().extend(began);
            self.reading.send_replace(began);
            self.is_well();
            sleep(MIN_READ_INTERVAL).await;
            tokio::select! {
                () = sleep(POLL_INTERVAL) => {}
                () = self.wake.notified() => {}
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
struct JournalPosition {
    /// The oldest transaction that was under way.
    since: i64,
    /// Which transactions could be seen.
    snapshot: String,
    /// When, by the database's clock.
    at: i64,
}

impl JournalPosition {
    /// Whoever begins wants to know where it is, and nothing from before.
    fn initial() -> Self {
        Self { since: i64::MAX, snapshot: "1:1:".to_owned(), at: 0 }
    }

    fn follows(&self, last: &Self) -> bool {
        self.since >= last.since && (last.at..=last.at + MAX_READ_GAP_MILLIS).contains(&self.at)
    }
}

/// Has the cache forget what has changed.
fn apply_rows(rows: &[Row], cache: &Cache) -> Result<JournalPosition, StoreError> {
    for row in rows {
        let (digest, corp, id): (Option<&str>, Option<&str>, Option<&str>) =
            (row.try_get(3)?, row.try_get(4)?, row.try_get(5)?);
        if digest == Some(RULES_MARKER) {
            cache.apply(CacheChange::Rules);
            continue;
        }
        match (digest.map(Digest::from_text), corp, id) {
            (Some(Some(digest)), ..) => cache.apply(CacheChange::Session(digest)),
            // Something changed, and nobody can tell what.
            (Some(None), ..) => cache.clear(),
            (None, Some(corp), Some(id)) => cache.apply(CacheChange::Person(EmployeeKey::from_parts(corp, id))),
            _ => {}
        }
    }
    let first = rows.first().ok_or_else(|| StoreError::unavailable(&"the journal says nothing"))?;
    Ok(JournalPosition { since: first.try_get(0)?, snapshot: first.try_get(1)?, at: first.try_get(2)? })
}

async fn with_timeout<T>(answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, StoreError> {
    Ok(timeout(READ_TIMEOUT, answer).await.map_err(|_| StoreError::timed_out())??)
}

/// Ends the connection with whoever reads on it.
struct DriverTask(JoinHandle<()>);

impl Drop for DriverTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
