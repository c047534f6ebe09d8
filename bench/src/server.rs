//! A server in its own process: start, measurement from outside, stop.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::backends::SharedBackend;
use crate::bare_handler::ResponseTemplates;
use crate::error::BenchError;
use crate::stats::now;
use crate::workspace::Workspace;

/// The number of PostgreSQL connections of a node.
pub(crate) const NODE_CONNECTIONS: usize = 10;

const SERVE: [&str; 4] = ["serve", "--dev", "--listen", "127.0.0.1:0"];

/// A server that is ready.
#[derive(Debug)]
pub(crate) struct Server {
    process: Process,
    pub(crate) address: SocketAddr,
    /// The time from its start to its ready line.
    pub(crate) started_in: Duration,
    // Kept open: the service continues to write, and the pipe must not be closed.
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts the service with its store in `data`.
    pub(crate) fn deskpass(workspace: &Workspace, data: &Path) -> Result<Self, BenchError> {
        Self::deskpass_with(workspace, data, &[])
    }

    /// Starts the service with additional settings.
    pub(crate) fn deskpass_with(
        workspace: &Workspace,
        data: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Self, BenchError> {
        let mut command = workspace.command(&workspace.deskpass);
        command.args(SERVE).arg("--data").arg(data).envs(settings.iter().copied());
        Self::start(workspace, command, b"").map_err(|failed| failed.during("deskpass did not start"))
    }

    /// Starts the service as a node of a shared backend, with additional settings.
    pub(crate) fn node(
        workspace: &Workspace,
        backend: &SharedBackend,
        settings: &[(&str, &str)],
    ) -> Result<Self, BenchError> {
        let mut command = workspace.command(&workspace.deskpass);
        command.args(SERVE).env("DESKPASS_STORE__URL", &backend.store).env("DESKPASS_SHARED__URL", &backend.shared);
        command.env("DESKPASS_STORE__CONNECTIONS", NODE_CONNECTIONS.to_string());
        command.env("DESKPASS_SHARED__PREFIX", backend.name).envs(settings.iter().copied());
        Self::start(workspace, command, b"").map_err(|failed| failed.during("a node did not start"))
    }

    /// Starts the bare handler with these responses.
    pub(crate) fn bare(workspace: &Workspace, answers: &ResponseTemplates) -> Result<Self, BenchError> {
        Self::baseline(workspace, &["bare".as_ref()], answers)
            .map_err(|failed| failed.during("the bare handler did not start"))
    }

    /// Starts the handler that looks sessions up in the store in `data`, with these responses.
    pub(crate) fn bare_look_up(
        workspace: &Workspace,
        data: &Path,
        answers: &ResponseTemplates,
    ) -> Result<Self, BenchError> {
        let database = data.join("deskpass.db");
        let arguments = ["bare-look-up".as_ref(), database.as_os_str()];
        let started = Self::baseline(workspace, &arguments, answers);
        started.map_err(|failed| failed.during("the handler that looks sessions up did not start"))
    }

    fn baseline(workspace: &Workspace, arguments: &[&OsStr], answers: &ResponseTemplates) -> Result<Self, BenchError> {
        let mut command = workspace.command(&workspace.bench);
        command.args(arguments);
        let line = serde_json::to_string(answers)? + "\n";
        Self::start(workspace, command, line.as_bytes())
    }

    fn start(workspace: &Workspace, mut command: Command, input: &[u8]) -> Result<Self, BenchError> {
        let log = OpenOptions::new().create(true).append(true).open(workspace.log())?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let start = now();
        let mut process = Process(command.spawn()?);
        if let Some(stdin) = &mut process.0.stdin {
            stdin.write_all(input)?;
        }
        let mut stdout = BufReader::new(process.0.stdout.take().ok_or("no standard output")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let started_in = start.elapsed();
        let address = line.trim_end().split_once("http://").and_then(|(_, address)| address.parse().ok());
        let address = address.ok_or_else(|| end_of(&workspace.log()))?;
        Ok(Self { process, address, started_in, _stdout: stdout })
    }

    /// Resident memory, in bytes.
    pub(crate) fn resident(&self) -> Result<usize, BenchError> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes: usize = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?.parse()?;
        Ok(kilobytes * 1024)
    }

    /// CPU time used so far.
    pub(crate) fn cpu(&self) -> Result<Duration, BenchError> {
        cpu(&self.process.0.id().to_string())
    }

    /// Stops the server and waits until it has exited, so that the next one finds a closed store.
    pub(crate) fn stop(mut self) -> Result<(), BenchError> {
        let process = self.process.0.id().to_string();
        let asked = Command::new("sh").args(["-c", "kill -TERM \"$1\"", "sh", &process]).status()?;
        if !asked.success() {
            return Err("cannot send a signal to the server".into());
        }
        self.process.0.wait()?;
        Ok(())
    }
}

/// A process that is killed when its handle is dropped, however the run ends.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail when the process has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The last lines of a log, in which a server that did not start gives the reason.
pub(crate) fn end_of(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines.get(lines.len().saturating_sub(10)..).unwrap_or_default().join("\n")
}

/// CPU time that a process (by id, or `self`) has used so far.
pub(crate) fn cpu(process: &str) -> Result<Duration, BenchError> {
    /// Linux reports times to programs in hundredths of a second, whatever its internal unit is.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name may contain any character; after its bracket come the state, ten numbers, then user and system time.
    let (_, fields) = stat.rsplit_once(')').ok_or("unreadable /proc stat")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u32>);
    Ok(ticks.sum::<Result<u32, _>>()? * TICK)
}
