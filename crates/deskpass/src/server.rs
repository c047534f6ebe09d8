//! The server: accepts connections within limits, serves them, and shuts down gracefully.
//!
//! The accept loop is written here instead of using `axum::serve`, which has no limit on connections, no deadline for a head,
//! and no way to close the connection that has waited longest.

mod activity;
mod checked_reader;
mod command_socket;
mod connections;
mod framing;
mod notices;
mod registry;
mod statistics;
mod timeouts;
mod tracked_body;
mod upgrade_slot;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use deskpass_auth::KeyVerdict;
use futures_util::StreamExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, upgrade};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::app::clock::{MAX_CLOCK_SKEW, clock_difference};
use crate::app::own_pages;
use crate::config::Settings;
use crate::http::{Dispatcher, PendingUpgrade, ReserveConnection};
use crate::secret_files::exposed_files;
use crate::{App, StartError};
use activity::ConnectionActivity;
use checked_reader::{CheckedReader, RequestTracker};
use connections::{ConnectionGuard, Connections};
use framing::{MAX_HEAD_BYTES, MAX_HEAD_FIELDS};
use statistics::StatisticsWriter;
use timeouts::{ConnectionTimeouts, TimeoutStream};
use tracked_body::TrackedBody;
use upgrade_slot::UpgradeSlot;

/// A service with its listener.
#[derive(Debug)]
pub struct Server {
    app: App,
    listener: TcpListener,
    command_socket: Option<UnixListener>,
}

/// Binds the configured address, and returns the settings with the actual port when the configured port is 0.
pub async fn listen(settings: Settings) -> Result<(Settings, TcpListener), StartError> {
    let address = settings.listen;
    let refused = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    Ok((settings.with_listen_address(address), listener))
}

impl Server {
    /// A server that accepts the connections of `listener`.
    #[must_use]
    pub fn new(app: App, listener: TcpListener) -> Self {
        let command_socket = command_socket::open(&app);
        Self { app, listener, command_socket }
    }

    /// Serves until `stop` completes. Then reports that it is not ready, continues for a while so that load balancers notice,
    /// stops accepting connections, and finishes the requests in progress.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { app, listener, command_socket, .. } = self;
        let mode = if app.settings.development.enabled { "development" } else { "production" };
        let (address, data) = (app.settings.listen, app.settings.data.display());
        tracing::info!(version = env!("CARGO_PKG_VERSION"), mode, %address, %data, "started");
        for warning in app.settings.warnings() {
            tracing::warn!("{warning}");
        }
        for file in exposed_files(&app.settings.secret_files) {
            tracing::warn!("{}", file.warning());
        }
        if let Some(warning) = own_pages::warning(&app.settings) {
            tracing::warn!("{warning}");
        }
        check_encryption_key(&app).await;
        let mut background_tasks = JoinSet::new();
        background_tasks.spawn(run_periodic_tasks(app.clone()));
        background_tasks.spawn(notices::deliver(app.clone()));
        let (carrier, watcher) = (app.clone(), app.clone());
        background_tasks.spawn(async move { carrier.auth.relay_messages().await });
        background_tasks.spawn(async move { watcher.auth.watch_sockets().await });
        if let Some(command_socket) = command_socket {
            background_tasks.spawn(command_socket::accept_commands(app.clone(), command_socket));
        }
        let (connections, statistics) = (Connections::new(&app), StatisticsWriter::start(app.clone()));
        let settings = &app.settings.server;
        {
            let mut accepting = pin!(accept(&app, &listener, &connections));
            tokio::select! {
                () = &mut accepting => {}
                () = stop => {
                    tracing::info!("shutting down: no longer ready");
                    app.start_draining();
                    // Still accepts: a load balancer that has not noticed yet must not see a refused connection.
                    let _ = timeout(settings.settle, &mut accepting).await;
                }
            }
        }
        drop(listener);
        if timeout(settings.drain_timeout, connections.close()).await.is_err() {
            tracing::warn!("closing connections that are still open after the drain time");
        }
        background_tasks.shutdown().await;
        statistics.finish().await;
        // No request can be refused any more, so this summary is complete.
        if timeout(SUMMARY_TIMEOUT, summarise_refusals(&app)).await.is_err() {
            tracing::warn!("the last summary of anonymous refusals was not written before shutdown");
        }
        tracing::info!("stopped");
    }
}

