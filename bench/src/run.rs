//! The sequence of a run.

mod cache;
mod embedded_misses;
mod flood;
mod logout;
mod oidc;
mod oidc_logout;
mod people;
mod qr;
mod qr_memory;
mod rush;
mod scale;
mod scaled_out;
mod sockets;
mod ten_nodes;
mod two_baselines;

use std::path::Path;
use std::sync::Arc;

use crate::bare_handler::{ResponseTemplate, ResponseTemplates};
use crate::comparison::Comparison;
use crate::connection::Connection;
use crate::error::BenchError;
use crate::load::Load;
use crate::plan::{
    Group, LARGE_VERIFY_RATIO, LONE_SESSION_BYTES, Plan, SESSION_BYTES, SESSIONS_EACH, SIGN_IN_EMPLOYEES,
    SIGN_IN_RATIO, START_SECONDS,
};
use crate::progress::{Progress, grouped};
use crate::report::Report;
use crate::requests::{Requests, WordList, get};
use crate::seed::{self, Layout, seed};
use crate::server::Server;
use crate::sqlite_baseline::SqliteBaseline;
use crate::stats::{float, median, now};
use crate::workspace::Workspace;

/// The number of random draws made in advance. After the last, the load starts over.
const DRAWS: usize = 1 << 20;

const FILL: &str = "verify every session once, so that the cache has seen it";

/// The smallest session cache that a node accepts.
const SMALL_CACHE: (&str, &str) = ("DESKPASS_SESSION__CACHE_ENTRIES", "1000");

/// The baseline of all comparisons of HTTP requests.
const BARE: &str = "bare axum handler";

/// The bytes by which responses may differ: a request id or a session's remaining seconds may gain or lose a digit.
const SIZE_TOLERANCE_BYTES: usize = 4;

struct Run<'a> {
    plan: &'a Plan,
    workspace: Workspace,
    progress: Progress,
    report: Report,
}

/// Measures a group.
pub(crate) async fn run(plan: &Plan, group: Group) -> Result<Report, BenchError> {
    let start = now();
    let began = jiff::Timestamp::from_millisecond(seed::now().millis())?;
    let date = began.strftime("%Y-%m-%d %H:%M UTC").to_string();
    let report = Report::new(group, date, plan.quick);
    let mut run = Run { plan, workspace: Workspace::open()?, progress: Progress::new(group.steps()), report };
    match group {
        Group::Embedded => run.embedded().await?,
        Group::ScaledOut => run.scaled_out().await?,
        Group::Sockets => run.sockets().await?,
        Group::Oidc => run.oidc().await?,
        Group::People => run.people().await?,
        Group::Rush => run.rush().await?,
        Group::Cache => run.cache().await?,
        Group::Scale => run.scale().await?,
    }
    run.report.took = start.elapsed();
    Ok(run.report)
}

