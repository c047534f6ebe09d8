//! Large stores: every list, search, count, sweep and explanation, first in SQLite and then in PostgreSQL. One store at a time is on the
//! disk.

mod call;
mod calls;
mod commands;
mod sweeps;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use deskpass_core::{EncryptionKeys, KeyBytes};
use deskpass_store::{ChainKeys, Location, PostgresSettings};
use rustix::fs::statvfs;
use tokio::time::sleep;

use super::{Run, version};
use crate::backends::{Backends, SharedBackend};
use crate::error::BenchError;
use crate::progress::grouped;
use crate::scale_seed::Loader;
use crate::seed;
use crate::server::{NODE_CONNECTIONS, Server};
use crate::stats::now;
use crate::workspace::Workspace;

/// The encryption key of the stores: the numbers from 0 to 31.
const KEY: KeyBytes = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
    31,
];

/// The simulated platform does not know these employees, so it is not asked about them.
pub(super) const RECHECK_OFF: (&str, &str) = ("DESKPASS_RECHECK__PERIOD", "0");
pub(super) const SYNC_OFF: (&str, &str) = ("DESKPASS_SYNC__PERIOD", "0");

/// The settings of the service. The first is the key, in base64.
const SETTINGS: [(&str, &str); 3] =
    [("DESKPASS_ENCRYPTION_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="), RECHECK_OFF, SYNC_OFF];

/// The service is idle when it has used little of a processor for so many seconds in a row.
const IDLE_SECONDS: u64 = 3;
const IDLE_CPU: Duration = Duration::from_millis(100);
/// How long the measurement waits for that.
const IDLE_TIMEOUT: Duration = Duration::from_mins(15);

/// Where a large store is.
#[derive(Debug)]
enum Place {
    Embedded(PathBuf),
    Shared(SharedBackend),
}

impl Place {
    const fn title(&self) -> &'static str {
        match self {
            Self::Embedded(_) => "SQLite",
            Self::Shared(_) => "PostgreSQL",
        }
    }

    fn location(&self) -> Location {
        match self {
            Self::Embedded(directory) => Location::Embedded(directory.clone()),
            Self::Shared(backend) => {
                let settings = PostgresSettings::new(backend.store.clone());
                Location::Postgres(PostgresSettings { connections: NODE_CONNECTIONS, ..settings })
            }
        }
    }

    async fn loader(&self) -> Result<Loader, BenchError> {
        match self {
            Self::Embedded(directory) => Loader::sqlite(directory),
            Self::Shared(backend) => Loader::postgres(&backend.store).await,
        }
    }

    fn serve(&self, workspace: &Workspace) -> Result<Server, BenchError> {
        match self {
            Self::Embedded(directory) => Server::deskpass_with(workspace, directory, &SETTINGS),
            Self::Shared(backend) => Server::node(workspace, backend, &SETTINGS),
        }
    }

    /// A command of the program for this store.
    fn command(&self, workspace: &Workspace) -> Command {
        let mut command = workspace.command(&workspace.deskpass);
        command.envs(SETTINGS);
        match self {
            Self::Embedded(directory) => command.env("DESKPASS_DATA", directory),
            Self::Shared(backend) => command
                .env("DESKPASS_STORE__URL", &backend.store)
                .env("DESKPASS_SHARED__URL", &backend.shared)
                .env("DESKPASS_SHARED__PREFIX", backend.name),
        };
        command
    }
}

impl Run<'_> {
    pub(super) async fn scale(&mut self) -> Result<(), BenchError> {
        self.require_disk_space()?;
        self.ten_nodes().await?;
        let directory = self.workspace.path().join("scale");
        self.large_store(&Place::Embedded(directory.clone())).await?;
        std::fs::remove_dir_all(&directory)?;
        self.progress.step("start PostgreSQL and Redis");
        // They remove their data when they are dropped.
        let servers = Backends::start(&self.workspace, "scale-servers", &["postgres", "redis"])?;
        let backend = SharedBackend::empty(&servers, "scale").await?;
        self.large_store(&Place::Shared(backend)).await
    }

    /// Reports how much disk space a store needs; fails if there is less.
    fn require_disk_space(&self) -> Result<(), BenchError> {
        let path = self.workspace.path();
        let disk = statvfs(path)?;
        let (needed, free) = (self.plan.scale.disk_bytes(), disk.f_bavail.saturating_mul(disk.f_frsize));
        let megabytes = |bytes: u64| grouped(usize::try_from(bytes / 1_000_000).unwrap_or(usize::MAX));
        let (needs, has) = (megabytes(needed), megabytes(free));
        self.progress.step(format_args!("a store needs up to {needs} MB in {}; {has} MB are free", path.display()));
        if free < needed { Err("there is not enough disk space".into()) } else { Ok(()) }
    }

    async fn large_store(&mut self, place: &Place) -> Result<(), BenchError> {
        let (moment, keys) = (seed::now(), ChainKeys::new(&EncryptionKeys::one(KEY)));
        // The service creates the tables.
        place.serve(&self.workspace)?.stop()?;
        place.loader().await?.fill(self.plan.scale, moment, &keys, &self.progress).await?;
        // Before the service starts, which would sweep at once.
        self.sweeps(place, moment, &keys).await?;
        let server = self.idle_service(place).await?;
        self.calls(place, &server, moment).await?;
        self.commands(place, &server).await?;
        server.stop()
    }

    /// Starts the service, and waits until the work that it does at its start is done.
    async fn idle_service(&mut self, place: &Place) -> Result<Server, BenchError> {
        let title = place.title();
        self.progress.step(format_args!("{title}: start the service, until it is idle"));
        let server = place.serve(&self.workspace)?;
        self.report.version = version(&server).await?;
        let (began, mut idle) = (now(), 0);
        while idle < IDLE_SECONDS && began.elapsed() < IDLE_TIMEOUT {
            let before = server.cpu()?;
            sleep(Duration::from_secs(1)).await;
            idle = if server.cpu()?.saturating_sub(before) < IDLE_CPU { idle + 1 } else { 0 };
        }
        let sessions = grouped(self.plan.scale.sessions);
        let started = format!("{:.3} s", server.started_in.as_secs_f64());
        self.report.figure(&format!("{title}: start with {sessions} sessions stored"), "one start", &started, None);
        let busy = format!("{} s", began.elapsed().as_secs().saturating_sub(IDLE_SECONDS));
        self.report.figure(&format!("{title}: work after the start"), "one start", &busy, None);
        Ok(server)
    }
}
