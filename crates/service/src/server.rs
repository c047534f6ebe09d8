//! The server: accepts connections within limits, serves them, and shuts down gracefully.
//!
//! The accept loop is written here instead of using `axum::serve`, which has no limit on connections, no deadline for a head,
//! and no way to close the connection that has waited longest.

mod activity;
mod checked_reader;
mod command_socket;
mod connections;
mod direct_path;
mod logouts;
mod notices;
mod people;
mod periodic;
mod registry;
mod reload;
mod response_body;
mod statistics;
mod timeouts;
mod tls_handshake;
mod tracked_body;
mod upgrade_slot;
mod warnings;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deskpass_auth::KeyVerdict;
use deskpass_core::framing::{MAX_HEAD_BYTES, MAX_HEAD_FIELDS};
use futures_util::FutureExt as _;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, upgrade};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::app::current::CurrentApp;
use crate::config::Settings;
use crate::http::{Dispatcher, PendingUpgrade, ReserveConnection};
use crate::{App, StartError, service_manager};
use activity::ConnectionActivity;
use checked_reader::{CheckedReader, RequestTracker};
use connections::{ConnectionGuard, Connections};
use direct_path::DirectPath;
use periodic::{refresh_certificates, run_periodic_tasks, summarise_refusals, sweep_expired};
pub use reload::{ReloadError, Reloader, SettingsSource};
use response_body::ResponseBody;
use statistics::StatisticsWriter;
use timeouts::{ConnectionTimeouts, TimeoutStream};
use tracked_body::TrackedBody;
use upgrade_slot::UpgradeSlot;
use warnings::{log_missing_administrator, log_warnings};