impl Run<'_> {
    async fn embedded(&mut self) -> Result<(), BenchError> {
        self.small().await?;
        self.large().await?;
        self.worst().await?;
        self.sign_ins().await?;
        self.qr().await?;
        self.qr_memory().await?;
        self.flood().await
    }

    async fn small(&mut self) -> Result<(), BenchError> {
        let size = self.plan.small;
        let layout = Layout { employees: size.sessions / SESSIONS_EACH, sessions: size.sessions };
        let store = seed(&self.workspace, "small", layout, &self.progress)?;
        let server = Server::deskpass(&self.workspace, &store.directory)?;
        self.report.version = version(&server).await?;
        self.fill(&server, &store.tokens).await?;
        self.checks_beside_hyper(size.ratio, &server, &store.tokens).await?;
        server.stop()?;
        self.embedded_misses(&store).await
    }

    async fn large(&mut self) -> Result<(), BenchError> {
        let size = self.plan.large;
        let layout = Layout { employees: size.sessions / SESSIONS_EACH, sessions: size.sessions };
        let store = seed(&self.workspace, "large", layout, &self.progress)?;
        self.starts(&store.directory, store.tokens.len())?;
        let server = Server::deskpass(&self.workspace, &store.directory)?;
        let bytes = self.memory(&server, &store.tokens, "memory of a cached session, 10 of each employee").await?;
        self.memory_figure(&bytes, SESSION_BYTES);
        self.checks([Some(LARGE_VERIFY_RATIO), Some(size.ratio)], &server, &store.tokens).await?;
        server.stop()
    }

    /// The worst case: every cached session belongs to a different employee.
    async fn worst(&mut self) -> Result<(), BenchError> {
        let sessions = self.plan.large.sessions;
        let store = seed(&self.workspace, "worst", Layout { employees: sessions, sessions }, &self.progress)?;
        let server = Server::deskpass(&self.workspace, &store.directory)?;
        let bytes =
            self.memory(&server, &store.tokens, "memory of a cached session, 1 of each employee (worst case)").await?;
        self.memory_figure(&bytes, LONE_SESSION_BYTES);
        server.stop()
    }

    fn memory_figure(&mut self, bytes: &Memory, target: f64) {
        let target = Some((&*format!("{target} B"), bytes.each <= target));
        self.report.figure(&bytes.name, &bytes.seen, &format!("{:.0} B", bytes.each), target);
    }

    /// Measures the start-up time of the service.
    fn starts(&mut self, directory: &Path, sessions: usize) -> Result<(), BenchError> {
        let (starts, sessions) = (self.plan.starts, grouped(sessions));
        self.progress.step(format_args!("start with {sessions} sessions stored"));
        let mut times = Vec::with_capacity(starts);
        for start in 1..=starts {
            let server = Server::deskpass(&self.workspace, directory)?;
            times.push(server.started_in.as_secs_f64());
            server.stop()?;
            self.progress.at("start", start, starts);
        }
        let (median, name) = (median(times.into_iter()), format!("start with {sessions} sessions stored"));
        let target = Some((&*format!("{START_SECONDS} s"), median <= START_SECONDS));
        self.report.figure(&name, &format!("median of {starts}"), &format!("{median:.3} s"), target);
        Ok(())
    }

    /// Measures the memory of the cache when it holds every session.
    async fn memory(&mut self, server: &Server, tokens: &WordList, name: &str) -> Result<Memory, BenchError> {
        let before = server.resident()?;
        self.fill(server, tokens).await?;
        let cached = cached_sessions(server).await?;
        let grown = server.resident()?.saturating_sub(before);
        let seen = format!("{} MiB for {} cached", grown >> 20, grouped(cached));
        Ok(Memory { name: name.to_owned(), seen, each: float(grown) / float(cached.max(1)) })
    }

    /// Makes the service load every session once.
    async fn fill(&mut self, server: &Server, tokens: &WordList) -> Result<(), BenchError> {
        self.progress.step(FILL);
        self.show(server, tokens).await
    }

    async fn show(&self, server: &Server, tokens: &WordList) -> Result<(), BenchError> {
        let load = Load::new(Arc::new(Requests::verify(tokens.clone())));
        load.all(server, "session", &self.progress).await
    }

    /// Compares the two most frequent checks, verify and me, with a bare handler.
    async fn checks(
        &mut self,
        targets: [Option<f64>; 2],
        server: &Server,
        tokens: &WordList,
    ) -> Result<(), BenchError> {
        let sessions = grouped(tokens.len());
        let drawn = tokens.drawn(DRAWS);
        let (verify, me) = (Arc::new(Requests::verify(drawn.clone())), Arc::new(Requests::me(drawn)));
        let (verified, told) = (template(server, &verify).await?.0, template(server, &me).await?.0);
        let bare = Server::bare(
            &self.workspace,
            &ResponseTemplates { verify: verified, me: told, ..ResponseTemplates::default() },
        )?;
        for ((name, requests), target) in [("verify", verify), ("me", me)].into_iter().zip(targets) {
            same_size(server, &bare, &requests, SIZE_TOLERANCE_BYTES).await?;
            let comparison = Comparison::new(format!("{name}, {sessions} live sessions"), BARE, target);
            let comparison = self.against(comparison, server, &bare, requests).await?;
            self.report.add_comparison(comparison);
        }
        bare.stop()
    }

    /// Measures both sides with the same requests.
    async fn against(
        &self,
        comparison: Comparison,
        server: &Server,
        bare: &Server,
        requests: Arc<Requests>,
    ) -> Result<Comparison, BenchError> {
        self.between(comparison, &[server], &[bare], requests).await
    }

    /// Measures both sides with the same requests, each with all its servers.
    async fn between(
        &self,
        comparison: Comparison,
        ours: &[&Server],
        theirs: &[&Server],
        requests: Arc<Requests>,
    ) -> Result<Comparison, BenchError> {
        let (our, their) = (Load::new(Arc::clone(&requests)), Load::new(requests));
        let (ours, theirs) =
            (async |length| our.round(ours, length).await, async |length| their.round(theirs, length).await);
        comparison.run(self.plan.short, &self.progress, ours, theirs).await
    }

    async fn sign_ins(&mut self) -> Result<(), BenchError> {
        let layout = Layout { employees: SIGN_IN_EMPLOYEES, sessions: 0 };
        let ours = seed(&self.workspace, "sign-ins", layout, &self.progress)?;
        let theirs = seed(&self.workspace, "sign-ins-alone", layout, &self.progress)?;
        let server = Server::deskpass(&self.workspace, &ours.directory)?;
        let load = Load::new(Arc::new(Requests::bind(seed::employees(SIGN_IN_EMPLOYEES).drawn(DRAWS))));
        let mut commits = SqliteBaseline::open(&theirs.directory)?;
        let comparison = Comparison::new("sign-ins (bind)".into(), "SQLite alone", Some(SIGN_IN_RATIO));
        let (ours, theirs) =
            (async |length| load.round(&[&server], length).await, async |length| commits.round(length));
        self.report.add_comparison(comparison.run(self.plan.long, &self.progress, ours, theirs).await?);
        server.stop()
    }
}

