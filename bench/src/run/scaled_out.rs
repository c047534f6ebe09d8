//! Nodes on PostgreSQL and Redis: their cost relative to an embedded node, and the effect of a second node.

use std::sync::Arc;
use std::time::Duration;

use super::{DRAWS, FILL, Run, SMALL_CACHE, cached_sessions, template, version};
use crate::backends::{Backends, SharedBackend};
use crate::bare_handler::ResponseTemplates;
use crate::comparison::{Comparison, median_of};
use crate::error::BenchError;
use crate::load::{CONNECTIONS, Load, Pace};
use crate::plan::{MISS_RATIO, SESSIONS_EACH, SHARED_RATIO, SHARED_SIGN_IN_RATIO, SIGN_IN_EMPLOYEES, TWO_NODES_COST};
use crate::postgres_baseline::{Digests, PostgresBaseline, Work};
use crate::progress::grouped;
use crate::requests::{Requests, WordList};
use crate::seed::{self, Layout, seed};
use crate::server::{NODE_CONNECTIONS, Server};
use crate::stats::Round;

/// The rate at which the cost of a request is compared: less than half of what the nodes can answer, also while the machine is
/// slow.
const COST_PACE: Pace = Pace { rate: 20_000, connections: CONNECTIONS };

/// What each of two nodes gets of it.
const NODE_PACE: Pace = Pace { rate: COST_PACE.rate / 2, connections: COST_PACE.connections / 2 };

/// The rate of logouts during these requests: far more than a help desk has, and few enough that no session is ended twice.
const LOGOUT_PACE: Pace = Pace { rate: 200, connections: CONNECTIONS };

/// The share of a rate that has to be reached, or else a round is repeated.
const LEAST_PACE: f64 = 0.9;

/// How often a round is tried. The logouts are enough for as many.
const MAX_ROUND_ATTEMPTS: usize = 3;

/// The number of times that every session is sent to a node before the node counts as unable to cache them.
const MAX_FILLS: usize = 3;

