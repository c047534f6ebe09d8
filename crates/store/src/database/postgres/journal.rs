//! The journal, from which a node learns the changes of other nodes.
//!
//! A transaction that changes or ends a session, or changes a person or a rule, also writes that change to the journal.
//! Every node polls the journal several times a second, and reads it immediately when another node notifies it. The
//! cache is trusted only while the last read is recent. So no committed change goes unnoticed, even when the node that
//! made it fails or a message between nodes is lost.
//!
//! Transactions do not become visible in the order of their ids. Each read therefore records the oldest running transaction, and
//! the next read starts there. A change that is read twice removes a cache entry twice, which is harmless.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_postgres::Row;

use super::address::PostgresAddress;
use super::connection::PostgresConnection;
use super::node_lock::take_shared;
use crate::cache::{BootInstant, Cache, CacheChange};
use crate::database::SqlValue;
use crate::{Result, StoreError};

/// The interval between reads without a notification.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The timeout of a read. A slower read would leave the cache trusted for too short a time.
const READ_TIMEOUT: Duration = Duration::from_millis(700);
/// The connect timeout; there may be several servers to try.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The minimum interval between two reads, however many notifications arrive.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(20);
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// The start of a row of values, repeated for every change of a batch.
const ROW_PREFIX: &str =
    "(pg_current_xact_id()::text::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, ";

/// Replaces the digest when the access rules change. A node that does not know this value clears its cache.
const RULES_MARKER: &str = "rules";

/// Replaces the digest when many sessions ended at once. It is no digest, so every node clears its cache.
const ALL_SESSIONS_MARKER: &str = "sessions";

const BATCH_ROWS: usize = 100;

/// Reads the changes in one statement, so in one snapshot. Rows visible in the last snapshot are excluded.
const READ_CHANGES: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, pg_current_snapshot()::text,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint, j.digest, j.corp_id, j.employee_key
    FROM (SELECT 1) AS always LEFT JOIN journal j ON j.xact >= $1
    AND NOT pg_visible_in_snapshot(j.xact::text::xid8, $2::text::pg_snapshot)";

/// Removes rows after ten minutes. No node misses them: a node that has not read for a minute clears its cache.
const SWEEP: &str = "DELETE FROM journal WHERE ctid IN (SELECT ctid FROM journal
    WHERE at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 600000 LIMIT 5000)";

/// The longest time between two reads, in milliseconds of the database's clock.
const MAX_READ_GAP_MILLIS: i64 = 60_000;

