//! The server: accepts connections within limits, serves them, and shuts down gracefully.

mod accept;
mod body;
mod command_socket;
mod connection;
mod logouts;
mod notices;
mod people;
mod periodic;
mod reload;
mod slots;
mod statistics;
mod tls;
mod warnings;
mod watched;

use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use deskpass_auth::KeyVerdict;
use futures_util::FutureExt as _;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::Settings;
use crate::{App, StartError, service_manager};
use accept::accept;
use periodic::{refresh_certificates, run_periodic_tasks, summarise_refusals, sweep_expired};
pub use reload::{ReloadError, Reloader, SettingsSource};
use slots::Slots;
use statistics::StatisticsWriter;
use warnings::{log_missing_administrator, log_warnings};

/// A service with its listener.
#[derive(Debug)]
pub struct Server {
    reloader: Reloader,
    listener: TcpListener,
    command_socket: Option<UnixListener>,
    /// Where the programs that are told of logouts are looked up, instead of at the name servers of the system.
    dns_address: Option<SocketAddr>,
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
        Self { reloader: Reloader::new(app, source), listener, command_socket, dns_address: None }
    }

    /// Looks the programs that are told of logouts up at this name server: a test cannot change those of the system.
    #[must_use]
    pub fn with_name_server(self, address: SocketAddr) -> Self {
        Self { dns_address: Some(address), ..self }
    }

    /// Reloads the settings of this server while it runs.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        self.reloader.clone()
    }

    /// Serves until `stop` completes. Then reports that it is not ready, continues for a while so that load balancers notice,
    /// stops accepting connections, and finishes the requests in progress.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { reloader, listener, command_socket, dns_address } = self;
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
        background_tasks.spawn(logouts::deliver(app.clone(), dns_address).boxed());
        people::spawn(&mut background_tasks, &app);
        let (carrier, watcher) = (App::clone(&app), App::clone(&app));
        background_tasks.spawn(async move { carrier.auth.relay_messages().await }.boxed());
        background_tasks.spawn(async move { watcher.auth.watch_sockets().await }.boxed());
        if let Some(command_socket) = command_socket {
            background_tasks.spawn(command_socket::accept_commands(reloader.clone(), command_socket).boxed());
        }
        let slots = Slots::new(&app);
        let statistics = StatisticsWriter::start(App::clone(&app));
        {
            let mut accepting = pin!(accept(app.clone(), &listener, &slots));
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
        if timeout(app.refresh().settings.server.drain_timeout, slots.close()).await.is_err() {
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
