//! What goes wrong meanwhile: one fault at a time, and everything is healed before the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::time::sleep;

use super::history::Timer;
use super::nodes::{NODES, Node, Nodes};
use crate::harness::{Fault, FaultProxy, Trigger};

/// What a node sends to commit.
const COMMIT: Trigger = Trigger::Request(b"COMMIT\0");
/// What a node sends to have a script run by Redis.
const SCRIPT: Trigger = Trigger::Request(b"EVAL");

/// A kind of fault.
#[derive(Clone, Copy, Debug)]
enum Calamity {
    /// A node is killed and started again.
    Kill,
    /// The same, and its time of day is wrong when it starts, as far as a node accepts it.
    KillWithWrongTime,
    /// A node stands still.
    Pause,
    /// Nothing passes between a node, or all of them, and a server; no connection ends.
    Cut,
    /// Connections between a node, or all of them, and a server end, and new ones are refused.
    Refuse,
    /// Answers come late.
    Delay,
    /// A connection ends at a commit, before the server has it or before the node has the answer.
    BreakCommit,
    /// The primary of PostgreSQL is stopped, and its standby takes over.
    FailOver,
    /// The master of Redis is killed, and its replica takes over.
    FailOverRedis,
    /// Redis loses everything.
    Flush,
    /// The time of day of a node is set while it runs.
    SetTime,
}

const ALL: [Calamity; 11] = [
    Calamity::Kill,
    Calamity::KillWithWrongTime,
    Calamity::Pause,
    Calamity::Cut,
    Calamity::Refuse,
    Calamity::Delay,
    Calamity::BreakCommit,
    Calamity::FailOver,
    Calamity::FailOverRedis,
    Calamity::Flush,
    Calamity::SetTime,
];

/// Brings faults about.
#[derive(Debug)]
pub(super) struct Nemesis {
    nodes: Arc<Nodes>,
    rng: Rng,
    timer: Timer,
    /// What happened when, for readers of a failure.
    log: Vec<String>,
}

impl Nemesis {
    pub(super) fn new(nodes: Arc<Nodes>, seed: u64, timer: Timer) -> Self {
        Self { nodes, rng: Rng::with_seed(seed), timer, log: Vec::new() }
    }

    /// Brings one fault after the other about until the time is over: every kind once, then every kind again. Returns what happened.
    pub(super) async fn run(mut self, end: Instant) -> Vec<String> {
        let mut next = Vec::new();
        while Instant::now() < end {
            if next.is_empty() {
                next = ALL.to_vec();
                self.rng.shuffle(&mut next);
            }
            if let Some(calamity) = next.pop() {
                self.strike(calamity).await;
            }
            sleep(self.millis(300, 1_500)).await;
        }
        self.log
    }

    async fn strike(&mut self, calamity: Calamity) {
        let at = self.rng.usize(..NODES);
        self.log.push(format!("{:?}: {calamity:?}, node {at}", self.timer.now().at));
        let nodes = Arc::clone(&self.nodes);
        let node = &nodes.all[at];
        match calamity {
            Calamity::Kill => self.kill(node, "+0").await,
            Calamity::KillWithWrongTime => {
                let wrong = if self.rng.bool() { "+20" } else { "-20" };
                self.kill(node, wrong).await;
            }
            Calamity::Pause => {
                node.pause();
                sleep(self.millis(100, 5_000)).await;
                node.resume();
            }
            Calamity::Cut | Calamity::Refuse => self.part(matches!(calamity, Calamity::Cut), at).await,
            Calamity::Delay => self.delay(at).await,
            Calamity::BreakCommit => self.break_commits(at).await,
            Calamity::FailOver => self.on_servers(Nodes::fail_over).await,
            Calamity::FailOverRedis => self.on_servers(Nodes::fail_over_redis).await,
            Calamity::Flush => self.on_servers(Nodes::flush_redis).await,
            Calamity::SetTime => {
                let wrong = ["+20", "-20", "+1h", "-1h"][self.rng.usize(..4)];
                node.clock.set(wrong);
                sleep(self.millis(200, 3_000)).await;
                node.clock.set("+0");
            }
        }
        self.log.push(format!("{:?}: healed", self.timer.now().at));
    }

    async fn kill(&mut self, node: &Node, time_of_day: &str) {
        node.kill();
        sleep(self.millis(0, 1_500)).await;
        node.clock.set(time_of_day);
        node.start().await;
        node.clock.set("+0");
    }

    /// Parts a node, or all, from PostgreSQL, from Redis or from both.
    async fn part(&mut self, silently: bool, at: usize) {
        let nodes = Arc::clone(&self.nodes);
        let (everyone, which) = (self.rng.usize(..3) == 0, self.rng.usize(..3));
        let parted = nodes.all.iter().enumerate().filter(|(other, _)| everyone || *other == at);
        let proxies: Vec<&FaultProxy> = parted
            .flat_map(|(_, node)| {
                let (postgres, redis) = (node.postgres.iter(), node.redis.iter());
                postgres.filter(move |_| which != 1).chain(redis.filter(move |_| which != 0))
            })
            .collect();
        for proxy in &proxies {
            if silently { proxy.cut() } else { proxy.refuse() }
        }
        sleep(self.millis(100, 4_000)).await;
        for proxy in proxies {
            proxy.mend();
        }
    }

    async fn delay(&mut self, at: usize) {
        for _ in 0..self.rng.usize(1..6) {
            let by = self.millis(50, 1_500);
            self.arrange(at, Fault::Delay(by));
        }
        sleep(self.millis(500, 2_000)).await;
    }

    async fn break_commits(&mut self, at: usize) {
        for _ in 0..self.rng.usize(1..6) {
            let fault = if self.rng.usize(..4) == 0 { Fault::CloseBefore } else { Fault::CloseAfter };
            self.arrange(at, fault);
        }
        sleep(self.millis(500, 2_000)).await;
    }

    /// Has a fault happen at the next commit of a node, and at its next script.
    fn arrange(&self, at: usize, fault: Fault) {
        let [postgres, redis] = self.nodes.proxies_in_use(at);
        postgres.once(fault, COMMIT);
        redis.once(fault, SCRIPT);
    }

    async fn on_servers(&self, what: fn(&Nodes)) {
        let nodes = Arc::clone(&self.nodes);
        tokio::task::spawn_blocking(move || what(&nodes)).await.unwrap();
    }

    /// A random time in this range of milliseconds.
    fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.rng.u64(least..most))
    }
}