async fn accept(app: &App, listener: &TcpListener, connections: &Connections) {
    let dispatcher = Arc::new(Dispatcher::new(app.clone()));
    let timeouts =
        ConnectionTimeouts { head: app.settings.server.header_timeout, idle: app.settings.server.idle_timeout };
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if let Some(guard) = connections.admit(peer.ip()) {
                    let timeouts = if guard.reserve { timeouts.for_reserve() } else { timeouts };
                    drop(tokio::spawn(serve(stream, peer, Arc::clone(&dispatcher), timeouts, guard)));
                }
            }
            Err(error) => {
                // Usually the process is out of file descriptors, and some become free later.
                tracing::warn!(%error, "cannot accept a connection");
                connections.evict_on_exhaustion(&error);
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// What the requests of a connection share.
#[derive(Clone)]
struct ConnectionContext {
    dispatcher: Arc<Dispatcher>,
    peer: IpAddr,
    activity: ConnectionActivity,
    tracker: RequestTracker,
    upgrade_slot: UpgradeSlot,
    /// Whether the connection is from the reserve for health checks.
    reserve: bool,
}

impl ConnectionContext {
    /// Answers a request.
    async fn answer(self, mut request: Request<Incoming>) -> Result<Response, Infallible> {
        let Self { dispatcher, peer, activity, tracker, upgrade_slot, reserve } = self;
        activity.toggle();
        let malformed = tracker.begin();
        let upgrade = upgrade::on(&mut request);
        if reserve {
            request.extensions_mut().insert(ReserveConnection);
        }
        let request = request.map(|body| TrackedBody::new(body, activity.clone()));
        let mut answer = match malformed {
            None => dispatcher.dispatch(peer, request).await,
            Some(malformed) => dispatcher.reject_malformed(malformed),
        };
        if reserve {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(pending) = answer.extensions_mut().remove::<PendingUpgrade>() {
            tracker.switch();
            upgrade_slot.set(upgrade, pending);
            // The connection counts as busy after the upgrade, so the end of the response is not tracked.
            return Ok(answer);
        }
        tracker.end();
        Ok(track_response_end(answer, activity))
    }
}

/// Serves a connection until it ends. Its slot is free again when this returns.
async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    dispatcher: Arc<Dispatcher>,
    timeouts: ConnectionTimeouts,
    mut guard: ConnectionGuard,
) {
    let _ = stream.set_nodelay(true);
    let (activity, upgrade_slot, reserve) = (guard.activity.clone(), UpgradeSlot::default(), guard.reserve);
    let tracker = RequestTracker::default();
    let stream = TimeoutStream::new(CheckedReader::new(stream, tracker.clone()), timeouts, activity.clone());
    let switched = upgrade_slot.clone();
    let context = ConnectionContext { dispatcher, peer: peer.ip(), activity, tracker, upgrade_slot, reserve };
    let service = service_fn(move |request| context.clone().answer(request));
    let mut http = http1::Builder::new();
    // `TimeoutStream` enforces the timeouts.
    http.writev(false).header_read_timeout(None).max_headers(MAX_HEAD_FIELDS).max_buf_size(MAX_HEAD_BYTES);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        asked = &mut guard.leave => {
            // Another connection has taken the slot. A request that began in the meantime is still served.
            if asked.is_ok() && guard.activity.waiting_since().is_some() {
                return;
            }
            // A socket that the last response upgrades to must stop as well.
            guard.leave = oneshot::channel().1;
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    match ended {
        Ok(()) => switched.run(&mut guard.leave).await,
        Err(error) => tracing::debug!(%error, "connection error"),
    }
}

/// Marks the end of the request: immediately for a complete response, otherwise once the body has been written.
fn track_response_end(answer: Response, activity: ConnectionActivity) -> Response {
    if answer.body().size_hint().exact().is_some() {
        activity.toggle();
        return answer;
    }
    let end = ResponseEnd(activity);
    answer.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |piece| {
            let _until_the_last = &end;
            piece
        }))
    })
}

