//! The nodes that deliver messages, by their heartbeats.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The silence after which a node counts as gone: three heartbeat intervals.
const PEER_TIMEOUT: Duration = Duration::from_secs(1);

/// The beginning of the names of nodes since version 0.3.0. Nodes of version 0.2.0 have none, and read names as they are.
pub(super) const NODE_MARK: &str = "v3-";
/// How long a node of an earlier version is believed to be there after it was heard: as long as what it began may last.
const OLDER_NODE_TIMEOUT: Duration = Duration::from_mins(10);

/// The nodes whose heartbeats were received, and this node.
#[derive(Debug)]
pub(super) struct Peers {
    node: String,
    last_heard: Mutex<HashMap<String, Instant>>,
    /// When a node of an earlier version was last heard.
    older_heard: Mutex<Option<Instant>>,
}

impl Peers {
    pub(super) fn new(node: &str) -> Self {
        Self { node: node.to_owned(), last_heard: Mutex::default(), older_heard: Mutex::default() }
    }

    /// Records a heartbeat; returns whether the node was unknown.
    pub(super) fn mark_heard(&self, node: &str) -> bool {
        let (mut last_heard, now) = (self.lock(), Instant::now());
        if !node.starts_with(NODE_MARK) {
            *self.older_heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        }
        // A third party on the channel can invent nodes; they expire as fast as real ones.
        last_heard.retain(|_, last| now.duration_since(*last) < PEER_TIMEOUT);
        last_heard.insert(node.to_owned(), now).is_none()
    }

    /// Whether a node of an earlier version may be there.
    pub(super) fn hears_older(&self) -> bool {
        let heard = *self.older_heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.is_some_and(|heard| heard.elapsed() < OLDER_NODE_TIMEOUT)
    }

    pub(super) fn alive(&self) -> HashSet<String> {
        let (last_heard, now) = (self.lock(), Instant::now());
        let others = last_heard
            .iter()
            .filter(|(_, last)| now.duration_since(**last) < PEER_TIMEOUT)
            .map(|(node, _)| node.clone());
        others.chain([self.node.clone()]).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.last_heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
