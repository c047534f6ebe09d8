//! The last use of sessions, to within some minutes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use deskpass_core::{Digest, Timestamp};

use crate::cache::LAST_USE_INTERVAL_MILLIS;
use crate::{Result, SessionWithPerson, Store};

/// The maximum number of buffered uses. Further uses are dropped, and a later use of the same session is recorded instead.
const MAX_BUFFERED_USES: usize = 65_536;

/// Uses that are written in one transaction: few, since other transactions may need the same rows.
const USES_PER_TRANSACTION: usize = 50;

pub(super) const RECORD_USE: &str =
    "UPDATE session SET seen_at = $2 WHERE digest = $1 AND (seen_at IS NULL OR seen_at <= $3)";

/// Uses that are not yet written.
#[derive(Default)]
pub(crate) struct LastUseBuffer(Mutex<HashMap<Digest, Timestamp>>);

impl LastUseBuffer {
    fn note(&self, digest: Digest, at: Timestamp) {
        let mut waiting = self.waiting();
        if waiting.len() < MAX_BUFFERED_USES || waiting.contains_key(&digest) {
            waiting.insert(digest, at);
        }
    }

    fn take(&self, at_most: usize) -> Vec<(Digest, Timestamp)> {
        let mut waiting = self.waiting();
        let mut taken: Vec<_> = waiting.iter().take(at_most).map(|(digest, at)| (*digest, *at)).collect();
        for (digest, _) in &taken {
            waiting.remove(digest);
        }
        // In one order, so that nodes that write uses of the same sessions do not deadlock.
        taken.sort_unstable_by_key(|(digest, _)| *digest.bytes());
        taken
    }

    /// Puts uses that were not written back, unless there are newer ones.
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

debug_only!(LastUseBuffer);

impl Store {
    /// Records that a session is used. Usually the last use is recent, and there is nothing to record. Of several concurrent callers,
    /// one records the use, unless the session is not cached.
    pub fn touch_session(&self, record: &SessionWithPerson, digest: &Digest, now: Timestamp) {
        if record.is_use_due(now) && self.cache.record_use(digest, now) {
            self.last_uses.note(*digest, now);
        }
    }

    /// Writes up to `batch` buffered uses; returns their number. If the store fails, the uses stay buffered.
    pub async fn flush_last_uses(&self, batch: usize) -> Result<usize> {
        let taken = self.last_uses.take(batch);
        for (at, some) in taken.chunks(USES_PER_TRANSACTION).enumerate() {
            let uses = some.to_vec();
            let written = self.database.write(move |tx| {
                // While the cache is not trusted, every use is buffered; this condition keeps the precision the same.
                let before =
                    |at: Timestamp| Timestamp::from_millis(at.millis().saturating_sub(LAST_USE_INTERVAL_MILLIS));
                uses.iter()
                    .try_for_each(|(digest, at)| tx.execute(RECORD_USE, &args![*digest, *at, before(*at)]).map(drop))
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
    fn the_buffer_is_bounded() {
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
    fn a_restored_use_does_not_replace_a_newer_one() {
        let seen = LastUseBuffer::default();
        seen.note(digest(1), at(1));
        let taken = seen.take(10);
        seen.note(digest(1), at(2));
        seen.put_back(&taken);
        assert_eq!(seen.take(10), [(digest(1), at(2))]);
    }
}
