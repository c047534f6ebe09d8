//! The nine o'clock rush: many employees who sign in within a few minutes, each with a socket and some checks of the
//! token.

mod crowd;
mod employee;
mod members;
mod usage;

use std::path::{Path, PathBuf};

use super::scale::{RECHECK_OFF, SYNC_OFF};
use super::sockets::CONNECTION_LIMITS;
use super::{Run, version};
use crate::arrivals::peak_rate;
use crate::backends::{Backends, SharedBackend, connect};
use crate::error::BenchError;
use crate::file_limit;
use crate::plan::RushPlan;
use crate::progress::grouped;
use crate::report::duration;
use crate::server::Server;
use crate::stats::{float, share};
use crate::step_times::Step;
use crowd::RushOutcome;
use members::{generate_members, store_members, synchronise};
use usage::{Usage, UsageSampler};

const EMBEDDED: &str = "one node, embedded";
const SHARED: &str = "one node, PostgreSQL and Redis";

impl Run<'_> {
    pub(super) async fn rush(&mut self) -> Result<(), BenchError> {
        // Each employee has a socket, and at most as many other connections.
        file_limit::raise(2 * self.plan.rush.employees);
        let directory = self.known_employees().await?;
        // First, because the other one adds sessions to the directory.
        self.shared_rush(&directory).await?;
        self.embedded_rush(&directory).await
    }

    /// A store with employees of the simulated platform, as it describes them, so that a sign-in changes nothing about
    /// them.
    async fn known_employees(&mut self) -> Result<PathBuf, BenchError> {
        let count = self.plan.rush.employees;
        self.progress.step(format_args!("store {} employees and synchronise them", grouped(count)));
        let directory = self.workspace.path().join("rush");
        Server::deskpass(&self.workspace, &directory)?.stop()?;
        store_members(&directory, count)?;
        let server = Server::deskpass(&self.workspace, &directory)?;
        self.report.version = version(&server).await?;
        generate_members(&server, count).await?;
        let result = synchronise(&self.workspace, &directory)?;
        if result.halted || result.updated.len() < count {
            return Err(format!("only {} of {count} employees were synchronised", result.updated.len()).into());
        }
        server.stop()?;
        Ok(directory)
    }

    async fn embedded_rush(&mut self, directory: &Path) -> Result<(), BenchError> {
        let before = directory_bytes(directory)?;
        let server = Server::deskpass_with(&self.workspace, directory, &settings())?;
        let signed_in = self.rush_at(EMBEDDED, &server).await?;
        server.stop()?;
        self.report_disk(EMBEDDED, directory_bytes(directory)?.saturating_sub(before), signed_in);
        Ok(())
    }

    async fn shared_rush(&mut self, directory: &Path) -> Result<(), BenchError> {
        self.progress.step("start PostgreSQL and Redis");
        let servers = Backends::start(&self.workspace, "rush-servers", &["postgres", "redis"])?;
        self.progress.step("copy the employees to PostgreSQL");
        let backend = SharedBackend::copied(&self.workspace, &servers, "rush", directory).await?;
        let before = database_bytes(&backend).await?;
        let node = Server::node(&self.workspace, &backend, &settings())?;
        let first = written_transactions(&backend).await?;
        let signed_in = self.rush_at(SHARED, &node).await?;
        let commits = written_transactions(&backend).await?.saturating_sub(first);
        node.stop()?;
        self.report_commits(commits, signed_in);
        self.report_disk(SHARED, database_bytes(&backend).await?.saturating_sub(before), signed_in);
        Ok(())
    }

    /// Lets all employees arrive; returns how many signed in.
    async fn rush_at(&mut self, place: &str, server: &Server) -> Result<usize, BenchError> {
        let plan = self.plan.rush;
        let (count, seconds) = (grouped(plan.employees), plan.period.as_secs());
        self.progress.step(format_args!("{place}: {count} employees sign in within {seconds} s"));
        generate_members(server, plan.employees).await?;
        let mut sampler = UsageSampler::start(server)?;
        let outcome = tokio::select! {
            outcome = crowd::gather(server.address, plan, &self.progress) => outcome?,
            failed = sampler.watch() => return Err(failed),
        };
        let usage = sampler.finish()?;
        Ok(self.report_rush(place, &outcome, &usage))
    }

    /// Reports the rates and the times; returns how many signed in.
    fn report_rush(&mut self, place: &str, outcome: &RushOutcome, usage: &Usage) -> usize {
        let RushPlan { employees, period, .. } = self.plan.rush;
        let signed_in = outcome.times.of(&Step::SIGN_IN, outcome.start);
        let (count, seconds, peak) = (grouped(employees), period.as_secs(), peak_rate(employees, period));
        let seen = format!("{count} arrive within {seconds} s, at most {peak:.0} in a second");
        let figure = format!("{}, at most {} in a second", grouped(signed_in.count), signed_in.busiest);
        self.report.figure(&format!("{place}: employees signed in"), &seen, &figure, None);
        for step in Step::ALL {
            let figures = outcome.times.of(&[step], outcome.start);
            let seen = format!("{} times, at most {} in a second", grouped(figures.count), figures.busiest);
            let figure = format!("{}, p99 {}", duration(figures.p50), duration(figures.p99));
            self.report.figure(&format!("{place}: {}", step.title()), &seen, &figure, None);
        }
        self.report_usage(place, outcome, usage, signed_in.count);
        signed_in.count
    }

    fn report_usage(&mut self, place: &str, outcome: &RushOutcome, usage: &Usage, signed_in: usize) {
        let each = duration(usage.cpu.as_secs_f64() / float(signed_in.max(1)));
        let seen = format!("at most {:.0} % of a core in a second", usage.busiest * 100.0);
        self.report.figure(&format!("{place}: processor time of an employee, all requests"), &seen, &each, None);

        let [before, most] = [usage.before, usage.most].map(|bytes| bytes >> 20);
        let grown = float(usage.most.saturating_sub(usage.before)) / float(signed_in.max(1)) / 1e3;
        let seen = format!("{before} MiB before; {} sockets at the end", grouped(outcome.sockets.len()));
        let figure = format!("at most {most} MiB, {grown:.1} kB for each employee");
        self.report.figure(&format!("{place}: memory of the service"), &seen, &figure, None);

        let mut delays = outcome.delays.clone();
        delays.sort_unstable();
        let late = format!("p99 {} late", duration(share(&delays, 99)));
        let seen = format!("{:.0} % of a core", usage.own * 100.0);
        self.report.figure(&format!("{place}: the generator itself"), &seen, &late, None);

        let (failures, of) = (outcome.failures, grouped(self.plan.rush.employees));
        let target = Some(("0", failures == 0));
        let name = format!("{place}: employees with an error");
        self.report.figure(&name, &format!("of {of}"), &grouped(failures), target);
        if let Some(example) = &outcome.example {
            eprintln!("{place}: one error was:\n{example}");
        }
    }

    fn report_commits(&mut self, commits: usize, signed_in: usize) {
        let each = float(commits) / float(signed_in.max(1));
        let seen = format!("{} transactions that wrote, and what the node wrote besides", grouped(commits));
        self.report.figure(&format!("{SHARED}: commits of a sign-in"), &seen, &format!("{each:.2}"), None);
    }

    fn report_disk(&mut self, place: &str, grown: usize, signed_in: usize) {
        let each = float(grown) / float(signed_in.max(1)) / 1e3;
        let seen = format!("{} MiB more: the session, and the row of the audit log", grown >> 20);
        self.report.figure(&format!("{place}: disk space of a sign-in"), &seen, &format!("{each:.1} kB"), None);
    }
}

/// The settings of the service: limits that admit all clients, which come from a few addresses, and no work in the
/// background that asks the simulated platform.
fn settings() -> Vec<(&'static str, &'static str)> {
    [CONNECTION_LIMITS.as_slice(), [RECHECK_OFF, SYNC_OFF].as_slice()].concat()
}

/// The size of all files in a directory.
fn directory_bytes(directory: &Path) -> Result<usize, BenchError> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        let found = entry?.metadata()?;
        if found.is_file() {
            bytes += found.len();
        }
    }
    Ok(usize::try_from(bytes)?)
}

/// How many transactions have written something, since the server was installed: those that only read get no number.
async fn written_transactions(backend: &SharedBackend) -> Result<usize, BenchError> {
    let client = connect(&backend.store).await?;
    let number: i64 = client.query_one("SELECT txid_current()", &[]).await?.try_get(0)?;
    Ok(usize::try_from(number)?)
}

/// The size of a database.
async fn database_bytes(backend: &SharedBackend) -> Result<usize, BenchError> {
    let client = connect(&backend.store).await?;
    let bytes: i64 = client.query_one("SELECT pg_database_size(current_database())", &[]).await?.try_get(0)?;
    Ok(usize::try_from(bytes)?)
}
