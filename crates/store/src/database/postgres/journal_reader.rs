//! The task of a node that reads the journal, on a connection of its own.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Statement};

use super::address::PostgresAddress;
use super::journal::{READ_CHANGES, apply_rows};
use super::journal_position::{JournalPosition, SweepHorizon};
use super::node_lock::take_shared;
use super::primary_proof::{HEARTBEAT, HEARTBEAT_TIMEOUT, unproven};
use crate::cache::{BootInstant, Cache};
use crate::{Result, StoreError};

/// The interval between reads without a notification, and the age from which a heartbeat is repeated.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The timeout of a read. A slower read would leave the cache trusted for too short a time.
const READ_TIMEOUT: Duration = Duration::from_millis(700);
/// The connect timeout; there may be several servers to try.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The minimum interval between two reads, however many notifications arrive.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(20);
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// The settings of the database session. The server's timeout comes before [`READ_TIMEOUT`], so that a read that waits for a lock ends
/// there as well, and the connection can be used again.
const SESSION_SETTINGS: &str = "SET statement_timeout = 500; SET synchronous_commit = on; SET jit = off;
    SET plan_cache_mode = force_custom_plan";

/// Why a read failed.
enum ReadError {
    /// The server cancelled the statement, because it took too long. The connection can be used again.
    Cancelled(StoreError),
    /// The server did not answer in time. The statement may still run.
    TimedOut,
    /// The server did not confirm in time that it is still the primary. The heartbeat still waits.
    Unproven,
    Failed(StoreError),
}

impl From<tokio_postgres::Error> for ReadError {
    fn from(error: tokio_postgres::Error) -> Self {
        let cancelled = error.code() == Some(&SqlState::QUERY_CANCELED);
        if cancelled { Self::Cancelled(error.into()) } else { Self::Failed(error.into()) }
    }
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl From<ReadError> for StoreError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Cancelled(error) | ReadError::Failed(error) => error,
            ReadError::TimedOut => Self::timed_out(),
            ReadError::Unproven => unproven(),
        }
    }
}

/// Reads the journal until it is dropped.
#[derive(Debug)]
pub(crate) struct JournalReader {
    wake: Arc<Notify>,
    /// Every change before this time is known.
    known: watch::Receiver<BootInstant>,
    proof_wanted: Arc<AtomicBool>,
    horizon: Arc<Mutex<SweepHorizon>>,
    _task: JoinSet<()>,
}

impl JournalReader {
    pub(super) fn start(address: PostgresAddress, cache: Arc<Cache>) -> Self {
        let (wake, proof_wanted) = (Arc::<Notify>::default(), Arc::<AtomicBool>::default());
        let horizon = Arc::<Mutex<SweepHorizon>>::default();
        let (reached, known) = watch::channel(BootInstant::now());
        let follower = JournalFollower {
            address,
            cache,
            wake: Arc::clone(&wake),
            reached,
            proof_wanted: Arc::clone(&proof_wanted),
            horizon: Arc::clone(&horizon),
            well: true,
        };
        let mut task = JoinSet::new();
        task.spawn(follower.follow());
        Self { wake, known, proof_wanted, horizon, _task: task }
    }

    /// Waits for a read that starts after this call.
    pub(crate) async fn wait_until_caught_up(&self) {
        let (mut known, now) = (self.known.clone(), BootInstant::now());
        self.proof_wanted.store(true, Ordering::Release);
        self.wake();
        // The sender lives as long as this receiver.
        let _ = known.wait_for(|until| *until >= now).await;
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// The newest snapshot whose rows every node has read, if there is one.
    pub(crate) fn sweep_horizon(&self) -> Option<String> {
        lock(&self.horizon).seen_by_all()
    }
}

struct JournalFollower {
    address: PostgresAddress,
    cache: Arc<Cache>,
    wake: Arc<Notify>,
    reached: watch::Sender<BootInstant>,
    /// Whether a caller waits for a read that is proven by a heartbeat of its own.
    proof_wanted: Arc<AtomicBool>,
    horizon: Arc<Mutex<SweepHorizon>>,
    well: bool,
}

/// A connection that reads the journal.
struct JournalSession<'a> {
    client: &'a Client,
    statement: Statement,
    /// The position of the last read.
    last: Option<JournalPosition>,
    /// The start of the last heartbeat that was confirmed.
    proven: Option<BootInstant>,
}

impl JournalFollower {
    async fn follow(mut self) {
        loop {
            let Err(error) = self.read_on().await;
            self.report_failure(&error);
            sleep(RETRY_DELAY).await;
        }
    }