/// The memory of cached sessions.
struct Memory {
    name: String,
    seen: String,
    each: f64,
}

/// The server's response to the first of these requests, and its size in bytes.
async fn template(server: &Server, requests: &Requests) -> Result<(ResponseTemplate, usize), BenchError> {
    let (mut connection, mut request) = (Connection::open(server.address).await?, Vec::new());
    requests.write(0, &mut request);
    let answer = connection.exchange(&request).await?;
    if !requests.accepts(answer) {
        return Err(format!("not the answer to measure:\n{}", answer.text()).into());
    }
    Ok((ResponseTemplate::of(answer), answer.len()))
}

/// Checks that both sides send responses of about the same size.
async fn same_size(server: &Server, bare: &Server, requests: &Requests, nearly: usize) -> Result<(), BenchError> {
    let (ours, theirs) = (template(server, requests).await?.1, template(bare, requests).await?.1);
    if ours.abs_diff(theirs) > nearly {
        return Err(format!("the service answers {ours} bytes, the bare handler {theirs}").into());
    }
    Ok(())
}

/// The version that the service reports.
async fn version(server: &Server) -> Result<String, BenchError> {
    let mut connection = Connection::open(server.address).await?;
    let answer: serde_json::Value = serde_json::from_slice(connection.exchange(&get("/api/version")).await?.body())?;
    let word = |name: &str| answer.pointer(&format!("/data/{name}")).and_then(serde_json::Value::as_str);
    let (version, commit) = (word("version").unwrap_or("unknown"), word("commit").unwrap_or("unknown"));
    Ok(format!("deskpass {version}, commit {commit}"))
}

/// The number of cached sessions that the service reports.
async fn cached_sessions(server: &Server) -> Result<usize, BenchError> {
    metric(server, "deskpass_cached_sessions").await
}

/// A number without labels that the service reports.
async fn metric(server: &Server, name: &str) -> Result<usize, BenchError> {
    let mut connection = Connection::open(server.address).await?;
    let figures = connection.exchange(&get("/metrics")).await?.text();
    let line = figures.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let value = line.ok_or_else(|| format!("no {name} among the figures"))?.trim();
    // A gauge has a fraction.
    Ok(value.strip_suffix(".0").unwrap_or(value).parse()?)
}
