//! Single use of codes and flows, whatever Redis says. A client that can write to Redis can restore an earlier record and have
//! an answered code answered again. So everything that begins a session is also marked as used in SQL.

use std::time::Duration;

use deskpass_core::{Digest, MatchNumber, QUESTION_LIFETIME, Timestamp, VERIFIED_PERIOD};
use deskpass_platform::Pending;
use deskpass_store::Store;
use tokio::time::{sleep, timeout};

use crate::{Auth, Error};

/// A record that may be used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SingleUse {
    /// A code of the platform.
    Code,
    /// A browser's flow to the platform and back.
    Flow,
    /// A pending confirmation that the user started the sign-in.
    Pending,
    /// A question to a phone, which is answered once.
    Answer,
    /// The approval of an operation.
    Approval,
    /// The number that a phone picks for a QR sign-in.
    Number,
    /// A reset of one kind, for a caller who was verified.
    Reset,
}

/// How long a QR sign-in is valid.
pub(crate) const QR_LIFETIME: Duration = Duration::from_mins(3);
/// How long the same code from the same browser gets the same answer.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_mins(1);
/// How long a browser may stay at the platform.
pub(crate) const FLOW_LIFETIME: Duration = Duration::from_mins(10);
/// How long a user may take to confirm.
pub(crate) const PENDING_LIFETIME: Duration = Duration::from_mins(3);
/// The clock difference between two nodes that is allowed for: a record may last longer on another node.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_mins(5);
/// How long a failing request waits for its use to be undone, and the pause between attempts.
const UNDO_RETRY_PAUSE: Duration = Duration::from_millis(500);
const MAX_UNDO_ATTEMPTS: usize = 10;

impl SingleUse {
    const fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Flow => "flow",
            Self::Pending => "pending",
            Self::Answer => "answer",
            Self::Approval => "approval",
            Self::Number => "number",
            Self::Reset => "reset",
        }
    }

    const fn lifetime(self) -> Duration {
        match self {
            Self::Code => CODE_LIFETIME,
            Self::Flow => FLOW_LIFETIME,
            Self::Pending => PENDING_LIFETIME,
            Self::Answer | Self::Approval => QUESTION_LIFETIME,
            Self::Number => QR_LIFETIME,
            Self::Reset => VERIFIED_PERIOD,
        }
    }

    /// Whether it is marked in SQL also where records are in process memory. An answer is, because its row in the audit log is
    /// written before the record changes: of two answers at once, only one may write it. A reset is, because the record of the
    /// verification stays for the other kind of reset.
    const fn is_always_marked(self) -> bool {
        matches!(self, Self::Answer | Self::Reset)
    }

    /// Whether what it permits can be repeated when it is unknown whether it was committed. A sign-in has one token, however often
    /// it is tried. But an answer would be logged twice, and one verification of a caller would permit two resets.
    const fn is_repeatable(self) -> bool {
        matches!(self, Self::Code | Self::Flow | Self::Pending)
    }

    fn digest(self, record: &Digest) -> Digest {
        Digest::of(&[b"once", self.name().as_bytes(), record.bytes()])
    }
}

/// The receipt of a use, with which it can be undone.
#[derive(Debug)]
pub(crate) struct UseReceipt {
    what: SingleUse,
    digest: Digest,
    /// A random value of this attempt, in no shared record: restoring a record must not undo the uses of others.
    attempt: Digest,
    until: Timestamp,
}

impl Auth {
    /// Runs work that a record permits once; `None` if the record was used before. If the work fails for a transient reason, the
    /// record can be used again; if it is unknown whether it has an effect, only for work that can be repeated.
    pub(crate) async fn run_once<T>(
        &self,
        what: SingleUse,
        record: &Digest,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<Option<T>, Error> {
        let Some(used) = self.use_once(what, record).await? else { return Ok(None) };
        let done = work.await;
        if let Err(error @ Error::Internal(_)) = &done
            && (what.is_repeatable() || !error.is_outcome_unknown())
        {
            self.undo_use(used).await;
        }
        done.map(Some)
    }

    fn is_marked(&self, what: SingleUse) -> bool {
        self.shared.is_outside() || what.is_always_marked()
    }

    /// Uses a record up; `None` if it was used before. Most records in process memory need no mark in SQL.
    pub(crate) async fn use_once(&self, what: SingleUse, record: &Digest) -> Result<Option<UseReceipt>, Error> {
        let (digest, until) = (what.digest(record), self.clock.now() + what.lifetime() + CLOCK_SKEW);
        if !self.is_marked(what) {
            return Ok(Some(UseReceipt { what, digest, attempt: digest, until }));
        }
        let attempt = Digest::of(&[&self.entropy.bytes::<32>()?]);
        let used = UseReceipt { what, digest, attempt, until };
        match self.store.use_once(digest, attempt, until).await {
            Ok(true) => Ok(Some(used)),
            // A person who presses twice answers or resets twice.
            Ok(false) if what.is_always_marked() => Ok(None),
            Ok(false) => {
                tracing::warn!(
                    what = what.name(),
                    "a record in Redis shows as unused what was used before; unless a node or the database failed \
                     within the last minutes, check who can write to Redis"
                );
                Ok(None)
            }
            Err(error) => {
                // The record may have been marked as used nevertheless.
                self.undo_use(used).await;
                Err(error.into())
            }
        }
    }

    /// Whether a record that is always marked in SQL was used before.
    pub(crate) async fn was_used(&self, what: SingleUse, record: &Digest) -> Result<bool, Error> {
        Ok(self.store.is_used(what.digest(record)).await?)
    }

    /// Marks the number that a phone picked for a ticket; `false` if it picked another one before. It may pick the same one again
    /// after a failure, and no other, also if Redis is restored: otherwise it could guess again.
    pub(crate) async fn pick_once(&self, ticket: &Digest, picked: Option<MatchNumber>) -> Result<bool, Error> {
        let what = SingleUse::Number;
        if !self.is_marked(what) {
            return Ok(true);
        }
        let attempt = Digest::of(&[b"picked", &[picked.map_or(0, MatchNumber::get)]]);
        let until = self.clock.now() + what.lifetime() + CLOCK_SKEW;
        Ok(self.store.use_once(what.digest(ticket), attempt, until).await?)
    }

    /// Makes a record usable again whose use had no effect. Retries for a while if the database fails, but the request waits only
    /// briefly. If all attempts fail, the user starts again.
    pub(crate) async fn undo_use(&self, used: UseReceipt) {
        if self.is_marked(used.what) {
            let undoing: Pending<'static, ()> = Box::pin(undo(self.store.clone(), used));
            drop(timeout(UNDO_RETRY_PAUSE, tokio::spawn(undoing)).await);
        }
    }
}

async fn undo(store: Store, UseReceipt { what, digest, attempt, until }: UseReceipt) {
    for _ in 0..MAX_UNDO_ATTEMPTS {
        match store.undo_use(digest, attempt, until).await {
            Ok(()) => return,
            Err(error) => tracing::info!(%error, what = what.name(), "could not undo an unused single use"),
        }
        sleep(UNDO_RETRY_PAUSE).await;
    }
}
