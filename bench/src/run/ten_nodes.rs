//! Ten nodes on one PostgreSQL and one Redis, beside the formulas of the documentation: connections, reads of the journal and commands of
//! Redis, idle and under load, and the time until a logout counts everywhere.

mod observer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{interval, sleep};

use super::ends::is_valid;
use super::scale::{RECHECK_OFF, SYNC_OFF};
use super::{Run, version};
use crate::backends::{Backends, connect};
use crate::connection::Connection;
use crate::error::BenchError;
use crate::plan::{END_SECONDS, SESSIONS_EACH};
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::{Requests, WordList};
use crate::seed::Layout;
use crate::server::{NODE_CONNECTIONS, Server};
use crate::stats::{float, nanoseconds, now, share};
use observer::{ClusterObserver, Rates};

const NODES: usize = 10;
const LOGOUTS_PER_SECOND: usize = 100;
/// The number of clients that sign out, and how often each does: together as often as above.
const CLIENTS: usize = 20;
const LOGOUT_INTERVAL: Duration = Duration::from_millis(200);
/// One in so many logouts is timed: to ask without a pause after each of them would be a load of its own.
const TIMED_ONE_IN: usize = 4;
/// The pause between two questions whether a token is still valid.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The time after which the end of a session counts as lost.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the nodes are left alone after their start.
const SETTLE_TIME: Duration = Duration::from_secs(5);

/// The range in which the number of a formula is expected, and that of a formula for the most.
const ABOUT: (f64, f64) = (0.8, 1.2);
const AT_MOST: (f64, f64) = (0.0, 1.0);

/// The numbers of docs/operations.md for this number of nodes, each second except for the connections.
struct Formulas {
    connections: f64,
    idle_reads: f64,
    most_reads: f64,
    idle_commands: f64,
    most_commands: f64,
}

impl Formulas {
    fn new() -> Self {
        let nodes = float(NODES);
        // A heartbeat of each node every 0.3 s, and every second a script of four commands that reads messages.
        let idle_commands = nodes / 0.3 + nodes * 5.0;
        // A read every 0.25 s, and one for each logout: they are much rarer than a node could read.
        let idle_reads = nodes / 0.25;
        Self {
            connections: nodes * float(NODE_CONNECTIONS + 1),
            idle_reads,
            most_reads: idle_reads + nodes * float(LOGOUTS_PER_SECOND),
            idle_commands,
            most_commands: idle_commands + float(LOGOUTS_PER_SECOND),
        }
    }
}

impl Run<'_> {
    pub(super) async fn ten_nodes(&mut self) -> Result<(), BenchError> {
        self.progress.step("start PostgreSQL and Redis for ten nodes");
        let mut servers = Backends::start(&self.workspace, "servers", &["postgres", "redis"])?;
        let counts_statements = count_statements(&mut servers).await?;
        let seconds = usize::try_from(self.plan.observation.as_secs())?;
        // Ten seconds more than needed.
        let sessions = LOGOUTS_PER_SECOND * (seconds + 10);
        let layout = Layout { employees: sessions / SESSIONS_EACH, sessions };
        let (backend, tokens) = self.shared_backend(&servers, "ten_nodes", layout).await?;
        self.progress.step("start ten nodes");
        let mut nodes = Vec::with_capacity(NODES);
        for number in 1..=NODES {
            nodes.push(Server::node(&self.workspace, &backend, &[RECHECK_OFF, SYNC_OFF])?);
            self.progress.at("node", number, NODES);
        }
        let addresses: Vec<_> = nodes.iter().map(|node| node.address).collect();
        if let Some(node) = nodes.first() {
            self.report.version = version(node).await?;
        }
        let observer = ClusterObserver::open(&backend, counts_statements).await?;
        self.observe_idle(&observer).await?;
        self.observe_logouts(&observer, &addresses, tokens).await?;
        nodes.into_iter().try_for_each(Server::stop)
    }

    async fn observe_idle(&mut self, observer: &ClusterObserver) -> Result<(), BenchError> {
        let seconds = self.plan.observation.as_secs();
        self.progress.step(format_args!("ten nodes, idle for {seconds} s"));
        sleep(SETTLE_TIME).await;
        let before = observer.read().await?;
        sleep(self.plan.observation).await;
        let rates = observer.read().await?.since(&before);
        let formulas = Formulas::new();
        let (reads, commands) = ((formulas.idle_reads, ABOUT), (formulas.idle_commands, ABOUT));
        self.report_rates("idle", rates, &formulas, reads, commands);
        Ok(())
    }

    async fn observe_logouts(
        &mut self,
        observer: &ClusterObserver,
        addresses: &[SocketAddr],
        tokens: WordList,
    ) -> Result<(), BenchError> {
        let (seconds, when) = (self.plan.observation.as_secs(), format!("{LOGOUTS_PER_SECOND} logouts a second"));
        self.progress.step(format_args!("ten nodes, {when} for {seconds} s"));
        let count = LOGOUTS_PER_SECOND * usize::try_from(seconds)?;
        let before = observer.read().await?;
        let mut times = sign_out(addresses, tokens, count).await?;
        let rates = observer.read().await?.since(&before);
        let formulas = Formulas::new();
        let (reads, commands) = ((formulas.most_reads, AT_MOST), (formulas.most_commands, AT_MOST));
        self.report_rates(&when, rates, &formulas, reads, commands);
        times.sort_unstable();
        let [median, p99, most] = [50, 99, 100].map(|percent| share(&times, percent));
        let figure = format!("{}, p99 {}, at most {}", duration(median), duration(p99), duration(most));
        let target = Some((&*format!("{END_SECONDS} s"), most <= END_SECONDS));
        let name = format!("ten nodes, {when}: logout on one node until another refuses");
        self.report.figure(&name, &format!("median of {}", grouped(times.len())), &figure, target);
        Ok(())
    }

    /// Adds the rates beside the formulas: those of the reads of the journal and of the commands of Redis, each with its range.
    fn report_rates(
        &mut self,
        when: &str,
        rates: Rates,
        formulas: &Formulas,
        reads: (f64, (f64, f64)),
        commands: (f64, (f64, f64)),
    ) {
        let name = |what: &str| format!("ten nodes, {when}: {what}");
        let connections = name("connections to PostgreSQL");
        self.report.beside_formula(&connections, rates.connections, formulas.connections, AT_MOST);
        if let Some(measured) = rates.journal_reads {
            self.report.beside_formula(&name("reads of the journal a second"), measured, reads.0, reads.1);
        }
        if let Some(measured) = rates.statements {
            let figure = format!("{measured:.0}");
            self.report.figure(&name("statements of PostgreSQL a second"), "all nodes", &figure, None);
        }
        self.report.beside_formula(&name("commands of Redis a second"), rates.commands, commands.0, commands.1);
    }
}

