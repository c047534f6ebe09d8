//! When sessions were last used, to within some minutes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use deskpass_core::{Digest, Timestamp};

use crate::cache::LAST_USE_INTERVAL_MILLIS;
use crate::{SessionWithPerson, Store, StoreError};

/// Uses that wait to be written down at most. Beyond it some are not, and the next ones of the same sessions are.
const MAX_BUFFERED_USES: usize = 65_536;

/// Uses that are written down at once: others may want the same rows.
const USES_PER_TRANSACTION: usize = 50;

/// Uses that wait to be written down.
#[derive(Default)]
pub(crate) struct LastUseBuffer(Mutex<HashMap<Digest, Timestamp>>);

impl LastUseBuffer {
    fn note(&self, digest: Digest, at: Timestamp) {
        let mut waiting = self.waiting();
        if waiting.len() < MAX_BUFFERED_USES || waiting.contains_key(&digest) {
            waiting.insert(digest, at);
        }
    }

    /// Takes some of them out.
    fn take(&self, at_most: usize) -> Vec<(Digest, Timestamp)> {
        let mut waiting = self.waiting();
        let mut taken: Vec<_> = waiting.iter().take(at_most).map(|(digest, at)| (*digest, *at)).collect();
        for (digest, _) in &taken {
            waiting.remove(digest);
        }
        // Nodes that write down the same ones must not wait for each other in a circle.
        taken.sort_unstable_by_key(|(digest, _)| *digest.bytes());
        taken
    }

    /// Puts back what was not written, unless there is something newer.
    fn put_back(&self, taken: &[(Digest, Timestamp)]) {
        let mut waiting = self.waiting();
        for (digest, at) in taken {
            if waiting.len() < MAX_BUFFERED_USES {
                waiting.entry(*digest).or_insert(*at);
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Digest, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LastUseBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LastUseBuffer({})", self.waiting().len())
    }
}

impl Store {
    /// Notes that a session is being used. Most of the time there is nothing to note.
    pub fn touch_session(&self, standing: &SessionWithPerson, digest: &Digest, now: Timestamp) {
        if standing.should_record_use(now) {
            self.last_uses.note(*digest, now);
        }
    }

    /// Writes down up to `batch` of the uses that were noted; returns how many were.
    ///
    /// # Errors
    /// When the store fails; then they stay noted.
    pub async fn flush_last_uses(&self, batch: usize) -> Result<usize, StoreError> {
        let taken = self.last_uses.take(batch);
        for (at, some) in taken.chunks(USES_PER_TRANSACTION).enumerate() {
            let uses = some.to_vec();
            let written = self.database.write(move |tx| {
                let text = "UPDATE session SET seen_at = $2 WHERE digest = $1 AND (seen_at IS NULL OR seen_at <= $3)";
                // Where the cache is not believed, every use is noted; that makes it no less coarse.
                let before =
                    |at: Timestamp| Timestamp::from_millis(at.millis().saturating_sub(LAST_USE_INTERVAL_MILLIS));
                uses.iter().try_for_each(|(digest, at)| tx.execute(text, &args![*digest, *at, before(*at)]).map(drop))
            });
            if let Err(error) = written.await {
                self.last_uses.put_back(taken.get(at * USES_PER_TRANSACTION..).unwrap_or_default());
                return Err(error);
            }
        }
        Ok(taken.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: usize) -> Digest {
        Digest::of(&[&number.to_be_bytes()])
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn no_more_wait_than_may() {
        let seen = LastUseBuffer::default();
        for number in 0..MAX_BUFFERED_USES + 10 {
            seen.note(digest(number), at(1));
        }
        seen.note(digest(0), at(2));
        assert_eq!(seen.waiting().len(), MAX_BUFFERED_USES);
        assert_eq!(seen.waiting().get(&digest(0)), Some(&at(2)));
        let taken = seen.take(100);
        assert_eq!((taken.len(), seen.waiting().len()), (100, MAX_BUFFERED_USES - 100));
        seen.put_back(&taken);
        assert_eq!(seen.waiting().len(), MAX_BUFFERED_USES);
    }

    #[test]
    fn what_is_put_back_does_not_undo_what_came_since() {
        let seen = LastUseBuffer::default();
        seen.note(digest(1), at(1));
        let taken = seen.take(10);
        seen.note(digest(1), at(2));
        seen.put_back(&taken);
        assert_eq!(seen.take(10), [(digest(1), at(2))]);
    }
}
