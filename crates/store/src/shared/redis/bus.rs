//! Notifications between the nodes, over Redis. They only reduce latency; correctness does not depend on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use redis::aio::PubSub;
use redis::{RedisResult, cmd};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::address::RedisAddress;
use super::connection::{CONNECT_TIMEOUT, RedisConnection, server};
use super::peers::Peers;
use super::watchers::Watchers;
use crate::shared::messages::DeliveryCounts;

/// The heartbeat interval of a node. Heartbeats make sure that every node receives something.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(300);
/// The silence after which a subscription counts as lost, whatever state the connection reports.
const SUBSCRIPTION_TIMEOUT: Duration = Duration::from_secs(1);
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// The bus between the nodes. Clones share its state.
#[derive(Clone, Debug, Default)]
pub struct Bus {
    outgoing: Arc<Notify>,
    nudged: Arc<Notify>,
}

impl Bus {
    /// Notifies the other nodes of a possible change. Concurrent calls are merged into one notification.
    pub fn nudge(&self) {
        self.outgoing.notify_one();
    }

    /// Returns the signal for notifications of other nodes. It also fires after a time without a subscription.
    #[must_use]
    pub fn nudged(&self) -> &Arc<Notify> {
        &self.nudged
    }
}

/// Formats the message that a record has changed, by the name under which it is watched.
pub(super) fn changed_message(name: &str) -> String {
    format!("changed {name}")
}

/// Formats the message to a node with the delivery counts of its messages, by number.
pub(super) fn counts_message(asker: &str, node: &str, counts: &[(u64, usize)]) -> String {
    let counts: Vec<_> = counts.iter().map(|(number, count)| format!("{number}:{count}")).collect();
    format!("told {asker} {node} {}", counts.join(","))
}

/// Publishes and subscribes for one node.
#[derive(Debug)]
pub(crate) struct BusWorker {
    pub(super) address: Arc<RedisAddress>,
    pub(super) connection: RedisConnection,
    pub(super) watchers: Arc<Watchers>,
    pub(crate) bus: Bus,
    pub(super) peers: Peers,
    pub(super) counts: Arc<DeliveryCounts>,
    /// Fires when there are messages to read.
    pub(super) new_messages: Notify,
    /// Whether this node delivers messages to clients; a command line process does not.
    pub(super) delivers: AtomicBool,
    /// Fires when the other nodes should hear of this one at once.
    pub(super) introduce: Notify,
    pub(super) channel: String,
    /// The name of this node among the nodes.
    pub(super) node: String,
}

impl BusWorker {
    /// Publishes notifications and heartbeats. Runs until it is dropped.
    pub(super) async fn announce(self: Arc<Self>) {
        let mut heartbeat = interval(HEARTBEAT_INTERVAL);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let presence = || if self.delivers.load(Ordering::Relaxed) { "carries" } else { "here" };
        loop {
            let word = tokio::select! {
                biased;
                () = self.bus.outgoing.notified() => "nudge",
                () = self.introduce.notified() => presence(),
                _ = heartbeat.tick() => presence(),
            };
            // A lost notification only delays the other nodes.
            self.publish(&format!("{word} {}", self.node)).await;
        }
    }

    /// Publishes a message on the channel of the nodes, and ignores a failure.
    pub(super) async fn publish(&self, message: &str) {
        if let Ok(call) = self.connection.call().await {
            let _ = call.ask::<()>(cmd("PUBLISH").arg(&self.channel).arg(message)).await;
        }
    }

    /// Subscribes, and again whenever the connection is lost. Runs until it is dropped.
    pub(super) async fn listen(self: Arc<Self>) {
        for turn in 0.. {
            if let Ok(Ok(subscription)) = timeout(CONNECT_TIMEOUT, self.subscribe(turn)).await {
                self.receive(subscription).await;
                tracing::debug!(address = %self.address, "lost the subscription to Redis");
                // A change may have been missed, so the watchers look again.
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
        // Notifications sent while this node was not subscribed are not repeated.
        self.watchers.notify_all();
        self.bus.nudged.notify_one();
        self.new_messages.notify_one();
        // Nodes that are new to each other introduce themselves, so this one now hears of all of them.
        self.introduce.notify_one();
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
            ("carries", node) if self.peers.mark_heard(node) => self.introduce.notify_one(),
            ("mail", _) => self.new_messages.notify_one(),
            ("told", rest) => self.record_counts(rest),
            _ => {}
        }
    }

    /// Records the delivery counts that another node reports for our messages.
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
