//! The order of a run.

mod flood;
mod logout;
mod qr;
mod scaled_out;
mod sockets;

use std::sync::Arc;

use crate::bare::{Answers, Template};
use crate::commits::Commits;
use crate::connection::Connection;
use crate::duel::Duel;
use crate::failed::Failed;
use crate::load::Load;
use crate::plan::{BOUND, Group, Plan, SESSION_BYTES, SESSIONS_EACH, SIGN_IN_RATIO, START_SECONDS};
use crate::progress::{Progress, grouped};
use crate::report::Report;
use crate::requests::{Requests, Words, get};
use crate::seed::{self, Layout, Seeded, seed};
use crate::server::Server;
use crate::stats::{float, median, now};
use crate::yard::Yard;

/// Draws made in advance: more than a run of rounds uses up.
const DRAWS: usize = 1 << 20;

const FILL: &str = "verify every session once, so that the cache has seen it";

/// What stands beside the service wherever it is asked something.
const BARE: &str = "bare axum handler";

/// Bytes that answers may differ in: a request's number or a session's seconds gained or lost a digit.
const DIGITS: usize = 4;

struct Run<'a> {
    plan: &'a Plan,
    yard: Yard,
    progress: Progress,
    report: Report,
}

/// Measures everything of a group.
pub(crate) async fn run(plan: &Plan, group: Group) -> Result<Report, Failed> {
    let start = now();
    let began = jiff::Timestamp::from_millisecond(seed::now().millis())?;
    let date = began.strftime("%Y-%m-%d %H:%M UTC").to_string();
    let report = Report::new(group, date, plan.quick);
    let mut run = Run { plan, yard: Yard::open()?, progress: Progress::new(group.steps()), report };
    match group {
        Group::Embedded => run.embedded().await?,
        Group::ScaledOut => run.scaled_out().await?,
        Group::Sockets => run.sockets().await?,
    }
    run.report.took = start.elapsed();
    Ok(run.report)
}

impl Run<'_> {
    async fn embedded(&mut self) -> Result<(), Failed> {
        self.small().await?;
        self.large().await?;
        self.worst().await?;
        self.sign_ins().await?;
        self.qr().await?;
        self.flood().await
    }

    async fn small(&mut self) -> Result<(), Failed> {
        let size = self.plan.small;
        let layout = Layout { employees: size.sessions / SESSIONS_EACH, sessions: size.sessions };
        let store = seed(&self.yard, "small", layout, &self.progress)?;
        let server = Server::deskpass(&self.yard, &store.directory)?;
        self.report.version = version(&server).await?;
        self.fill(&server, &store.tokens).await?;
        self.checks([Some(size.ratio); 2], &server, &store.tokens).await?;
        server.stop()
    }

    async fn large(&mut self) -> Result<(), Failed> {
        let size = self.plan.large;
        let layout = Layout { employees: size.sessions / SESSIONS_EACH, sessions: size.sessions };
        let store = seed(&self.yard, "large", layout, &self.progress)?;
        self.starts(&store)?;
        let server = Server::deskpass(&self.yard, &store.directory)?;
        let bytes = self.memory(&server, &store.tokens, "memory of a cached session, 10 of each employee").await?;
        let target = Some((&*format!("{SESSION_BYTES} B"), bytes.each <= SESSION_BYTES));
        self.report.figure(&bytes.name, &bytes.seen, &format!("{:.0} B", bytes.each), target);
        self.checks([Some(size.ratio); 2], &server, &store.tokens).await?;
        server.stop()
    }

    /// Every session has an employee of its own in the cache.
    async fn worst(&mut self) -> Result<(), Failed> {
        let sessions = self.plan.large.sessions;
        let store = seed(&self.yard, "worst", Layout { employees: sessions, sessions }, &self.progress)?;
        let server = Server::deskpass(&self.yard, &store.directory)?;
        let bytes =
            self.memory(&server, &store.tokens, "memory of a cached session, 1 of each employee (worst case)").await?;
        self.report.figure(&bytes.name, &bytes.seen, &format!("{:.0} B", bytes.each), None);
        server.stop()
    }

    /// Times the service's start.
    fn starts(&mut self, store: &Seeded) -> Result<(), Failed> {
        let (starts, sessions) = (self.plan.starts, grouped(store.tokens.len()));
        self.progress.step(format_args!("start with {sessions} sessions stored"));
        let mut times = Vec::with_capacity(starts);
        for start in 1..=starts {
            let server = Server::deskpass(&self.yard, &store.directory)?;
            times.push(server.started_in.as_secs_f64());
            server.stop()?;
            self.progress.at("start", start, starts);
        }
        let (median, name) = (median(times.into_iter()), format!("start with {sessions} sessions stored"));
        let target = Some((&*format!("{START_SECONDS} s"), median <= START_SECONDS));
        self.report.figure(&name, &format!("median of {starts}"), &format!("{median:.3} s"), target);
        Ok(())
    }

    /// What the cache takes when it holds every session.
    async fn memory(&mut self, server: &Server, tokens: &Words, name: &str) -> Result<Memory, Failed> {
        let before = server.resident()?;
        self.fill(server, tokens).await?;
        // Asking for the figures folds them up too, so that what the fill left of them is not taken for the cache.
        let cached = cached_sessions(server).await?;
        let grown = server.resident()?.saturating_sub(before);
        let seen = format!("{} MiB for {} cached", grown >> 20, grouped(cached));
        Ok(Memory { name: name.to_owned(), seen, each: float(grown) / float(cached.max(1)) })
    }

    /// Lets the service see every session once.
    async fn fill(&mut self, server: &Server, tokens: &Words) -> Result<(), Failed> {
        self.progress.step(FILL);
        self.show(server, tokens).await
    }

    async fn show(&self, server: &Server, tokens: &Words) -> Result<(), Failed> {
        let load = Load::new(Arc::new(Requests::verify(tokens.clone())));
        load.all(server, "session", &self.progress).await
    }

    /// Holds the two checks that everything else makes, verify and me, against a bare handler.
    async fn checks(&mut self, targets: [Option<f64>; 2], server: &Server, tokens: &Words) -> Result<(), Failed> {
        let sessions = grouped(tokens.len());
        let drawn = tokens.drawn(DRAWS);
        let (verify, me) = (Arc::new(Requests::verify(drawn.clone())), Arc::new(Requests::me(drawn)));
        let (verified, told) = (template(server, &verify).await?.0, template(server, &me).await?.0);
        let bare = Server::bare(&self.yard, &Answers { verify: verified, me: told, ..Answers::default() })?;
        for ((name, requests), target) in [("verify", verify), ("me", me)].into_iter().zip(targets) {
            same_size(server, &bare, &requests, DIGITS).await?;
            let duel = Duel::new(format!("{name}, {sessions} live sessions"), BARE, target);
            let duel = self.against(duel, server, &bare, requests).await?;
            self.report.duel(duel);
        }
        bare.stop()
    }

    /// Lets both sides answer the same requests.
    async fn against(
        &self,
        duel: Duel,
        server: &Server,
        bare: &Server,
        requests: Arc<Requests>,
    ) -> Result<Duel, Failed> {
        self.between(duel, &[server], &[bare], requests).await
    }

    /// Lets both sides answer the same requests, each with all its servers.
    async fn between(
        &self,
        duel: Duel,
        ours: &[&Server],
        theirs: &[&Server],
        requests: Arc<Requests>,
    ) -> Result<Duel, Failed> {
        let (our, their, length) = (Load::new(Arc::clone(&requests)), Load::new(requests), self.plan.round);
        let (ours, theirs) = (async || our.round(ours, length).await, async || their.round(theirs, length).await);
        duel.fight(self.plan, &self.progress, ours, theirs).await
    }

    async fn sign_ins(&mut self) -> Result<(), Failed> {
        let layout = Layout { employees: BOUND, sessions: 0 };
        let ours = seed(&self.yard, "sign-ins", layout, &self.progress)?;
        let theirs = seed(&self.yard, "sign-ins-alone", layout, &self.progress)?;
        let server = Server::deskpass(&self.yard, &ours.directory)?;
        let load = Load::new(Arc::new(Requests::bind(seed::employees(BOUND).drawn(DRAWS))));
        let mut commits = Commits::open(&theirs.directory)?;
        let (plan, duel) = (self.plan, Duel::new("sign-ins (bind)".into(), "SQLite alone", Some(SIGN_IN_RATIO)));
        let (ours, theirs) = (async || load.round(&[&server], plan.round).await, async || commits.round(plan.round));
        self.report.duel(duel.fight(plan, &self.progress, ours, theirs).await?);
        server.stop()
    }
}