/// Has PostgreSQL count statements, if that extension is installed; returns whether it does.
async fn count_statements(servers: &mut Backends) -> Result<bool, BenchError> {
    let client = connect(servers.url("postgres")?).await?;
    let installed = "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_stat_statements'";
    if client.query_opt(installed, &[]).await?.is_none() {
        return Ok(false);
    }
    client.batch_execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'").await?;
    drop(client);
    servers.restart("postgres")?;
    Ok(true)
}

/// Signs out of so many sessions at a steady rate; returns how long another node accepted the tokens of some of them, in nanoseconds.
async fn sign_out(addresses: &[SocketAddr], tokens: WordList, count: usize) -> Result<Vec<u32>, BenchError> {
    let asks = Arc::new((Requests::logout(tokens.clone()), Requests::verify(tokens)));
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let mut nodes = addresses.iter().copied().cycle().skip(client);
        let (Some(here), Some(there)) = (nodes.next(), nodes.nth(3)) else { return Err("there are no nodes".into()) };
        let own = (0..count).skip(client).step_by(CLIENTS);
        clients.spawn(sign_out_in_turn(here, there, Arc::clone(&asks), own));
        // Not all at the same moment.
        sleep(LOGOUT_INTERVAL / u32::try_from(CLIENTS)?).await;
    }
    let mut times = Vec::new();
    while let Some(done) = clients.join_next().await {
        times.extend(done??);
    }
    Ok(times)
}

/// Signs out of these sessions on one node, and times some of them until another node refuses the token.
async fn sign_out_in_turn(
    here: SocketAddr,
    there: SocketAddr,
    asks: Arc<(Requests, Requests)>,
    own: impl Iterator<Item = usize>,
) -> Result<Vec<u32>, BenchError> {
    let (logout, verify) = &*asks;
    let (mut here, mut there) = (Connection::open(here).await?, Connection::open(there).await?);
    let (mut ticks, mut request, mut times) = (interval(LOGOUT_INTERVAL), Vec::new(), Vec::new());
    for (token, number) in own.zip(0_usize..) {
        ticks.tick().await;
        let is_timed = number.is_multiple_of(TIMED_ONE_IN);
        // The other node has the session in its cache.
        if is_timed && !is_valid(verify, token, &mut there).await? {
            return Err("a token was refused before its logout".into());
        }
        logout.write(token, &mut request);
        let answer = here.exchange(&request).await?;
        if !logout.accepts(answer) {
            return Err(format!("a logout failed:\n{}", answer.text()).into());
        }
        if is_timed {
            let answered = now();
            while is_valid(verify, token, &mut there).await? {
                if answered.elapsed() > END_TIMEOUT {
                    return Err(format!("a token is still valid {END_TIMEOUT:?} after its end").into());
                }
                sleep(POLL_INTERVAL).await;
            }
            times.push(nanoseconds(answered.elapsed()));
        }
    }
    Ok(times)
}
