//! Nodes on PostgreSQL and Redis: what they cost beside one that has everything in it, and what a second one adds.

use std::sync::Arc;

use super::{DRAWS, FILL, Run, cached_sessions, version};
use crate::duel::Duel;
use crate::failed::Failed;
use crate::load::Load;
use crate::plan::{BOUND, SESSIONS_EACH, SHARED_RATIO};
use crate::postgres::{Alone, Digests, Work};
use crate::progress::grouped;
use crate::requests::{Requests, Words};
use crate::seed::{self, Layout, seed};
use crate::server::{NODE_CONNECTIONS, Server};
use crate::servers::{Desk, Servers};

/// As few sessions as a node can be told to keep.
const FORGETFUL: (&str, &str) = ("DESKPASS_SESSION__CACHE_ENTRIES", "1000");

/// How often a node is shown every session before it counts as unable to keep them.
const FILLS: usize = 3;

impl Run<'_> {
    pub(super) async fn scaled_out(&mut self) -> Result<(), Failed> {
        self.progress.step("start PostgreSQL and Redis");
        let mut servers = Servers::start(&self.yard, "servers", &["postgres", "redis"])?;
        let layout = Layout { employees: self.plan.shared / SESSIONS_EACH, sessions: self.plan.shared };
        let (desk, tokens) = self.desk(&servers, "sessions", layout).await?;
        let one = self.warm(&desk, &tokens).await?;
        self.report.version = version(&one).await?;
        self.checks([Some(SHARED_RATIO), None], &one, &tokens).await?;
        self.misses(&desk, &tokens).await?;
        self.without_redis(&desk, &one, &tokens).await?;
        let other = self.warm(&desk, &tokens).await?;
        self.two_nodes(&one, &other, &tokens).await?;
        self.shared_sign_ins(&servers).await?;
        self.logouts("Redis up", [&one, &other], &tokens, 0).await?;
        servers.kill("redis")?;
        self.logouts("Redis down", [&one, &other], &tokens, self.plan.logouts).await?;
        one.stop()?;
        other.stop()
    }

    /// A desk with people and sessions.
    pub(super) async fn desk(
        &self,
        servers: &Servers,
        name: &'static str,
        layout: Layout,
    ) -> Result<(Desk, Words), Failed> {
        let store = seed(&self.yard, name, layout, &self.progress)?;
        self.progress.step(format_args!("{name}: copy them to PostgreSQL"));
        let desk = Desk::copied(&self.yard, servers, name, &store.directory).await?;
        Ok((desk, store.tokens))
    }

    /// A node that has every session in its cache.
    async fn warm(&mut self, desk: &Desk, tokens: &Words) -> Result<Server, Failed> {
        let node = Server::node(&self.yard, desk, &[])?;
        let mut cached = 0;
        self.progress.step(FILL);
        for _ in 0..FILLS {
            self.show(&node, tokens).await?;
            cached = cached_sessions(&node).await?;
            if cached >= tokens.len() {
                return Ok(node);
            }
        }
        Err(format!("only {} of {} sessions are in the cache", grouped(cached), grouped(tokens.len())).into())
    }

    async fn misses(&mut self, desk: &Desk, tokens: &Words) -> Result<(), Failed> {
        let node = Server::node(&self.yard, desk, &[FORGETFUL])?;
        let load = Load::new(Arc::new(Requests::verify(tokens.clone())));
        let work = Work::LookUps(Arc::new(Digests::of(tokens)?));
        let mut alone = Alone::open(desk, NODE_CONNECTIONS, work).await?;
        let name = format!("verify, {} live sessions, every one a miss", grouped(tokens.len()));
        let (plan, duel) = (self.plan, Duel::new(name, "PostgreSQL alone", None));
        let (ours, theirs) =
            (async || load.round(&[&node], plan.round).await, async || alone.round(plan.round, NODE_CONNECTIONS).await);
        self.report.duel(duel.fight(plan, &self.progress, ours, theirs).await?);
        node.stop()
    }

    /// A node whose Redis is killed beside one whose Redis runs.
    async fn without_redis(&mut self, desk: &Desk, with: &Server, tokens: &Words) -> Result<(), Failed> {
        let mut redis = Servers::start(&self.yard, "doomed", &["redis"])?;
        let node = self.warm(&Desk { shared: redis.url("redis")?.to_owned(), ..desk.clone() }, tokens).await?;
        redis.kill("redis")?;
        let duel = Duel::new("verify, Redis down".into(), "the same, Redis up", None);
        let requests = Arc::new(Requests::verify(tokens.drawn(DRAWS)));
        let duel = self.between(duel, &[&node], &[with], requests).await?;
        self.report.duel(duel);
        node.stop()
    }

    async fn two_nodes(&mut self, one: &Server, other: &Server, tokens: &Words) -> Result<(), Failed> {
        let duel = Duel::new("verify, two nodes".into(), "one node", None);
        let requests = Arc::new(Requests::verify(tokens.drawn(DRAWS)));
        let duel = self.between(duel, &[one, other], &[one], requests).await?;
        self.report.duel(duel);
        Ok(())
    }

    async fn shared_sign_ins(&mut self, servers: &Servers) -> Result<(), Failed> {
        let layout = Layout { employees: BOUND, sessions: 0 };
        let (desk, _) = self.desk(servers, "sign_ins", layout).await?;
        let (apart, _) = self.desk(servers, "sign_ins_alone", layout).await?;
        let (one, other) = (Server::node(&self.yard, &desk, &[])?, Server::node(&self.yard, &desk, &[])?);
        let mut alone = Alone::open(&apart, NODE_CONNECTIONS * 2, Work::SignIns).await?;
        for (name, nodes) in [("one node", vec![&one]), ("two nodes", vec![&one, &other])] {
            let load = Load::new(Arc::new(Requests::bind(seed::employees(BOUND).drawn(DRAWS))));
            let (plan, duel) = (self.plan, Duel::new(format!("sign-ins (bind), {name}"), "PostgreSQL alone", None));
            let (ours, theirs) = (
                async || load.round(&nodes, plan.round).await,
                async || alone.round(plan.round, NODE_CONNECTIONS * nodes.len()).await,
            );
            self.report.duel(duel.fight(plan, &self.progress, ours, theirs).await?);
        }
        one.stop()?;
        other.stop()
    }
}
