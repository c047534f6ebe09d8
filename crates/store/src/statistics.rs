//! Hourly counts of sign-ins by step. These are statistics, not records: the process counts them and writes them every
//! few seconds, and unwritten counts are lost with the process.
//!
//! Each step is counted at most once. A session that has begun is not counted if the database answered neither of the two attempts of
//! its request: it is in the audit log. Counting it in the same transaction would make all sign-ins of an hour, on all nodes, wait for
//! the commits of each other, because they would change one row.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::{Digest, Timestamp};
use tokio::sync::Mutex as AsyncMutex;

use crate::database::{Tx, in_snapshot};
use crate::{Result, Store, single_use};

const HOUR_MILLIS: i64 = 3_600_000;

named_enum! {
    /// A step of a sign-in.
    pub enum SignInStep {
        /// A QR code was shown.
        QrShown = "qr_shown",
        /// A phone scanned the QR code.
        QrScanned = "qr_scanned",
        /// The phone confirmed, and the session began.
        QrConfirmed = "qr_confirmed",
        /// The waiting client received the token.
        QrCollected = "qr_collected",
        /// A session began, by any method.
        SignedIn = "sign_in",
        /// A sign-in was refused.
        Refused = "refused",
    }
}

/// The counts of an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HourlyCounts {
    /// When the hour began.
    pub at: Timestamp,
    times: BTreeMap<SignInStep, u64>,
}

impl HourlyCounts {
    /// The number of times a step happened in this hour.
    #[must_use]
    pub fn times(&self, step: SignInStep) -> u64 {
        self.times.get(&step).copied().unwrap_or(0)
    }
}

/// Reads the counts of a period.
pub(crate) const COUNTS_OF_HOURS: &str = "SELECT hour, step, times FROM sign_in_count WHERE hour >= $1 AND hour < $2";

/// Counts by start of the hour and step.
type Times = BTreeMap<(i64, SignInStep), u64>;

/// How long the database knows which batch a process wrote last. After a longer outage, a batch may be counted twice.
const BATCH_RETENTION: Duration = Duration::from_hours(24);

/// Counts that are not yet written.
#[derive(Debug, Default)]
pub(crate) struct StatisticsBuffer {
    waiting: Mutex<Times>,
    /// Held during a flush: a concurrent read would miss the counts that are being written.
    flush: AsyncMutex<FlushState>,
}

/// The state of the writes to the database.
#[derive(Debug, Default)]
struct FlushState {
    /// Under this name the database records which batch this process wrote last.
    process: Option<Digest>,
    /// The batch that is being written, or that failed: it may be written.
    unsettled: Option<Batch>,
}

/// Counts that are written together, once.
#[derive(Clone, Debug)]
struct Batch {
    id: Digest,
    times: Times,
}

impl StatisticsBuffer {
    fn waiting(&self) -> MutexGuard<'_, Times> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Counts a step of a sign-in.
    pub fn count_step(&self, step: SignInStep, now: Timestamp) {
        *self.statistics.waiting().entry((hour(now), step)).or_default() += 1;
    }

    /// Writes the counts to the database, if there are any. If the store fails, the counts are kept; if it is unknown whether they
    /// were written, the next call finds out. `id` is a random value.
    pub async fn flush_statistics(&self, id: Digest, now: Timestamp) -> Result<()> {
        let mut flush = self.statistics.flush.lock().await;
        self.settle_statistics(&mut flush, now).await?;
        let times = std::mem::take(&mut *self.statistics.waiting());
        if !times.is_empty() {
            flush.unsettled = Some(Batch { id, times });
        }
        self.settle_statistics(&mut flush, now).await
    }

    /// Writes the batch that is not known to be written.
    async fn settle_statistics(&self, flush: &mut FlushState, now: Timestamp) -> Result<()> {
        let Some(batch) = flush.unsettled.clone() else { return Ok(()) };
        let (process, until) = (*flush.process.get_or_insert(batch.id), now + BATCH_RETENTION);
        let written = self.database.write(move |tx| {
            if !single_use::advance(tx, process, batch.id, until)? {
                return Ok(());
            }
            batch.times.iter().try_for_each(|(key, times)| add(tx, *key, *times))
        });
        written.await?;
        flush.unsettled = None;
        Ok(())
    }

    /// The hours with counts that overlap a period, the oldest first. Unwritten counts of other nodes are not included.
    pub async fn statistics(&self, from: Timestamp, to: Timestamp) -> Result<Vec<HourlyCounts>> {
        let first = hour(from);
        let flush = self.statistics.flush.lock().await;
        let unsettled = flush.process.zip(flush.unsettled.as_ref().map(|batch| batch.id));
        let rows = self.database.read(move |sql| {
            // A batch that is committed between the two statements would be missed without a snapshot.
            in_snapshot(sql, |sql| {
                let rows = sql.rows(COUNTS_OF_HOURS, &args![first, to], |row| {
                    Ok((row.int(0)?, SignInStep::from_name(&row.text(1)?), row.int(2)?))
                })?;
                let is_settled =
                    unsettled.map(|(process, batch)| single_use::is_latest(sql, process, batch)).transpose()?;
                Ok((rows, is_settled == Some(true)))
            })
        });
        let (rows, is_settled) = rows.await?;
        // A node of a later version may count steps that this version does not know.
        let known = rows.into_iter().filter_map(|(hour, step, times)| Some(((hour, step?), times.unsigned_abs())));
        let unsettled = flush.unsettled.iter().filter(|_| !is_settled).flat_map(|batch| &batch.times);
        let waiting = self.statistics.waiting();
        let unwritten = unsettled
            .chain(&*waiting)
            .map(|(key, times)| (*key, *times))
            .filter(|((hour, _), _)| (first..to.millis()).contains(hour));
        let mut hours: BTreeMap<i64, BTreeMap<SignInStep, u64>> = BTreeMap::new();
        for ((hour, step), times) in known.chain(unwritten) {
            *hours.entry(hour).or_default().entry(step).or_default() += times;
        }
        Ok(hours.into_iter().map(|(hour, times)| HourlyCounts { at: Timestamp::from_millis(hour), times }).collect())
    }
}

/// The start of the hour that contains a time.
fn hour(at: Timestamp) -> i64 {
    at.millis() - at.millis().rem_euclid(HOUR_MILLIS)
}

fn add(tx: &mut Tx<'_>, (hour, step): (i64, SignInStep), times: u64) -> Result<()> {
    let text = "INSERT INTO sign_in_count (hour, step, times) VALUES ($1, $2, $3)
        ON CONFLICT (hour, step) DO UPDATE SET times = sign_in_count.times + excluded.times";
    tx.execute(text, &args![hour, step.name(), i64::try_from(times).unwrap_or(i64::MAX)]).map(drop)
}
