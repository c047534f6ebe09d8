//! `deskpass serve`: runs the service.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use futures_util::FutureExt as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{CliError, ServeArgs};
use crate::config::{self, Settings};
use crate::server::{Reloader, Server, SettingsSource, listen};
use crate::telemetry::Logging;
use crate::{App, StartError, service_manager, telemetry};
use deskpass_auth::DEV_USERS;

/// Runs the service until it is asked to stop.
pub(super) fn run(serving: &ServeArgs) -> Result<(), CliError> {
    let passed = service_manager::take_listener()?;
    let (resolved, settings) = serving.resolved()?;
    let Logging { guard: _guard, set_level: set_log_level } = telemetry::start_logging(&settings.log);
    let arguments = serving.clone();
    let read = Box::new(move || arguments.with_sources(config::resolve));
    let source = SettingsSource { settings, resolved, read, adapt: allow_connections, set_log_level };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(serve(source, passed));
    runtime.shutdown_timeout(ABANDON_TIMEOUT);
    served
}

/// How long the end waits for work that cannot be cancelled: a migration, which is a transaction and has no effect then, or a read
/// from a disk that does not respond.
const ABANDON_TIMEOUT: Duration = Duration::from_secs(1);

/// Open files reserved for the service itself: database, Redis, platform, its files, and connections for health checks.
const RESERVED_FILES: usize = 256;

/// Raises the limit of open files to the system's maximum for this user, and caps the number of connections
/// accordingly: clients must not use up the files that the service itself needs.
fn allow_connections(settings: &mut Settings) {
    let limit = getrlimit(Resource::Nofile);
    // Without permission the limit stays as it is; a warning below reports a limit that is too low.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let Some(allowed) = getrlimit(Resource::Nofile).current else { return };
    let (allowed, wanted) = (usize::try_from(allowed).unwrap_or(usize::MAX), settings.server.max_connections);
    if allowed < wanted.saturating_add(RESERVED_FILES) {
        let connections = wanted.min(allowed.saturating_sub(RESERVED_FILES).max(allowed / 2)).max(1);
        tracing::warn!(
            open_files = allowed,
            max_connections = wanted,
            connections,
            "open file limit too low for server.max_connections, serving fewer connections: raise the limit \
             (LimitNOFILE), or lower the setting"
        );
        settings.server.max_connections = connections;
    }
}

async fn serve(source: SettingsSource, passed: Option<TcpListener>) -> Result<(), CliError> {
    let mut settings = source.settings.clone();
    allow_connections(&mut settings);
    // From now on SIGHUP does not end the process; one that arrives during the start causes a reload after it. In a terminal the
    // signal means that the terminal is gone, and the service ends with it.
    let is_daemon = !std::io::stderr().is_terminal();
    let hangup = is_daemon.then(|| signal(SignalKind::hangup())).transpose()?;
    let mut stop = StopSignals::new()?;
    let Some((app, listener)) = start_unless_stopped(settings, passed, &mut stop).await? else {
        tracing::info!("stopped during the start");
        return Ok(());
    };
    let settings = app.settings.clone();
    let server = Server::reloadable(app, listener, source);
    if let Some(hangup) = hangup {
        tokio::spawn(reload_on(hangup, server.reloader()).boxed());
    }
    let scheme = if settings.server.tls_certificate.is_some() { "https" } else { "http" };
    let mut message = format!("deskpass is ready at {scheme}://{}\n", settings.listen);
    if settings.development.enabled {
        message += &next_steps(&settings);
    }
    // The parent process may have closed the pipe; the service runs anyway.
    let _ = std::io::stdout().write_all(message.as_bytes());
    service_manager::ready();
    service_manager::start_watchdog();
    let stop_signal = async move {
        stop.recv().await;
        tokio::spawn(exit_on(stop).boxed());
    };
    server.run(stop_signal).await;
    Ok(())
}

/// Opens the socket and the data; `None` if a signal stops it before.
async fn start_unless_stopped(
    settings: Settings,
    passed: Option<TcpListener>,
    stop: &mut StopSignals,
) -> Result<Option<(App, tokio::net::TcpListener)>, CliError> {
    let (abandon, abandoned) = oneshot::channel::<()>();
    // On a thread of its own, which a migration of the embedded database blocks.
    let mut starting = spawn_blocking(move || {
        Handle::current().block_on(async {
            tokio::select! {
                started = start(settings, passed) => started.map(Some),
                _ = abandoned => Ok(None),
            }
        })
    });
    tokio::select! {
        started = &mut starting => Ok(started??),
        () = stop.recv() => {
            drop(abandon);
            let _ = timeout(ABANDON_TIMEOUT, &mut starting).await;
            Ok(None)
        }
    }
}

/// Opens the socket and the data. The data may be migrated, which can take minutes.
async fn start(settings: Settings, passed: Option<TcpListener>) -> Result<(App, tokio::net::TcpListener), StartError> {
    let (settings, listener) = match passed {
        Some(passed) => service_manager::adopt(settings, passed)?,
        None => listen(settings).await?,
    };
    let app = App::open(settings).await?;
    app.require_encryption_key().await?;
    Ok((app, listener))
}

/// The signals that stop the service.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Stops the service immediately at the next signal. Everything that was acknowledged is already on disk.
async fn exit_on(mut stop: StopSignals) {
    stop.recv().await;
    std::process::exit(130);
}

/// Reloads the settings whenever the signal arrives. The result is logged.
async fn reload_on(mut signal: Signal, reloader: Reloader) {
    while signal.recv().await.is_some() {
        let _ = reloader.reload().await;
    }
}

fn next_steps(settings: &Settings) -> String {
    let shared = settings.shared.url.as_ref().map(|url| format!(", shared through {url}")).unwrap_or_default();
    let [platform, _] = settings.platform.kind.title();
    let mut text = format!(
        "\n  Development mode: anyone who can reach this address can sign in as anyone.\n  Data: {}{shared}\n  Platform: \
         {platform}, simulated; --platform selects another, which needs other data\n\n  People to sign in as:\n",
        settings.data_location()
    );
    for (id, name, _, roles) in DEV_USERS {
        let roles: Vec<_> = roles.iter().map(|role| role.name()).collect();
        let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
        let _ = writeln!(text, "    {id:<14}{name:<18}{roles}");
    }
    let url = &settings.public_url;
    text + &format!(
        "\n  Open:\n    {url}/       sign in with a QR code; \"Open the simulated phone\" acts as the phone\n    \
         {url}/sim    the simulated {platform}: its people, and how to script it\n\n  Or without a browser:\n    curl \
         -s {url}/api/dev/login -H 'content-type: application/json' -d '{{\"employee_id\":\"admin01\"}}'\n\n  Stop \
         with Ctrl-C.\n"
    )
}
