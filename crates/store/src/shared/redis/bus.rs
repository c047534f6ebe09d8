//! Word between the nodes, carried by Redis. It makes things fast; nothing relies on it to be right.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use redis::aio::PubSub;
use redis::{RedisResult, cmd};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::address::Address;
use super::connection::{CONNECT_TIMEOUT, RedisConnection, server};
use super::peers::Peers;
use super::watchers::Watchers;
use crate::shared::messages::DeliveryCounts;

/// How often a node says that it is there, so that every node hears something.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(300);
/// Whoever hears nothing for so long has lost the connection, whatever it looks like.
const SUBSCRIPTION_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Carries word between the nodes. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Bus {
    outgoing: Arc<Notify>,
    nudged: Arc<Notify>,
}

impl Bus {
    pub(super) fn new() -> Self {
        Self { outgoing: Arc::default(), nudged: Arc::default() }
    }

    /// Tells the other nodes that there is something to see, soon and perhaps in vain. Many at once are told as one.
    pub fn nudge(&self) {
        self.outgoing.notify_one();
    }

    /// Fires when another node says that there is something to see, or may have said so while nobody listened.
    #[must_use]
    pub fn nudged(&self) -> &Arc<Notify> {
        &self.nudged
    }
}

/// The message that a record was changed, by the name under which it is watched.
pub(super) fn changed_message(name: &str) -> String {
    format!("changed {name}")
}

/// The message to a node about how many another one has told of its messages, by their numbers.
pub(super) fn counts_message(asker: &str, node: &str, counts: &[(u64, usize)]) -> String {
    let counts: Vec<_> = counts.iter().map(|(number, count)| format!("{number}:{count}")).collect();
    format!("told {asker} {node} {}", counts.join(","))
}

/// Speaks and listens for one node.
#[derive(Clone, Debug)]
pub(super) struct BusWorker {
    pub(super) address: Arc<Address>,
    pub(super) connection: RedisConnection,
    pub(super) watchers: Arc<Watchers>,
    pub(super) bus: Bus,
    pub(super) peers: Arc<Peers>,
    pub(super) counts: Arc<DeliveryCounts>,
    /// Fires when there are messages to be read.
    pub(super) new_messages: Arc<Notify>,
    /// Whether this node brings messages to anybody: a command that is run beside the nodes does not.
    pub(super) delivers: Arc<AtomicBool>,
    pub(super) channel: String,
    pub(super) node: String,
}

impl BusWorker {
    /// Says what is to be said, and now and then that we are there. Runs until it is dropped.
    pub(super) async fn publish(self) {
        let mut heartbeat = interval(HEARTBEAT_INTERVAL);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let word = tokio::select! {
                biased;
                () = self.bus.outgoing.notified() => "nudge",
                _ = heartbeat.tick() => if self.delivers.load(Ordering::Relaxed) { "carries" } else { "here" },
            };
            let mut publish = cmd("PUBLISH");
            publish.arg(&self.channel).arg(format!("{word} {}", self.node));
            if let Ok(call) = self.connection.call().await {
                // What is not heard costs the others time, and nothing else.
                let _ = call.ask::<()>(&publish).await;
            }
        }
    }

    /// Listens, and again whenever the connection is lost. Runs until it is dropped.
    pub(super) async fn listen(self) {
        for turn in 0.. {
            if let Ok(Ok(subscription)) = timeout(CONNECT_TIMEOUT, self.subscribe(turn)).await {
                self.receive(subscription).await;
                tracing::debug!(address = %self.address, "the subscription to Redis was lost");
                // Whoever waits finds out by looking.
                self.watchers.notify_all();
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    async fn subscribe(&self, turn: usize) -> RedisResult<PubSub> {
        let mut subscription = server(&self.address, turn).await?.get_async_pubsub().await?;
        subscription.subscribe(&self.channel).await?;
        Ok(subscription)
    }

    async fn receive(&self, subscription: PubSub) {
        // What was said while nobody listened is not said again.
        self.watchers.notify_all();
        self.bus.nudged.notify_one();
        self.new_messages.notify_one();
        let mut messages = subscription.into_on_message();
        while let Ok(Some(message)) = timeout(SUBSCRIPTION_TIMEOUT, messages.next()).await {
            let word = std::str::from_utf8(message.get_payload_bytes()).unwrap_or_default();
            self.handle(word.split_once(' ').unwrap_or((word, "")));
        }
    }

    fn handle(&self, said: (&str, &str)) {
        match said {
            ("changed", name) => self.watchers.notify(name),
            ("nudge", node) if node != self.node => self.bus.nudged.notify_one(),
            ("carries", node) => self.peers.heard(node),
            ("mail", _) => self.new_messages.notify_one(),
            ("told", rest) => self.record_counts(rest),
            _ => {}
        }
    }

    /// Takes down what another node has told of our messages.
    fn record_counts(&self, rest: &str) {
        let mut words = rest.split(' ');
        let (Some(asker), Some(node), Some(counts)) = (words.next(), words.next(), words.next()) else { return };
        if asker != self.node {
            return;
        }
        let pairs = counts.split(',').filter_map(|pair| pair.split_once(':'));
        for (number, count) in pairs.filter_map(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?))) {
            self.counts.report(node, number, count);
        }
    }
}
