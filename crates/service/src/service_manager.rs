//! Talks to the service manager, systemd: says when the service is ready, reloads or stops, shows that it is alive, and takes
//! over the listening socket that systemd keeps open while the service restarts.
//!
//! The protocols are those of `sd_notify(3)` and `sd_listen_fds(3)`. Like standard output they belong to the process, so they
//! are found in its environment, and every function does nothing where there is no service manager.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process;
use std::time::Duration;

use futures_util::FutureExt as _;
use rustix::time::{ClockId, clock_gettime};
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::StartError;
use crate::config::Settings;

/// How long a message to the service manager may take; its queue is rarely full.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);

/// Says that the service accepts requests, at its start or after it has read its settings again.
pub fn ready() {
    notify("READY=1");
}

/// Says that the service reads its settings again; [`ready`] says when it has.
pub fn reloading() {
    // The service manager compares the time with that of its request.
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
    let monotonic_usec = now.as_micros();
    notify(&format!("RELOADING=1\nMONOTONIC_USEC={monotonic_usec}"));
}

/// Says that the service is about to stop.
pub fn stopping() {
    notify("STOPPING=1");
}

/// Sets the line that `systemctl status` shows.
pub fn status(text: &str) {
    notify(&format!("STATUS={}", text.replace('\n', " ")));
}

/// Shows the service manager at half of its interval that the service is alive, if the unit sets `WatchdogSec`. A process in
/// which no task makes progress is silent, and is restarted.
pub fn start_watchdog() {
    if let Some(period) = watchdog_period() {
        drop(tokio::spawn(report_alive(period).boxed()));
    }
}

async fn report_alive(period: Duration) {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if runtime_responds(period).await {
            notify("WATCHDOG=1");
        } else {
            tracing::error!("the runtime does not run new tasks: the service manager is not told that it is alive");
        }
    }
}

/// Takes the listening socket that the service manager passed to this process.
///
/// It must be called before the process has other threads, because it removes variables from the environment.
pub fn take_listener() -> Result<Option<std::net::TcpListener>, StartError> {
    let mut passed = listenfd::ListenFd::from_env();
    if passed.len() > 1 {
        let error = format!("it passed {}, and the service listens on one", passed.len());
        return Err(StartError::PassedSocket(io::Error::other(error)));
    }
    passed.take_tcp_listener(0).map_err(StartError::PassedSocket)
}

/// Makes the service listen on a socket that was passed to it, and returns the settings with its address.
pub fn adopt(settings: Settings, listener: std::net::TcpListener) -> Result<(Settings, TcpListener), StartError> {
    let address = listener.local_addr().map_err(StartError::PassedSocket)?;
    let development = &settings.development;
    // The settings were checked with the address that they name, not with this one.
    if development.enabled && !development.allow_remote && !address.ip().to_canonical().is_loopback() {
        let error = format!("development mode lets anyone who reaches {address} sign in as anyone");
        return Err(StartError::PassedSocket(io::Error::other(error)));
    }
    listener.set_nonblocking(true).map_err(StartError::PassedSocket)?;
    let listener = TcpListener::from_std(listener).map_err(StartError::PassedSocket)?;
    Ok((settings.with_listen_address(address), listener))
}

/// Whether the runtime runs a new task in time.
async fn runtime_responds(limit: Duration) -> bool {
    matches!(timeout(limit, tokio::spawn(async {}.boxed())).await, Ok(Ok(())))
}

/// Half of the interval at which the service manager expects this process to show that it is alive.
fn watchdog_period() -> Option<Duration> {
    let number = |name: &str| -> Option<u64> { env::var_os(name)?.to_str()?.parse().ok() };
    let ours = env::var_os("WATCHDOG_PID").is_none() || number("WATCHDOG_PID") == Some(process::id().into());
    let limit = number("WATCHDOG_USEC").filter(|_| ours)?;
    Some(Duration::from_micros(limit / 2)).filter(|period| !period.is_zero())
}

fn notify(state: &str) {
    let Some(socket) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else { return };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(%error, state, "cannot notify the service manager");
    }
}

/// Sends a message to a socket; a name that begins with `@` is in Linux's abstract namespace.
fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    let sender = UnixDatagram::unbound()?;
    sender.set_write_timeout(Some(NOTIFY_TIMEOUT))?;
    sender.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}