/// Marks the end of the request when it is dropped.
#[derive(Debug)]
struct ResponseEnd(ConnectionActivity);

impl Drop for ResponseEnd {
    fn drop(&mut self) {
        self.0.toggle();
    }
}

/// Checks the encryption key at the start: otherwise a changed key would fail only once agents need their passwords.
async fn check_encryption_key(app: &App) {
    match app.auth.verify_encryption_key().await {
        Ok(KeyVerdict::Known) => {}
        Ok(KeyVerdict::Unknown) => tracing::error!(
            "encryption_key is not the key that the audit log and agents' passwords and devices were written with: \
             restore that key in the settings"
        ),
        Ok(KeyVerdict::Replaced) => tracing::error!(
            "encryption_key is not the key of the data, but an older one that `deskpass key rotate` replaced: put the \
             new key into the settings"
        ),
        Err(error) => tracing::warn!(%error, "could not verify encryption_key"),
    }
    match app.auth.store.key_state(app.auth.chain_keys.clone()).await {
        Ok(state) if state.lists_old_key_first() => tracing::warn!(
            "encryption_key lists first a key that was replaced: put the current one first, and remove the old one"
        ),
        Ok(state) if state.needs_rotation() => tracing::warn!(
            "encryption_key lists a new key first, and the data still uses an older one: run `deskpass key rotate`"
        ),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "could not read which encryption_key the data uses"),
    }
}

/// Runs the periodic tasks.
async fn run_periodic_tasks(app: App) {
    let (mut often, mut minute) = (interval(Duration::from_secs(5)), interval(Duration::from_mins(1)));
    // Missed ticks are not made up for: the clock must follow the machine's slowly.
    minute.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            // Folds recorded values into their buckets, so that they do not accumulate.
            _ = often.tick() => app.metrics.handle.run_upkeep(),
            _ = minute.tick() => run_minute_tasks(&app).await,
        }
    }
}

/// How long the shutdown waits for the last summary of anonymous refusals.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(2);

async fn summarise_refusals(app: &App) {
    app.failure_log.summarise();
    match app.auth.summarise_refusals().await {
        Ok(0) => {}
        Ok(refusals) => {
            tracing::warn!(refusals, "summarised anonymous refusals beyond the limit in one audit row");
        }
        Err(error) => tracing::warn!(%error, "cannot write the summary of anonymous refusals"),
    }
}

/// The most session uses that are written per minute; the rest wait for the next flush.
const MAX_SESSION_USES_PER_FLUSH: usize = 10_000;

async fn run_minute_tasks(app: &App) {
    app.review_clock().await;
    // Records the time, so that a clock that is behind at the next start does not prolong sessions.
    if let Err(error) = app.auth.store.record_time(app.auth.clock.now()).await {
        tracing::warn!(%error, "cannot write to the store");
    }
    summarise_refusals(app).await;
    if let Err(error) = app.auth.store.flush_last_uses(MAX_SESSION_USES_PER_FLUSH).await {
        tracing::warn!(%error, "cannot record the last use of sessions");
    }
    match app.auth.store.database_time().await {
        Ok(Some(common)) if clock_difference(app.auth.clock.now(), common.at) > MAX_CLOCK_SKEW => {
            // Data that looks expired by this clock may not be, so nothing is swept.
            tracing::error!("this node's clock and the database's differ: synchronise both with NTP");
        }
        Ok(_) => {
            if let Err(error) = app.auth.sweep_with_lease().await {
                tracing::warn!(%error, "cannot sweep expired rows");
            }
        }
        Err(error) => tracing::warn!(%error, "cannot read from the store"),
    }
}
