//! The task of a node that reads the journal, on a connection of its own.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Statement};

use super::address::PostgresAddress;
use super::journal::{HAS_FOREIGN_ROWS, READ_CHANGES, REMOVE_FOREIGN_ROWS, apply_rows};
use super::journal_position::{JournalPosition, SweepHorizon};
use super::node_lock::take_shared;
use super::primary_proof::{HEARTBEAT, HEARTBEAT_TIMEOUT, unproven};
use super::read_pace::ReadPace;
use crate::cache::{BootInstant, Cache};
use crate::{Result, StoreError};

/// The interval between reads without a notification, and the age from which a heartbeat is repeated.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The timeout of a read. A slower read would leave the cache trusted for too short a time.
const READ_TIMEOUT: Duration = Duration::from_millis(700);
/// The connect timeout; there may be several servers to try.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_DELAY: Duration = Duration::from_millis(200);
/// How much longer a late heartbeat is waited for. The cache is not trusted meanwhile, but a new connection would have to clear it, on all
/// nodes at once.
const LATE_HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of cancelled reads in a row after which the position is given up. From there, the next read would be even longer.
const MAX_CANCELLED_READS: usize = 2;

/// The settings of the database session. The server's timeout comes before [`READ_TIMEOUT`], so that a read that waits for a lock ends
/// there as well, and the connection can be used again.
const SESSION_SETTINGS: &str = "SET statement_timeout = 500; SET synchronous_commit = on; SET jit = off;
    SET plan_cache_mode = force_custom_plan";

/// Tells a server from others at the same address, and from itself before a restart.
const SERVER_IDENTITY: &str =
    "SELECT concat_ws(' ', pg_postmaster_start_time(), inet_server_addr(), inet_server_port())";

/// Why a read failed.
enum ReadError {
    /// The server cancelled the statement, because it took too long. The connection can be used again.
    Cancelled(StoreError),
    /// The server did not answer in time. The statement may still run.
    TimedOut,
    /// The server did not confirm in time that it is still the primary. The heartbeat still waits.
    Unproven,
    /// The server takes no writes any more: it has most likely been replaced.
    ReadOnly,
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
            ReadError::ReadOnly => Self::unavailable(&"the server has become read-only"),
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
            server: None,
            well: true,
        };
        let mut task = JoinSet::new();
        task.spawn(follower.follow().boxed());
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
    /// The identity of the server of the last read.
    server: Option<String>,
    well: bool,
}

/// A connection that reads the journal.
struct JournalSession<'a> {
    client: &'a Client,
    statement: Statement,
    /// The identity of the server.
    server: String,
    /// The position of the last read.
    last: Option<JournalPosition>,
    /// The start of the last heartbeat that was confirmed.
    proven: Option<BootInstant>,
}

impl JournalFollower {
    async fn follow(mut self) {
        loop {
            let Err(error) = self.read_on().await;
            if matches!(error, ReadError::Unproven) {
                // Until a heartbeat succeeds: another failure, such as of the next connection, proves nothing.
                self.address.proof.set_reader_unproven(true);
            }
            self.report_failure(&error.into());
            sleep(RETRY_DELAY).await;
        }
    }

    /// Reads the journal on one connection until that fails.
    async fn read_on(&mut self) -> Result<Infallible, ReadError> {
        let connecting = timeout(CONNECT_TIMEOUT, self.address.connect()).await;
        let (client, driver, server) = connecting.map_err(|_| StoreError::timed_out())??;
        // The task of the connection ends with this read.
        let mut driving = JoinSet::new();
        driving.spawn(driver);
        let Err(error) = self.read_with(&client).await;
        if matches!(error, ReadError::TimedOut | ReadError::Unproven) {
            self.address.cancel_in_background(client.cancel_token());
        }
        if matches!(error, ReadError::Unproven | ReadError::ReadOnly) {
            self.address.distrust(server);
        }
        if matches!(error, ReadError::ReadOnly) {
            // The other connections to this server still read from it.
            self.address.begin_generation();
        }
        Err(error)
    }

