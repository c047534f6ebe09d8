//! Accepts admin commands from the command line while the service runs.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::fs::{Mode, fchmod};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::time::{sleep, timeout};

use super::reload::{Reloader, describe};
use crate::App;
use crate::commands::{AdminCommand, CommandRequest, corporation, socket_path};

/// Limits far above what any command needs.
const MAX_COMMAND_BYTES: u64 = 64 * 1024;
/// How many commands wait to be accepted. They are served one after the other.
const MAX_PENDING_COMMANDS: u32 = 1024;
const COMMAND_IO_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the socket, unless nodes share the database: then the command line does not need it. The service runs without it, too.
pub(super) fn open(app: &App) -> Option<UnixListener> {
    if app.settings.store.url.is_some() {
        return None;
    }
    let opened = listen(app);
    opened
        .inspect_err(|error| {
            tracing::warn!(%error, "cannot open the admin command socket: the command line cannot reach this process");
        })
        .ok()
}

/// Accepts admin commands until it is dropped.
pub(super) async fn accept_commands(reloader: Reloader, listener: UnixListener) {
    loop {
        let served = match listener.accept().await {
            Ok((stream, _)) => serve(&reloader, stream).await,
            Err(error) => {
                // Usually the process is out of file descriptors; some become free soon.
                sleep(Duration::from_millis(50)).await;
                Err(error)
            }
        };
        if let Err(error) = served {
            tracing::warn!(%error, "admin command failed");
        }
    }
}

fn listen(app: &App) -> io::Result<UnixListener> {
    let path = socket_path(&app.settings.data);
    // This process has exclusive use of the directory, so an existing socket is left over from a killed process.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let socket = UnixSocket::new_stream()?;
    // Before it has a path: whatever the umask is, no other user can connect even for a moment.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    socket.bind(&path)?;
    socket.listen(MAX_PENDING_COMMANDS)
}

fn other_mode(development: bool) -> String {
    let (runs, fix) = if development { ("production", "leave out --dev") } else { ("development mode", "add --dev") };
    format!("the running service uses {runs}; {fix}")
}

/// Why a command of another corporation is rejected: it would be about other people than the operator means.
fn other_corporation(own: &str, given: &str) -> String {
    format!(
        "the running service has {own}, and the settings of this command have {given}; use the service's settings (--config, \
         --platform), or restart the service if they have changed"
    )
}

async fn serve(reloader: &Reloader, mut stream: UnixStream) -> io::Result<()> {
    let app = reloader.current();
    let (reader, mut writer) = stream.split();
    let (mut lines, mut line) = (BufReader::new(reader.take(MAX_COMMAND_BYTES)), String::new());
    timeout(COMMAND_IO_TIMEOUT, lines.read_line(&mut line)).await??;
    let own = corporation(&app.settings);
    let message = match serde_json::from_str::<CommandRequest>(&line) {
        Ok(CommandRequest { development, .. }) if development != app.settings.development.enabled => {
            Err(other_mode(development))
        }
        Ok(CommandRequest { corporation: Some(given), .. }) if given != own => Err(other_corporation(&own, &given)),
        Ok(CommandRequest { command, language, .. }) => {
            if !command.is_poll() {
                tracing::info!(%command, "admin command");
            }
            match command {
                AdminCommand::Reload => {
                    reloader.reload().await.map(|diff| describe(&diff)).map_err(|error| error.to_string())
                }
                command => command.run(&app, language).await,
            }
        }
        Err(_) => {
            Err("the running service does not know this command; check that both have the same version".to_owned())
        }
    };
    let message = serde_json::to_string(&message)? + "\n";
    timeout(COMMAND_IO_TIMEOUT, writer.write_all(message.as_bytes())).await?
}