impl Run<'_> {
    pub(super) async fn scaled_out(&mut self) -> Result<(), BenchError> {
        self.progress.step("start PostgreSQL and Redis");
        let mut servers = Backends::start(&self.workspace, "servers", &["postgres", "redis"])?;
        let layout = Layout { employees: self.plan.shared / SESSIONS_EACH, sessions: self.plan.shared };
        let (backend, tokens) = self.shared_backend(&servers, "sessions", layout).await?;
        let one = self.warm(&backend, &tokens).await?;
        self.report.version = version(&one).await?;
        self.checks([Some(SHARED_RATIO), None], &one, &tokens).await?;
        self.misses(&backend, &tokens).await?;
        self.without_redis(&backend, &one, &tokens).await?;
        let other = self.warm(&backend, &tokens).await?;
        self.two_nodes(&one, &other, &tokens).await?;
        self.two_nodes_cost(&one, &other, &tokens).await?;
        self.cost_of_sharing(&servers, layout, [&one, &other], &tokens).await?;
        self.shared_sign_ins(&servers).await?;
        self.logouts("Redis up", [&one, &other], &tokens, 0).await?;
        servers.kill("redis")?;
        self.logouts("Redis down", [&one, &other], &tokens, self.plan.logouts).await?;
        one.stop()?;
        other.stop()
    }

    /// A shared backend with employees and sessions.
    pub(super) async fn shared_backend(
        &self,
        servers: &Backends,
        name: &'static str,
        layout: Layout,
    ) -> Result<(SharedBackend, WordList), BenchError> {
        let store = seed(&self.workspace, name, layout, &self.progress)?;
        self.progress.step(format_args!("{name}: copy them to PostgreSQL"));
        let backend = SharedBackend::copied(&self.workspace, servers, name, &store.directory).await?;
        Ok((backend, store.tokens))
    }

    /// A node with every session in its cache.
    async fn warm(&mut self, backend: &SharedBackend, tokens: &WordList) -> Result<Server, BenchError> {
        let node = Server::node(&self.workspace, backend, &[])?;
        let mut cached = 0;
        self.progress.step(FILL);
        for _ in 0..MAX_FILLS {
            self.show(&node, tokens).await?;
            cached = cached_sessions(&node).await?;
            if cached >= tokens.len() {
                return Ok(node);
            }
        }
        Err(format!("only {} of {} sessions are in the cache", grouped(cached), grouped(tokens.len())).into())
    }

    async fn misses(&mut self, backend: &SharedBackend, tokens: &WordList) -> Result<(), BenchError> {
        let node = Server::node(&self.workspace, backend, &[SMALL_CACHE])?;
        let load = Load::new(Arc::new(Requests::verify(tokens.clone())));
        let work = Work::LookUps(Arc::new(Digests::of(tokens)?));
        let mut alone = PostgresBaseline::open(backend, NODE_CONNECTIONS, work).await?;
        let name = format!("verify, {} live sessions, every one a miss", grouped(tokens.len()));
        let comparison = Comparison::new(name, "PostgreSQL alone", Some(MISS_RATIO));
        let (ours, theirs) = (
            async |length| load.round(&[&node], length).await,
            async |length| alone.round(length, NODE_CONNECTIONS).await,
        );
        self.report.add_comparison(comparison.run(self.plan.short, &self.progress, ours, theirs).await?);
        node.stop()
    }

    /// A node whose Redis is killed, compared with a node whose Redis runs.
    async fn without_redis(
        &mut self,
        backend: &SharedBackend,
        with: &Server,
        tokens: &WordList,
    ) -> Result<(), BenchError> {
        let mut redis = Backends::start(&self.workspace, "doomed", &["redis"])?;
        let node =
            self.warm(&SharedBackend { shared: redis.url("redis")?.to_owned(), ..backend.clone() }, tokens).await?;
        redis.kill("redis")?;
        let comparison = Comparison::new("verify, Redis down".into(), "the same, Redis up", None);
        let requests = Arc::new(Requests::verify(tokens.drawn(DRAWS)));
        let comparison = self.between(comparison, &[&node], &[with], requests).await?;
        self.report.add_comparison(comparison);
        node.stop()
    }

    async fn two_nodes(&mut self, one: &Server, other: &Server, tokens: &WordList) -> Result<(), BenchError> {
        let comparison = Comparison::new("verify, two nodes".into(), "one node", None);
        let requests = Arc::new(Requests::verify(tokens.drawn(DRAWS)));
        let comparison = self.between(comparison, &[one, other], &[one], requests).await?;
        self.report.add_comparison(comparison);
        Ok(())
    }

    /// Compares the CPU time of a request on two nodes with that on one: first with as many requests for each node, then with as
    /// many in all. Two bare handlers show what the latter costs any program.
    async fn two_nodes_cost(&mut self, one: &Server, other: &Server, tokens: &WordList) -> Result<(), BenchError> {
        let requests = Arc::new(Requests::verify(tokens.drawn(DRAWS)));
        let answers = ResponseTemplates { verify: template(one, &requests).await?.0, ..ResponseTemplates::default() };
        let bare = [Server::bare(&self.workspace, &answers)?, Server::bare(&self.workspace, &answers)?];
        let (nodes, handlers) = ([one, other], bare.each_ref());
        for (servers @ [first, _], ours, theirs, pace, target) in [
            (nodes, "two nodes, 10 000/s each", "one node, 10 000/s", NODE_PACE, Some(TWO_NODES_COST)),
            (nodes, "two nodes, 20 000/s in all", "one node, 20 000/s", COST_PACE, None),
            (handlers, "two bare axum handlers, 20 000/s in all", "one bare handler, 20 000/s", COST_PACE, None),
        ] {
            let (two, alone) = (Load::new(Arc::clone(&requests)), Load::new(Arc::clone(&requests)));
            let comparison = Comparison::new(format!("verify, {ours}"), theirs, None);
            let (of_two, of_one) = (
                async |length| steady(async || paced(&two, &servers, COST_PACE, length).await).await,
                async |length| steady(async || paced(&alone, &[first], pace, length).await).await,
            );
            let comparison = comparison.run(self.plan.long, &self.progress, of_two, of_one).await?;
            self.report.cost_ratio(&format!("CPU each of verify, {ours}"), &comparison, target);
            self.report.add_latencies(comparison);
        }
        bare.into_iter().try_for_each(Server::stop)
    }

    /// Compares the CPU time of a request on two nodes of one service with that on two nodes that share nothing: there are as many
    /// nodes on the cores, and each gets as many requests. Meanwhile there are logouts on both sides; only nodes of one service have to tell
    /// each other about them.
    async fn cost_of_sharing(
        &mut self,
        servers: &Backends,
        layout: Layout,
        nodes: [&Server; 2],
        tokens: &WordList,
    ) -> Result<(), BenchError> {
        let (first, first_redis) = self.separate_node(servers, "separate_1", layout, tokens).await?;
        let (second, second_redis) = self.separate_node(servers, "separate_2", layout, tokens).await?;
        // The logouts that are timed afterwards use the first tokens.
        let (checked, ended) = tokens.split_at(tokens.len() - tokens.len() / 5);
        let checks = Arc::new(Requests::verify(checked.drawn(DRAWS)));
        let logouts = Arc::new(Requests::logout(ended));
        let (ours, theirs) = (
            ChecksAndLogouts::new(&checks, &logouts, nodes),
            ChecksAndLogouts::new(&checks, &logouts, [&first, &second]),
        );
        let name = "CPU each of verify during logouts, two nodes of one service";
        let comparison = Comparison::new(name.into(), "two nodes that share nothing", None);
        let (ours, theirs) = (async |length| ours.round(length).await, async |length| theirs.round(length).await);
        let comparison = comparison.run(self.plan.long, &self.progress, ours, theirs).await?;
        self.report.cost_ratio(name, &comparison, Some(TWO_NODES_COST));
        let [ours, theirs] = [&comparison.ours, &comparison.theirs].map(|rounds| median_of(rounds, |round| round.cpu));
        let more = (ours - theirs) * f64::from(COST_PACE.rate) / f64::from(LOGOUT_PACE.rate);
        let name = "of that, for each logout that the other node has to learn of";
        self.report.figure(name, "–", &format!("{:.0} µs", more * 1e6), None);
        first.stop()?;
        second.stop()?;
        drop((first_redis, second_redis));
        Ok(())
    }

    /// A node with a copy of the sessions in a database of its own, and with a Redis of its own.
    async fn separate_node(
        &mut self,
        servers: &Backends,
        name: &'static str,
        layout: Layout,
        tokens: &WordList,
    ) -> Result<(Server, Backends), BenchError> {
        self.progress.step(format_args!("{name}: copy the sessions to another database"));
        let from = self.workspace.store("sessions", layout);
        let backend = SharedBackend::copied(&self.workspace, servers, name, &from).await?;
        let redis = Backends::start(&self.workspace, name, &["redis"])?;
        let backend = SharedBackend { shared: redis.url("redis")?.to_owned(), ..backend };
        Ok((self.warm(&backend, tokens).await?, redis))
    }

    async fn shared_sign_ins(&mut self, servers: &Backends) -> Result<(), BenchError> {
        let layout = Layout { employees: SIGN_IN_EMPLOYEES, sessions: 0 };
        let (backend, _) = self.shared_backend(servers, "sign_ins", layout).await?;
        let (apart, _) = self.shared_backend(servers, "sign_ins_alone", layout).await?;
        let (one, other) =
            (Server::node(&self.workspace, &backend, &[])?, Server::node(&self.workspace, &backend, &[])?);
        let mut alone = PostgresBaseline::open(&apart, NODE_CONNECTIONS * 2, Work::SignIns).await?;
        for (name, nodes) in [("one node", vec![&one]), ("two nodes", vec![&one, &other])] {
            let load = Load::new(Arc::new(Requests::bind(seed::employees(SIGN_IN_EMPLOYEES).drawn(DRAWS))));
            let name = format!("sign-ins (bind), {name}");
            let comparison = Comparison::new(name, "PostgreSQL alone", Some(SHARED_SIGN_IN_RATIO));
            let (ours, theirs) = (
                async |length| load.round(&nodes, length).await,
                async |length| alone.round(length, NODE_CONNECTIONS * nodes.len()).await,
            );
            self.report.add_comparison(comparison.run(self.plan.long, &self.progress, ours, theirs).await?);
        }
        one.stop()?;
        other.stop()
    }
}

