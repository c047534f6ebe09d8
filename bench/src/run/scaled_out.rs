//! Nodes on PostgreSQL and Redis: look-ups and sign-ins beside PostgreSQL alone, and the time until an ended session is refused elsewhere.

use std::sync::Arc;

use super::ends::{EVENT_KEYS, Ending};
use super::{DRAWS, Run, SMALL_CACHE, version};
use crate::backends::{Backends, SharedBackend};
use crate::comparison::Comparison;
use crate::error::BenchError;
use crate::load::Load;
use crate::plan::{
    LOGOUT_SECONDS, MISS_RATIO, REDIS_LOGOUT_SECONDS, SESSIONS_EACH, SHARED_SIGN_IN_RATE, SHARED_SIGN_IN_RATIO,
    SIGN_IN_EMPLOYEES,
};
use crate::postgres_baseline::{Digests, PostgresBaseline, Work};
use crate::progress::grouped;
use crate::requests::{Requests, WordList};
use crate::seed::{self, Layout};
use crate::server::Server;

/// The baseline of these comparisons.
const ALONE: &str = "PostgreSQL alone";

impl Run<'_> {
    pub(super) async fn scaled_out(&mut self) -> Result<(), BenchError> {
        self.progress.step("start PostgreSQL and Redis");
        let mut servers = Backends::start(&self.workspace, "servers", &["postgres", "redis"])?;
        let layout = Layout { employees: self.plan.shared / SESSIONS_EACH, sessions: self.plan.shared };
        let (backend, tokens) = self.shared_backend(&servers, "sessions", layout).await?;
        let sign_ins = Layout { employees: SIGN_IN_EMPLOYEES, sessions: 0 };
        let (ours, _) = self.shared_backend(&servers, "sign_ins", sign_ins).await?;
        let (theirs, _) = self.shared_backend(&servers, "sign_ins_alone", sign_ins).await?;
        for _ in 0..self.plan.runs {
            self.shared_misses(&backend, &tokens).await?;
            self.shared_sign_ins(&ours, &theirs).await?;
        }
        self.ends_elsewhere(&mut servers, &backend, &tokens).await
    }

    async fn shared_misses(&mut self, backend: &SharedBackend, tokens: &WordList) -> Result<(), BenchError> {
        let node = Server::node(&self.workspace, backend, &[SMALL_CACHE])?;
        self.report.version = version(&node).await?;
        let load = Load::new(Arc::new(Requests::verify(tokens.clone())));
        let mut alone = PostgresBaseline::open(backend, Work::LookUps(Arc::new(Digests::of(tokens)?))).await?;
        let name = format!("verify, {} live sessions, every one a miss", grouped(tokens.len()));
        let ours = async |length| load.round(&node, length).await;
        let theirs = async |length| alone.round(length).await;
        self.compare(Comparison::new(name, ALONE, Some(MISS_RATIO)), self.plan.short, ours, theirs).await?;
        node.stop()
    }

    async fn shared_sign_ins(&mut self, ours: &SharedBackend, theirs: &SharedBackend) -> Result<(), BenchError> {
        let node = Server::node(&self.workspace, ours, &[])?;
        let load = Load::new(Arc::new(Requests::bind(seed::employees(SIGN_IN_EMPLOYEES).drawn(DRAWS))));
        let mut alone = PostgresBaseline::open(theirs, Work::SignIns).await?;
        let mut comparison = Comparison::new("sign-ins (bind)".into(), ALONE, Some(SHARED_SIGN_IN_RATIO));
        comparison.least_rate = Some(SHARED_SIGN_IN_RATE);
        let ours = async |length| load.round(&node, length).await;
        let theirs = async |length| alone.round(length).await;
        self.compare(comparison, self.plan.long, ours, theirs).await?;
        node.stop()
    }

    /// Ends sessions on one of two nodes which have all of them in their caches, with Redis and without.
    async fn ends_elsewhere(
        &mut self,
        servers: &mut Backends,
        backend: &SharedBackend,
        tokens: &WordList,
    ) -> Result<(), BenchError> {
        let one = Server::node(&self.workspace, backend, &EVENT_KEYS)?;
        let other = Server::node(&self.workspace, backend, &EVENT_KEYS)?;
        for node in [&one, &other] {
            self.fill(node, tokens).await?;
        }
        let nodes = [&one, &other];
        let (logouts, leavers) = (Arc::new(Ending::by_logouts(tokens)), Arc::new(Ending::by_leavers(tokens)?));
        let count = self.plan.ends;
        for (when, first, half) in [("Redis up", 0, REDIS_LOGOUT_SECONDS), ("Redis down", 2 * count, LOGOUT_SECONDS)] {
            if first > 0 {
                servers.kill("redis")?;
            }
            let name = format!("logout on one node until another refuses, {when}");
            self.ends(&name, nodes, &logouts, first..first + count, Some(half)).await?;
            let name = format!("an event about a leaver until another node refuses, {when}");
            self.ends(&name, nodes, &leavers, first + count..first + 2 * count, None).await?;
        }
        one.stop()?;
        other.stop()
    }
}
