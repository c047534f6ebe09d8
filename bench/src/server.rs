//! A server in a process of its own: started, looked at from outside, stopped.

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

/// Connections to PostgreSQL that a node has.
pub(crate) const NODE_CONNECTIONS: usize = 10;

const SERVE: [&str; 4] = ["serve", "--dev", "--listen", "127.0.0.1:0"];

/// A server that is ready.
#[derive(Debug)]
pub(crate) struct Server {
    process: Process,
    pub(crate) address: SocketAddr,
    /// From its start to its ready line.
    pub(crate) started_in: Duration,
    // Kept open: the service goes on writing, and must not find the pipe closed.
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// The service, with its store in `data`.
    pub(crate) fn deskpass(workspace: &Workspace, data: &Path) -> Result<Self, BenchError> {
        Self::deskpass_with(workspace, data, &[])
    }

    /// The same with these settings besides.
    pub(crate) fn deskpass_with(
        workspace: &Workspace,
        data: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Self, BenchError> {
        let mut command = workspace.command(&workspace.deskpass);
        command.args(SERVE).arg("--data").arg(data).envs(settings.iter().copied());
        Self::start(workspace, command, b"").map_err(|failed| failed.during("deskpass did not start"))
    }

    /// The service as a node of a desk, with these settings besides.
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

    /// The bare handler, giving these answers.
    pub(crate) fn bare(workspace: &Workspace, answers: &ResponseTemplates) -> Result<Self, BenchError> {
        let mut command = workspace.command(&workspace.bench);
        command.arg("bare");
        let line = serde_json::to_string(answers)? + "\n";
        Self::start(workspace, command, line.as_bytes())
            .map_err(|failed| failed.during("the bare handler did not start"))
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

    /// Processor time used so far.
    pub(crate) fn cpu(&self) -> Result<Duration, BenchError> {
        cpu(&self.process.0.id().to_string())
    }

    /// Asks it to leave and waits until it has, so that the next one finds a closed store.
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

/// A process that ends with its handle, however the run goes.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail when it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The last lines of a log, where whoever did not start says why.
pub(crate) fn end_of(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines.get(lines.len().saturating_sub(10)..).unwrap_or_default().join("\n")
}

/// Processor time that a process (by number, or `self`) has used so far.
pub(crate) fn cpu(process: &str) -> Result<Duration, BenchError> {
    /// Linux shows times to programs in hundredths of a second, whatever it counts in itself.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name may hold anything; behind its bracket come state, ten numbers, then user and system time.
    let (_, fields) = stat.rsplit_once(')').ok_or("unreadable /proc stat")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u32>);
    Ok(ticks.sum::<Result<u32, _>>()? * TICK)
}