/// What sessions in the cache take.
struct Memory {
    name: String,
    seen: String,
    each: f64,
}

/// How the server answers the first of these requests, and how many bytes that takes.
async fn template(server: &Server, requests: &Requests) -> Result<(Template, usize), Failed> {
    let (mut connection, mut request) = (Connection::open(server.address).await?, Vec::new());
    requests.write(0, &mut request);
    let answer = connection.exchange(&request).await?;
    if !requests.accepts(answer) {
        return Err(format!("not the answer to measure:\n{}", answer.text()).into());
    }
    Ok((Template::of(answer), answer.len()))
}

/// Makes sure that both sides put as much on the wire, or nearly.
async fn same_size(server: &Server, bare: &Server, requests: &Requests, nearly: usize) -> Result<(), Failed> {
    let (ours, theirs) = (template(server, requests).await?.1, template(bare, requests).await?.1);
    if ours.abs_diff(theirs) > nearly {
        return Err(format!("the service answers {ours} bytes, the bare handler {theirs}").into());
    }
    Ok(())
}

/// What the service says it is.
async fn version(server: &Server) -> Result<String, Failed> {
    let mut connection = Connection::open(server.address).await?;
    let answer: serde_json::Value = serde_json::from_slice(connection.exchange(&get("/api/version")).await?.body())?;
    let word = |name: &str| answer.pointer(&format!("/data/{name}")).and_then(serde_json::Value::as_str);
    let (version, commit) = (word("version").unwrap_or("unknown"), word("commit").unwrap_or("unknown"));
    Ok(format!("deskpass {version}, commit {commit}"))
}

/// How many sessions the service says it has in its cache.
async fn cached_sessions(server: &Server) -> Result<usize, Failed> {
    let mut connection = Connection::open(server.address).await?;
    let figures = connection.exchange(&get("/metrics")).await?.text();
    let line = figures.lines().find_map(|line| line.strip_prefix("deskpass_cached_sessions "));
    Ok(line.ok_or("no deskpass_cached_sessions among the figures")?.trim().parse()?)
}
