//! Answers that a phone gave and that have no effect, as the log must say: the row of the answer may be in it.
//!
//! The row is written before the question changes. If the change fails, or if it stays unknown whether the row was written, nothing
//! comes of the answer; and while the database is away, that cannot be logged, either. So this node remembers it until it can.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_store::LogEntry;

use crate::Auth;

/// How long it can take until a commit whose outcome is unknown is visible, or cannot be made any more.
pub(super) const COMMIT_PERIOD: Duration = Duration::from_secs(30);

/// The number of answers that are remembered: far more than people answer while the database is away.
const MAX_ANSWERS: usize = 1_000;

/// An answer that was accepted, and has no effect.
#[derive(Clone, Debug)]
pub(super) struct UnsettledAnswer {
    /// The id of the row of the answer.
    pub(super) answer: String,
    /// The row that says that the answer has no effect, or that this is not known.
    pub(super) correction: LogEntry,
    /// When the row of the answer is in the log, if it was written at all.
    pub(super) due: Timestamp,
}

/// The answers without effect of which the log does not say so yet.
#[derive(Debug, Default)]
pub struct UnsettledAnswers(Mutex<Vec<UnsettledAnswer>>);

impl UnsettledAnswers {
    pub(super) fn add(&self, answer: UnsettledAnswer) {
        let mut list = self.list();
        if list.len() < MAX_ANSWERS {
            list.push(answer);
        } else {
            tracing::warn!(row = answer.answer, "the log may have an answer of a phone that has no effect");
        }
    }

    /// Takes out those that are due.
    fn take_due(&self, now: Timestamp) -> Vec<UnsettledAnswer> {
        let mut list = self.list();
        let all = mem::take(&mut *list).into_iter();
        let (due, early) = all.partition(|answer| answer.due <= now);
        *list = early;
        due
    }

    // Every change leaves the list consistent, so a poisoned lock is harmless.
    fn list(&self) -> MutexGuard<'_, Vec<UnsettledAnswer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Auth {
    /// Logs that answers had no effect, where the row of the answer is in the log.
    pub(crate) async fn log_unsettled_answers(&self) {
        for unsettled in self.unsettled_answers.take_due(self.clock.now()) {
            let UnsettledAnswer { answer, correction, .. } = unsettled.clone();
            if let Err(error) = self.store.record_correction(answer, correction).await {
                tracing::warn!(%error, "that an answer of a phone has no effect is logged later");
                self.unsettled_answers.add(unsettled);
            }
        }
    }
}