/// A service with its listener.
#[derive(Debug)]
pub struct Server {
    reloader: Reloader,
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
        Self::with_source(app, listener, None)
    }

    /// A server that can read its settings again.
    #[must_use]
    pub fn reloadable(app: App, listener: TcpListener, source: SettingsSource) -> Self {
        Self::with_source(app, listener, Some(source))
    }

    fn with_source(app: App, listener: TcpListener, source: Option<SettingsSource>) -> Self {
        let command_socket = command_socket::open(&app);
        Self { reloader: Reloader::new(app, source), listener, command_socket }
    }

    /// Reloads the settings of this server while it runs.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        self.reloader.clone()
    }

    /// Serves until `stop` completes. Then reports that it is not ready, continues for a while so that load balancers notice,
    /// stops accepting connections, and finishes the requests in progress.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { reloader, listener, command_socket } = self;
        let mut app = reloader.current();
        let mode = if app.settings.development.enabled { "development" } else { "production" };
        let (address, data) = (app.settings.listen, app.settings.data.display());
        let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("BUILD_COMMIT"));
        let platform = app.settings.platform.kind.name();
        tracing::info!(version, commit, mode, platform, %address, %data, "started");
        log_warnings(&app);
        log_missing_administrator(&app).await;
        check_encryption_key(&app).await;
        let mut background_tasks = JoinSet::new();
        // Tasks are boxed, here and elsewhere, except for connections: the runtime's part of a task is compiled for each type of future.
        background_tasks.spawn(run_periodic_tasks(app.clone()).boxed());
        background_tasks.spawn(sweep_expired(app.clone()).boxed());
        background_tasks.spawn(refresh_certificates(app.clone()).boxed());
        background_tasks.spawn(notices::deliver(app.clone()).boxed());
        background_tasks.spawn(logouts::deliver(app.clone()).boxed());
        people::spawn(&mut background_tasks, &app);
        let (carrier, watcher) = (App::clone(&app), App::clone(&app));
        background_tasks.spawn(async move { carrier.auth.relay_messages().await }.boxed());
        background_tasks.spawn(async move { watcher.auth.watch_sockets().await }.boxed());
        if let Some(command_socket) = command_socket {
            background_tasks.spawn(command_socket::accept_commands(reloader.clone(), command_socket).boxed());
        }
        let (connections, statistics) = (Connections::new(&app), StatisticsWriter::start(App::clone(&app)));
        {
            let mut accepting = pin!(accept(app.clone(), &listener, &connections));
            tokio::select! {
                () = &mut accepting => {}
                () = stop => {
                    tracing::info!("shutting down: no longer ready");
                    app.start_draining();
                    service_manager::stopping();
                    // Still accepts: a load balancer that has not noticed yet must not see a refused connection.
                    let _ = timeout(app.refresh().settings.server.settle, &mut accepting).await;
                }
            }
        }
        drop(listener);
        if timeout(app.refresh().settings.server.drain_timeout, connections.close()).await.is_err() {
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

async fn accept(mut app: CurrentApp, listener: &TcpListener, connections: &Connections) {
    let dispatcher = Arc::new(Dispatcher::new(&app));
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if let Some(guard) = connections.admit(app.refresh(), peer.ip()) {
                    drop(tokio::spawn(serve(stream, peer, Arc::clone(&dispatcher), app.clone(), guard)));
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
    app: Arc<Mutex<CurrentApp>>,
    peer: IpAddr,
    activity: ConnectionActivity,
    tracker: RequestTracker,
    upgrade_slot: UpgradeSlot,
    /// Whether the connection is from the reserve for health checks.
    reserve: bool,
}

impl ConnectionContext {
    /// Answers a request.
    async fn answer(self, mut request: Request<Incoming>) -> Result<Response<ResponseBody>, Infallible> {
        let Self { dispatcher, app, peer, activity, tracker, upgrade_slot, reserve } = self;
        activity.toggle();
        // The whole request uses the settings of this moment.
        let app = app.lock().unwrap_or_else(PoisonError::into_inner).refresh().clone();
        let malformed = tracker.begin();
        let upgrade = upgrade::on(&mut request);
        if reserve {
            request.extensions_mut().insert(ReserveConnection);
        }
        let request = request.map(|body| TrackedBody::new(body, activity.clone()));
        let mut answer = match malformed {
            None => dispatcher.dispatch(&app, peer, request).await,
            Some(malformed) => dispatcher.reject_malformed(&app, peer, malformed),
        };
        if reserve {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(pending) = answer.extensions_mut().remove::<PendingUpgrade>() {
            tracker.switch();
            upgrade_slot.set(upgrade, pending);
            // The connection counts as busy after the upgrade, so the end of the response is not tracked.
            return Ok(answer.map(ResponseBody::untracked));
        }
        tracker.end();
        Ok(answer.map(|body| ResponseBody::new(body, activity)))
    }
}

/// Serves a connection until it ends or becomes a socket. If it ends, its slot is free again when this returns.
async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    dispatcher: Arc<Dispatcher>,
    app: CurrentApp,
    mut guard: ConnectionGuard,
) {
    let _ = stream.set_nodelay(true);
    let timeouts = ConnectionTimeouts::new(&app.settings.server, guard.place.reserve);
    let opened = tls_handshake::open(stream, app.tls.as_deref(), timeouts.head, &mut guard.leave).await;
    let Some(stream) = opened else { return };
    let (activity, upgrade_slot, reserve) = (guard.activity.clone(), UpgradeSlot::default(), guard.place.reserve);
    let tracker = RequestTracker::default();
    let direct = DirectPath::new(Arc::clone(&dispatcher), app.clone(), peer.ip(), !reserve);
    let app = Arc::new(Mutex::new(app));
    let reader = CheckedReader::new(stream, tracker.clone());
    let stream = TimeoutStream::new(reader, timeouts, activity.clone(), direct);
    let (switched, socket_app) = (upgrade_slot.clone(), Arc::clone(&app));
    let context = ConnectionContext { dispatcher, app, peer: peer.ip(), activity, tracker, upgrade_slot, reserve };
    let service = service_fn(move |request| context.clone().answer(request));
    let mut connection = pin!(http_builder().serve_connection(TokioIo::new(stream), service).with_upgrades());
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
        Ok(()) => {
            if let Some(upgrade) = switched.take() {
                // A socket begins with the settings of this moment, not with those when the connection was accepted. On the heap,
                // since most connections do not switch.
                Box::pin(upgrade.start(newest(&socket_app), guard)).await;
            }
        }
        Err(error) => tracing::debug!(%error, "connection error"),
    }
}

/// The settings of the HTTP library.
fn http_builder() -> http1::Builder {
    let mut http = http1::Builder::new();
    // `TimeoutStream` enforces the timeouts.
    http.writev(false).header_read_timeout(None).max_headers(MAX_HEAD_FIELDS).max_buf_size(MAX_HEAD_BYTES);
    http
}

/// The newest service.
fn newest(app: &Mutex<CurrentApp>) -> CurrentApp {
    let mut app = app.lock().unwrap_or_else(PoisonError::into_inner);
    app.refresh();
    app.clone()
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

/// How long the shutdown waits for the last summary of anonymous refusals.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(2);