    async fn read_with(&mut self, client: &Client) -> Result<Infallible, ReadError> {
        with_timeout(client.batch_execute(SESSION_SETTINGS)).await?;
        if !with_timeout(take_shared(client)).await? {
            return Err(StoreError::unavailable(&"a restore is running").into());
        }
        let server: String = with_timeout(client.query_one(SERVER_IDENTITY, &[])).await?.try_get(0)?;
        if self.server.as_ref() != Some(&server) {
            lock(&self.horizon).clear();
        }
        remove_foreign_rows(client).await?;
        let statement = with_timeout(client.prepare(READ_CHANGES)).await?;
        let mut session = JournalSession { client, statement, server, last: None, proven: None };
        let (mut cancelled, mut pace) = (0, ReadPace::new(Instant::now()));
        loop {
            let began = Instant::now();
            match self.read_once(&mut session).await {
                Ok(()) => cancelled = 0,
                Err(ReadError::Cancelled(error)) => {
                    self.report_failure(&error);
                    // A caller may still wait for this proof.
                    session.proven = None;
                    cancelled += 1;
                    if cancelled >= MAX_CANCELLED_READS {
                        session.last = None;
                    }
                }
                Err(error) => return Err(error),
            }
            // Notifications that arrive meanwhile wait for the next read.
            if let Some(rest) = pace.rest_after(began, Instant::now()) {
                sleep(rest).await;
            }
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
        let read = apply_rows(&rows, &self.cache)?;
        if read.is_read_only {
            return Err(ReadError::ReadOnly);
        }
        // Unread rows may have been swept during a long pause, or the server or its clock has changed.
        if session.last.as_ref().is_some_and(|last| !read.position.follows(last)) {
            return Err(StoreError::unavailable(&"a gap in the journal").into());
        }
        self.address.proof.set_reader_synchronous(read.is_synchronous);
        // What was committed on another primary after this server had its last heartbeat confirmed is not known here.
        let known = if read.is_synchronous { began.min(self.prove(session, proof_wanted).await?) } else { began };
        self.address.proof.set_reader_unproven(false);
        if session.last.is_none() {
            if self.server.as_ref() != Some(&session.server) {
                self.address.begin_generation();
                self.server = Some(session.server.clone());
            }
            // The changes since the last read on another connection, or since a position that was given up, are not known.
            self.cache.clear();
        }
        lock(&self.horizon).note(&read.position);
        session.last = Some(read.position);
        self.cache.freshness.extend(known);
        self.reached.send_replace(known);
        if !self.well {
            tracing::info!("the journal is readable again");
            self.well = true;
        }
        Ok(())
    }

    /// Makes sure that the server is still the primary, and returns the start of the heartbeat that proves it. The last one is enough
    /// for a while, unless the proof must be new.
    async fn prove(&mut self, session: &mut JournalSession<'_>, anew: bool) -> Result<BootInstant, ReadError> {
        if let Some(proven) = session.proven.filter(|proven| !anew && proven.elapsed() < POLL_INTERVAL) {
            return Ok(proven);
        }
        let (client, began) = (session.client, BootInstant::now());
        let mut heartbeat = pin!(client.simple_query(HEARTBEAT));
        let mut confirmed = timeout(HEARTBEAT_TIMEOUT, &mut heartbeat).await;
        if confirmed.is_err() {
            // Uses of the pool find out by heartbeats of their own whether only this connection is slow.
            self.address.proof.set_reader_unproven(true);
            self.report_failure(&unproven());
            // A connection that has not read anything yet has nothing to lose.
            if session.last.is_some() {
                confirmed = timeout(LATE_HEARTBEAT_TIMEOUT, &mut heartbeat).await;
            }
        }
        confirmed.map_err(|_| ReadError::Unproven)??;
        session.proven = Some(began);
        Ok(began)
    }

    fn report_failure(&mut self, error: &StoreError) {
        if self.well {
            tracing::warn!(%error, "cannot read the journal: sessions are looked up in the database");
            self.well = false;
        }
    }
}

/// Removes the rows of another server, a batch at a time: each of them would be found by every read.
async fn remove_foreign_rows(client: &Client) -> Result<(), ReadError> {
    while with_timeout(client.query_one(HAS_FOREIGN_ROWS, &[])).await?.try_get(0)? {
        let removed = with_timeout(client.execute(REMOVE_FOREIGN_ROWS, &[])).await?;
        tracing::info!(removed, "removed rows of another server from the journal");
    }
    Ok(())
}

async fn with_timeout<T>(answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, ReadError> {
    Ok(timeout(READ_TIMEOUT, answer).await.map_err(|_| ReadError::TimedOut)??)
}

fn lock(horizon: &Mutex<SweepHorizon>) -> MutexGuard<'_, SweepHorizon> {
    horizon.lock().unwrap_or_else(PoisonError::into_inner)
}