pub(crate) fn write(connection: &PostgresConnection, changes: &[CacheChange]) -> Result<()> {
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

fn columns(change: &CacheChange) -> [SqlValue<'_>; 3] {
    match change {
        CacheChange::SessionStarted(digest, _) | CacheChange::SessionSwept(digest) | CacheChange::Session(digest) => {
            args![*digest, None::<&str>, None::<&str>]
        }
        CacheChange::Person(key) => args![None::<&str>, key.corp(), key.id()],
        CacheChange::Rules => args![RULES_MARKER, None::<&str>, None::<&str>],
        CacheChange::AllSessions => args![ALL_SESSIONS_MARKER, None::<&str>, None::<&str>],
        // It does not concern other nodes, and is not written.
        CacheChange::LogoutsDue => args![None::<&str>, None::<&str>, None::<&str>],
    }
}

/// Writes an empty row, to check that the database accepts writes.
pub(crate) fn probe_write(connection: &PostgresConnection) -> Result<()> {
    let text =
        format!("INSERT INTO journal (xact, at, digest, corp_id, employee_key) VALUES {ROW_PREFIX}NULL, NULL, NULL)");
    connection.execute(&text, &[]).map(drop)
}

/// The statements that read and sweep the journal, each with its name and with values, for the test that requires them to use an index.
pub(crate) fn statements() -> [(&'static str, String); 2] {
    let read = READ_CHANGES.replace("$1", "2000000").replace("$2", "'2000000:2000000:'");
    [("journal, read", read), ("journal, sweep", SWEEP.to_owned())]
}

/// Removes the rows that every node has read.
pub(crate) fn sweep(connection: &PostgresConnection) -> Result<usize> {
    connection.execute(SWEEP, &[])
}

/// Reads the journal until it is dropped.
#[derive(Debug)]
pub(crate) struct JournalReader {
    wake: Arc<Notify>,
    /// The start of the last completed read.
    read: watch::Receiver<BootInstant>,
    _task: JoinSet<()>,
}

impl JournalReader {
    pub(super) fn start(address: PostgresAddress, cache: Arc<Cache>) -> Self {
        let wake = Arc::<Notify>::default();
        let (reading, read) = watch::channel(BootInstant::now());
        let follower = JournalFollower { address, cache, wake: Arc::clone(&wake), reading, well: true };
        let mut task = JoinSet::new();
        task.spawn(follower.follow());
        Self { wake, read, _task: task }
    }

    /// Waits for a read that starts after this call.
    pub(crate) async fn wait_until_caught_up(&self) {
        let (mut read, now) = (self.read.clone(), BootInstant::now());
        self.wake();
        // The sender lives as long as this receiver.
        let _ = read.wait_for(|began| *began >= now).await;
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }
}

struct JournalFollower {
    address: PostgresAddress,
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
                tracing::warn!(%error, "cannot read the journal: sessions are looked up in the database");
                self.well = false;
            }
            sleep(RETRY_DELAY).await;
        }
    }

    /// Reads the journal on one connection until that fails.
    async fn read_on(&mut self) -> Result<Infallible> {
        let connecting = timeout(CONNECT_TIMEOUT, self.address.connect()).await;
        let (client, driver) = connecting.map_err(|_| StoreError::timed_out())??;
        // The task of the connection ends with this read.
        let mut driving = JoinSet::new();
        driving.spawn(async { drop(driver.await) });
        if !with_timeout(take_shared(&client)).await? {
            return Err(StoreError::unavailable(&"a restore is running"));
        }
        let statement = with_timeout(client.prepare(READ_CHANGES)).await?;
        let mut last: Option<JournalPosition> = None;
        loop {
            let began = BootInstant::now();
            let from = last.clone().unwrap_or_else(JournalPosition::initial);
            let rows = with_timeout(client.query(&statement, &[&from.since, &from.snapshot])).await?;
            let mark = apply_rows(&rows, &self.cache)?;
            match &last {
                // Unread rows may have been swept during a long pause, or the server or its clock has changed.
                Some(last) if !mark.follows(last) => return Err(StoreError::unavailable(&"a gap in the journal")),
                Some(_) => {}
                // This may be another server with other transaction ids, so the cached data is worthless.
                None => self.cache.clear(),
            }
            last = Some(mark);
            self.cache.freshness.extend(began);
            self.reading.send_replace(began);
            if !self.well {
                tracing::info!("the journal is readable again");
                self.well = true;
            }
            sleep(MIN_READ_INTERVAL).await;
            tokio::select! {
                () = sleep(POLL_INTERVAL) => {}
                () = self.wake.notified() => {}
            }
        }
    }
}

/// The position up to which the journal was read.
#[derive(Clone)]
struct JournalPosition {
    /// The oldest transaction that was still running.
    since: i64,
    /// The snapshot: which transactions were visible.
    snapshot: String,
    /// The time of the read, by the database's clock.
    at: i64,
}

impl JournalPosition {
    /// The start position. It reads the current position and no earlier rows.
    fn initial() -> Self {
        Self { since: i64::MAX, snapshot: "1:1:".to_owned(), at: 0 }
    }

    fn follows(&self, last: &Self) -> bool {
        self.since >= last.since && (last.at..=last.at + MAX_READ_GAP_MILLIS).contains(&self.at)
    }
}

/// Removes the changed entries from the cache and returns the new position.
fn apply_rows(rows: &[Row], cache: &Cache) -> Result<JournalPosition> {
    for row in rows {
        let (digest, corp, id): (Option<&str>, Option<&str>, Option<&str>) =
            (row.try_get(3)?, row.try_get(4)?, row.try_get(5)?);
        if digest == Some(RULES_MARKER) {
            cache.apply(CacheChange::Rules);
            continue;
        }
        match (digest.map(Digest::from_text), corp, id) {
            (Some(Some(digest)), ..) => cache.apply(CacheChange::Session(digest)),
            // An unknown kind of change: clear everything.
            (Some(None), ..) => cache.clear(),
            (None, Some(corp), Some(id)) => cache.apply(CacheChange::Person(EmployeeKey::from_parts(corp, id))),
            _ => {}
        }
    }
    let first = rows.first().ok_or_else(|| StoreError::unavailable(&"the journal has no position"))?;
    Ok(JournalPosition { since: first.try_get(0)?, snapshot: first.try_get(1)?, at: first.try_get(2)? })
}

async fn with_timeout<T>(answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T> {
    Ok(timeout(READ_TIMEOUT, answer).await.map_err(|_| StoreError::timed_out())??)
}
