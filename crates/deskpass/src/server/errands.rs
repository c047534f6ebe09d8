//! Takes errands from the command line while the service runs.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{sleep, timeout};

use crate::Desk;
use crate::errand::{Handed, socket};

/// No errand is longer, and nobody types longer than this.
const LONGEST: u64 = 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens the socket. Without it the service goes on, but the command line cannot reach it. On a database that nodes share
/// the command line needs nobody.
pub(super) fn open(desk: &Desk) -> Option<UnixListener> {
    if desk.settings.store.url.is_some() {
        return None;
    }
    let opened = listen(desk);
    opened.inspect_err(|error| tracing::warn!(%error, "the command line cannot reach this process while it runs")).ok()
}

/// Takes errands until it is dropped.
pub(super) async fn take(desk: Desk, listener: UnixListener) {
    loop {
        let served = match listener.accept().await {
            Ok((stream, _)) => serve(&desk, stream).await,
            Err(error) => {
                // Usually out of file descriptors: some will come free.
                sleep(Duration::from_millis(50)).await;
                Err(error)
            }
        };
        if let Err(error) = served {
            tracing::warn!(%error, "an errand from the command line broke off");
        }
    }
}

fn listen(desk: &Desk) -> io::Result<UnixListener> {
    let path = socket(&desk.settings.data);
    // The directory is ours alone, so what lies there is left over from a process that was killed.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn other_mode(development: bool) -> String {
    let (runs, mend) = if development { ("production", "leave out --dev") } else { ("development mode", "add --dev") };
    format!("the service on this data runs in {runs}; {mend}")
}

async fn serve(desk: &Desk, mut stream: UnixStream) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let (mut lines, mut line) = (BufReader::new(reader.take(LONGEST)), String::new());
    timeout(PATIENCE, lines.read_line(&mut line)).await??;
    let told = match serde_json::from_str::<Handed>(&line) {
        Ok(Handed { development, .. }) if development != desk.settings.development => Err(other_mode(development)),
        Ok(Handed { errand, .. }) => {
            tracing::info!(?errand, "an errand from the command line");
            errand.run(desk).await
        }
        Err(_) => Err("the running service does not know this errand; is it another version?".to_owned()),
    };
    let told = serde_json::to_string(&told)? + "\n";
    timeout(PATIENCE, writer.write_all(told.as_bytes())).await?
}
