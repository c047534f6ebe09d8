//! Which nodes bring messages to people, by what is heard of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Whoever was not heard of for so long is not there: three times what they let pass between two words.
const PEER_TIMEOUT: Duration = Duration::from_secs(1);

/// The nodes that were heard of, this one among them.
#[derive(Debug)]
pub(super) struct Peers {
    node: String,
    heard: Mutex<HashMap<String, Instant>>,
}

impl Peers {
    pub(super) fn new(node: &str) -> Self {
        Self { node: node.to_owned(), heard: Mutex::default() }
    }

    pub(super) fn heard(&self, node: &str) {
        let (mut heard, now) = (self.lock(), Instant::now());
        // Anyone who can speak here can make up nodes; those go as fast as the real ones.
        heard.retain(|_, last| now.duration_since(*last) < PEER_TIMEOUT);
        heard.insert(node.to_owned(), now);
    }

    /// Those who are there.
    pub(super) fn alive(&self) -> HashSet<String> {
        let (heard, now) = (self.lock(), Instant::now());
        let others =
            heard.iter().filter(|(_, last)| now.duration_since(**last) < PEER_TIMEOUT).map(|(node, _)| node.clone());
        others.chain([self.node.clone()]).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