    /// Reads the journal on one connection until that fails.
    async fn read_on(&mut self) -> Result<Infallible> {
        let connecting = timeout(CONNECT_TIMEOUT, self.address.connect()).await;
        let (client, driver, server) = connecting.map_err(|_| StoreError::timed_out())??;
        // The task of the connection ends with this read.
        let mut driving = JoinSet::new();
        driving.spawn(async { drop(driver.await) });
        lock(&self.horizon).clear();
        let Err(error) = self.read_with(&client).await;
        if matches!(error, ReadError::TimedOut | ReadError::Unproven) {
            self.address.cancel_in_background(client.cancel_token());
        }
        if matches!(error, ReadError::Unproven) {
            self.address.distrust(server);
        }
        Err(error.into())
    }

    async fn read_with(&mut self, client: &Client) -> Result<Infallible, ReadError> {
        with_timeout(client.batch_execute(SESSION_SETTINGS)).await?;
        if !with_timeout(take_shared(client)).await? {
            return Err(StoreError::unavailable(&"a restore is running").into());
        }
        let statement = with_timeout(client.prepare(READ_CHANGES)).await?;
        let mut session = JournalSession { client, statement, last: None, proven: None };
        loop {
            match self.read_once(&mut session).await {
                Ok(()) => {}
                Err(ReadError::Cancelled(error)) => {
                    self.report_failure(&error);
                    // A caller may still wait for this proof.
                    session.proven = None;
                }
                Err(error) => return Err(error),
            }
            sleep(MIN_READ_INTERVAL).await;
            tokio::select! {
                () = sleep(POLL_INTERVAL) => {}
                () = self.wake.notified() => {}
            }
        }
    }

    async fn read_once(&mut self, session: &mut JournalSession<'_>) -> Result<(), ReadError> {
        // Taken before the read begins: a caller that comes later waits for the next one.
        let proof_wanted = self.proof_wanted.swap(false, Ordering::AcqRel);
        let began = BootInstant::now();
        let from = session.last.clone().unwrap_or_else(JournalPosition::initial);
        let rows = with_timeout(session.client.query(&session.statement, &[&from.xmax, &from.running])).await?;
        let (position, synchronous) = apply_rows(&rows, &self.cache)?;
        // Unread rows may have been swept during a long pause, or the server or its clock has changed.
        if session.last.as_ref().is_some_and(|last| !position.follows(last)) {
            return Err(StoreError::unavailable(&"a gap in the journal").into());
        }
        self.address.reader_synchronous.store(synchronous, Ordering::Relaxed);
        // What was committed on another primary after this server had its last heartbeat confirmed is not known here.
        let known = if synchronous { began.min(session.prove(proof_wanted).await?) } else { began };
        if session.last.is_none() {
            // This may be another server with other transaction ids, so the cached data is worthless.
            self.address.begin_generation();
            self.cache.clear();
        }
        lock(&self.horizon).note(&position);
        session.last = Some(position);
        self.cache.freshness.extend(known);
        self.reached.send_replace(known);
        if !self.well {
            tracing::info!("the journal is readable again");
            self.well = true;
        }
        Ok(())
    }

    fn report_failure(&mut self, error: &StoreError) {
        if self.well {
            tracing::warn!(%error, "cannot read the journal: sessions are looked up in the database");
            self.well = false;
        }
    }
}

impl JournalSession<'_> {
    /// Makes sure that the server is still the primary, and returns the start of the heartbeat that proves it. The last one is enough
    /// for a while, unless the proof must be new.
    async fn prove(&mut self, anew: bool) -> Result<BootInstant, ReadError> {
        if let Some(proven) = self.proven.filter(|proven| !anew && proven.elapsed() < POLL_INTERVAL) {
            return Ok(proven);
        }
        let began = BootInstant::now();
        let confirmed = timeout(HEARTBEAT_TIMEOUT, self.client.simple_query(HEARTBEAT)).await;
        confirmed.map_err(|_| ReadError::Unproven)??;
        self.proven = Some(began);
        Ok(began)
    }
}

async fn with_timeout<T>(answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, ReadError> {
    Ok(timeout(READ_TIMEOUT, answer).await.map_err(|_| ReadError::TimedOut)??)
}

fn lock(horizon: &Mutex<SweepHorizon>) -> MutexGuard<'_, SweepHorizon> {
    horizon.lock().unwrap_or_else(PoisonError::into_inner)
}
