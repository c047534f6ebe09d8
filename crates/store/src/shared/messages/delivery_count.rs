//! Counts the deliveries of a message on all nodes.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The running counts of this node, by number.
#[derive(Debug, Default)]
pub(crate) struct DeliveryCounts(Mutex<HashMap<u64, PendingCount>>);

#[derive(Debug)]
struct PendingCount {
    delivered: usize,
    /// The nodes that have not reported yet.
    awaited: HashSet<String>,
    whole: Arc<Notify>,
}

/// A running count. It ends when this value is dropped.
#[derive(Debug)]
pub struct DeliveryCount {
    number: u64,
    /// The deadline after which missing nodes are left out.
    late: Option<Instant>,
    whole: Arc<Notify>,
    among: Arc<DeliveryCounts>,
}

impl DeliveryCounts {
    /// Starts a count of the reports of these nodes.
    pub(crate) fn begin(self: &Arc<Self>, number: u64, nodes: HashSet<String>) -> DeliveryCount {
        let whole = Arc::<Notify>::default();
        self.lock().insert(number, PendingCount { delivered: 0, awaited: nodes, whole: Arc::clone(&whole) });
        DeliveryCount { number, late: None, whole, among: Arc::clone(self) }
    }

    pub(crate) fn report(&self, node: &str, number: u64, delivered: usize) {
        let mut counts = self.lock();
        let Some(count) = counts.get_mut(&number) else { return };
        count.awaited.remove(node);
        count.delivered += delivered;
        if count.awaited.is_empty() {
            count.whole.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, PendingCount>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeliveryCount {
    pub(crate) fn until(mut self, late: Instant) -> Self {
        self.late = Some(late);
        self
    }

    /// Returns the number of deliveries after every node has reported. Nodes that miss the deadline are left out.
    pub async fn delivered(self) -> usize {
        match self.late {
            Some(late) => drop(timeout_at(late, self.whole.notified()).await),
            None => self.whole.notified().await,
        }
        self.among.lock().get(&self.number).map_or(0, |count| count.delivered)
    }
}

impl Drop for DeliveryCount {
    fn drop(&mut self) {
        self.among.lock().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_count_is_complete_when_every_node_has_reported_and_is_then_removed() {
        let counts = Arc::<DeliveryCounts>::default();
        let counting = counts.begin(7, ["a", "b"].map(str::to_owned).into());
        counts.report("b", 7, 2);
        counts.report("a", 7, 3);
        counts.report("a", 8, 3);
        assert_eq!(counting.delivered().await, 5);
        assert!(counts.lock().is_empty());
    }
}