/// Checks of tokens at a steady rate on two nodes, and logouts of other tokens.
struct ChecksAndLogouts<'a> {
    checks: Load,
    logouts: Load,
    nodes: [&'a Server; 2],
}

impl<'a> ChecksAndLogouts<'a> {
    fn new(checks: &Arc<Requests>, logouts: &Arc<Requests>, nodes: [&'a Server; 2]) -> Self {
        Self { checks: Load::new(Arc::clone(checks)), logouts: Load::new(Arc::clone(logouts)), nodes }
    }

    /// A round of checks. Its CPU time includes that of the logouts.
    async fn round(&self, length: Duration) -> Result<Round, BenchError> {
        let both = async || {
            let (checks, logouts) = tokio::try_join!(
                paced(&self.checks, &self.nodes, COST_PACE, length),
                paced(&self.logouts, &self.nodes, LOGOUT_PACE, length),
            )?;
            Ok(PacedRound { is_held: checks.is_held && logouts.is_held, ..checks })
        };
        steady(both).await
    }
}

/// A round at a given pace.
struct PacedRound {
    round: Round,
    /// Whether the pace was held.
    is_held: bool,
}

async fn paced(load: &Load, nodes: &[&Server], pace: Pace, length: Duration) -> Result<PacedRound, BenchError> {
    let round = load.paced_round(nodes, pace, length).await?;
    Ok(PacedRound { is_held: round.rate >= f64::from(pace.rate) * LEAST_PACE, round })
}

/// Repeats a round that was slowed down by other load on the machine: at another rate, a request costs another CPU time.
async fn steady(round: impl AsyncFn() -> Result<PacedRound, BenchError>) -> Result<Round, BenchError> {
    let mut last = round().await?;
    for _ in 1..MAX_ROUND_ATTEMPTS {
        if last.is_held {
            break;
        }
        last = round().await?;
    }
    Ok(last.round)
}
