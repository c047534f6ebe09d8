//! Nodes on PostgreSQL and Redis: their cost relative to an embedded node, and the effect of a second node.

use std::sync::Arc;

use super::{DRAWS, FILL, Run, SMALL_CACHE, cached_sessions, version};
use crate::backends::{Backends, SharedBackend};
use crate::comparison::Comparison;
use crate::error::BenchError;
use crate::load::Load;
use crate::plan::{MISS_RATIO, SESSIONS_EACH, SHARED_RATIO, SHARED_SIGN_IN_RATIO, SIGN_IN_EMPLOYEES, TWO_NODES_COST};
use crate::postgres_baseline::{Digests, PostgresBaseline, Work};
use crate::progress::grouped;
use crate::requests::{Requests, WordList};
use crate::seed::{self, Layout, seed};
use crate::server::{NODE_CONNECTIONS, Server};

/// The rate at which the cost of a request is compared, in requests per second: less than half of what the nodes can answer.
const COST_RATE: u32 = 30_000;

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
        let (plan, comparison) = (self.plan, Comparison::new(name, "PostgreSQL alone", Some(MISS_RATIO)));
        let (ours, theirs) =
            (async || load.round(&[&node], plan.round).await, async || alone.round(plan.round, NODE_CONNECTIONS).await);
        self.report.add_comparison(comparison.run(plan, &self.progress, ours, theirs).await?);
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

    /// Compares the CPU time of a request on two nodes with that on one, at the same rate.
    async fn two_nodes_cost(&mut self, one: &Server, other: &Server, tokens: &WordList) -> Result<(), BenchError> {
        let requests = Arc::new(Requests::verify(tokens.drawn(DRAWS)));
        let (two, alone, plan) = (Load::new(Arc::clone(&requests)), Load::new(requests), self.plan);
        let comparison = Comparison::new("verify, two nodes, paced".into(), "one node", None);
        let (ours, theirs) = (
            async || two.paced_round(&[one, other], COST_RATE, plan.round).await,
            async || alone.paced_round(&[one], COST_RATE, plan.round).await,
        );
        let comparison = comparison.run(plan, &self.progress, ours, theirs).await?;
        self.report.cost_ratio("CPU each of verify, two nodes, paced", &comparison, None);
        self.report.add_comparison(comparison);
        Ok(())
    }

    /// Compares the CPU time of a request on two nodes of one service with that on two nodes that share nothing: there are as many
    /// processes on the cores, and each gets as many requests.
    async fn cost_of_sharing(
        &mut self,
        servers: &Backends,
        layout: Layout,
        [one, other]: [&Server; 2],
        tokens: &WordList,
    ) -> Result<(), BenchError> {
        self.progress.step("copy the sessions to another database");
        let from = self.workspace.store("sessions", layout);
        let apart = SharedBackend::copied(&self.workspace, servers, "sessions_apart", &from).await?;
        let redis = Backends::start(&self.workspace, "apart", &["redis"])?;
        let stranger = self.warm(&SharedBackend { shared: redis.url("redis")?.to_owned(), ..apart }, tokens).await?;
        let requests = Arc::new(Requests::verify(tokens.drawn(DRAWS)));
        let (ours, theirs, plan) = (Load::new(Arc::clone(&requests)), Load::new(requests), self.plan);
        let name = "CPU each of verify, two nodes of one service, paced";
        let comparison = Comparison::new(name.into(), "two nodes that share nothing", None);
        let (ours, theirs) = (
            async || ours.paced_round(&[one, other], COST_RATE, plan.round).await,
            async || theirs.paced_round(&[one, &stranger], COST_RATE, plan.round).await,
        );
        let comparison = comparison.run(plan, &self.progress, ours, theirs).await?;
        self.report.cost_ratio(name, &comparison, Some(TWO_NODES_COST));
        stranger.stop()
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
            let (plan, name) = (self.plan, format!("sign-ins (bind), {name}"));
            let comparison = Comparison::new(name, "PostgreSQL alone", Some(SHARED_SIGN_IN_RATIO));
            let (ours, theirs) = (
                async || load.round(&nodes, plan.round).await,
                async || alone.round(plan.round, NODE_CONNECTIONS * nodes.len()).await,
            );
            self.report.add_comparison(comparison.run(plan, &self.progress, ours, theirs).await?);
        }
        one.stop()?;
        other.stop()
    }
}
