//! The logouts that wait for a client. Each client has a queue of its own: one that responds slowly delays no other.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use deskpass_core::Timestamp;
use deskpass_store::LogoutNotice;

/// The maximum number of logouts that wait in the queue of a client. Further ones stay in the store until there is room.
pub(super) const MAX_WAITING: usize = 12;
/// The maximum number of logouts that a client gets at once.
pub(super) const MAX_WORKERS: usize = 4;

/// A logout that this node has claimed.
#[derive(Clone, Debug)]
pub(super) struct ClaimedLogout {
    pub(super) notice: LogoutNotice,
    /// When another node may claim it.
    pub(super) until: Timestamp,
}

/// The queues, by client. There is none for a client without waiting logouts.
#[derive(Debug, Default)]
pub(super) struct LogoutQueues(Mutex<HashMap<String, ClientQueue>>);

#[derive(Debug, Default)]
struct ClientQueue {
    waiting: VecDeque<ClaimedLogout>,
    workers: usize,
}

impl LogoutQueues {
    /// How many logouts the queue of a client has room for.
    pub(super) fn room(&self, client: &str) -> i64 {
        let waiting = self.lock().get(client).map_or(0, |queue| queue.waiting.len());
        i64::try_from(MAX_WAITING.saturating_sub(waiting)).unwrap_or(0)
    }

    /// Adds a logout to the queue of its client; returns whether one more worker is needed. The caller starts it.
    pub(super) fn push(&self, claimed: ClaimedLogout) -> bool {
        let mut queues = self.lock();
        let queue = queues.entry(claimed.notice.client_id.clone()).or_default();
        if queue.waiting.len() >= MAX_WAITING {
            return false;
        }
        queue.waiting.push_back(claimed);
        let needs_worker = queue.workers < MAX_WORKERS;
        queue.workers += usize::from(needs_worker);
        needs_worker
    }

    /// The next logout for a worker of this client; `None` ends the worker.
    pub(super) fn next(&self, client: &str) -> Option<ClaimedLogout> {
        let mut queues = self.lock();
        let queue = queues.get_mut(client)?;
        if let Some(claimed) = queue.waiting.pop_front() {
            return Some(claimed);
        }
        queue.workers = queue.workers.saturating_sub(1);
        if queue.workers == 0 {
            queues.remove(client);
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ClientQueue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(client: &str, number: usize) -> ClaimedLogout {
        let notice = LogoutNotice {
            sid: number.to_string(),
            client_id: client.to_owned(),
            subject: String::new(),
            at: Timestamp::from_millis(0),
            tries: 1,
            status: String::new(),
        };
        ClaimedLogout { notice, until: Timestamp::from_millis(0) }
    }

    #[test]
    fn a_client_has_few_workers_and_a_bounded_queue_and_delays_no_other() {
        let queues = LogoutQueues::default();
        assert_eq!(usize::try_from(queues.room("slow")), Ok(MAX_WAITING));
        let started = (0..1_000).filter(|number| queues.push(claimed("slow", *number))).count();
        assert_eq!((started, queues.room("slow")), (MAX_WORKERS, 0));
        assert!(queues.push(claimed("other", 0)), "it has a worker of its own");
        let kept = std::iter::from_fn(|| queues.next("slow")).count();
        assert_eq!(kept, MAX_WAITING);
    }

    #[test]
    fn nothing_is_kept_of_a_client_without_logouts() {
        let queues = LogoutQueues::default();
        assert!(queues.push(claimed("a", 1)) && queues.push(claimed("a", 2)));
        assert_eq!(queues.next("a").map(|claimed| claimed.notice.sid).as_deref(), Some("1"));
        assert_eq!(queues.next("a").map(|claimed| claimed.notice.sid).as_deref(), Some("2"));
        assert!(queues.next("a").is_none() && queues.next("a").is_none());
        assert!(queues.lock().is_empty());
        assert!(queues.push(claimed("a", 3)), "a worker starts again");
    }
}
