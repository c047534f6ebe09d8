//! PostgreSQL and Redis servers of the run, and the data that nodes share on them.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tokio_postgres::{Client, NoTls};
use url::Url;

use crate::error::BenchError;
use crate::server::end_of;
use crate::workspace::Workspace;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/servers");

/// Backends that run until this value is dropped.
#[derive(Debug)]
pub(crate) struct Backends {
    script: Child,
    // An option, so that `drop` can close it: that tells the script to exit.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    urls: Vec<String>,
}

impl Backends {
    /// Starts each of `which`: `postgres`, `redis`. PostgreSQL commits to disk, as in production.
    pub(crate) fn start(workspace: &Workspace, name: &str, which: &[&str]) -> Result<Self, BenchError> {
        let log = OpenOptions::new().create(true).append(true).open(workspace.log())?;
        let mut command = Command::new(SCRIPT);
        command.arg(workspace.path().join(name)).args(which).env("SYNC", "on").current_dir(workspace.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut script = command.spawn().map_err(|error| BenchError::from(error).during(SCRIPT))?;
        let orders = script.stdin.take();
        let answers = BufReader::new(script.stdout.take().ok_or("no standard output")?);
        let mut servers = Self { script, orders, answers, urls: Vec::new() };
        for _ in which {
            let line = servers.answer().ok_or_else(|| end_of(&workspace.log()))?;
            servers.urls.extend(line.split_whitespace().next().map(str::to_owned));
        }
        Ok(servers)
    }

    /// Kills a server and returns when it is gone.
    pub(crate) fn kill(&mut self, server: &str) -> Result<(), BenchError> {
        let orders = self.orders.as_mut().ok_or("the worker has stopped")?;
        writeln!(orders, "stop {server}")?;
        self.answer().map(drop).ok_or_else(|| format!("{server} cannot be killed").into())
    }

    /// Stops a server and starts it again at the same address.
    pub(crate) fn restart(&mut self, server: &str) -> Result<(), BenchError> {
        self.kill(server)?;
        let orders = self.orders.as_mut().ok_or("the worker has stopped")?;
        writeln!(orders, "start {server}")?;
        self.answer().map(drop).ok_or_else(|| format!("{server} does not start again").into())
    }

    /// The URL of the server of this kind.
    pub(crate) fn url(&self, kind: &str) -> Result<&str, BenchError> {
        let found = self.urls.iter().find(|url| url.split(':').next() == Some(kind));
        Ok(found.ok_or_else(|| format!("there is no {kind}"))?)
    }

    /// The next line, if any.
    fn answer(&mut self) -> Option<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).ok().filter(|length| *length > 0).map(|_| line)
    }
}

impl Drop for Backends {
    fn drop(&mut self) {
        drop(self.orders.take());
        // The script stops the servers; whether it has exited already does not matter.
        let _ = self.script.wait();
    }
}

/// The data that nodes share: a database and a part of Redis, both with the same name.
#[derive(Clone, Debug)]
pub(crate) struct SharedBackend {
    pub(crate) name: &'static str,
    pub(crate) store: String,
    pub(crate) shared: String,
}

impl SharedBackend {
    /// Creates a shared backend without data and tables. Texts are compared by their bytes, as the documentation recommends.
    pub(crate) async fn empty(servers: &Backends, name: &'static str) -> Result<Self, BenchError> {
        let mut store = Url::parse(servers.url("postgres")?)?;
        let text =
            format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'");
        connect(store.as_str()).await?.batch_execute(&text).await?;
        store.set_path(name);
        Ok(Self { name, store: store.into(), shared: servers.url("redis")?.to_owned() })
    }

    /// Creates a shared backend with all data of an embedded store.
    pub(crate) async fn copied(
        workspace: &Workspace,
        servers: &Backends,
        name: &'static str,
        from: &Path,
    ) -> Result<Self, BenchError> {
        let mut store = Url::parse(servers.url("postgres")?)?;
        connect(store.as_str()).await?.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        store.set_path(name);
        let mut command = workspace.command(&workspace.deskpass);
        command.args(["copy", "--dev", "--to", store.as_str(), "--from"]).arg(format!("sqlite:{}", from.display()));
        let copied = command.output()?;
        if !copied.status.success() {
            return Err(BenchError(String::from_utf8_lossy(&copied.stderr).into_owned()).during("deskpass copy"));
        }
        let client = connect(store.as_str()).await?;
        // Vacuumed and on disk, so that no background work disturbs the measurement.
        for errand in ["VACUUM ANALYZE", "CHECKPOINT"] {
            client.batch_execute(errand).await?;
        }
        Ok(Self { name, store: store.into(), shared: servers.url("redis")?.to_owned() })
    }
}

/// A connection to PostgreSQL that lives as long as its client.
pub(crate) async fn connect(url: &str) -> Result<Client, BenchError> {
    let (client, driver) = tokio_postgres::connect(url, NoTls).await?;
    drop(tokio::spawn(driver));
    Ok(client)
}
