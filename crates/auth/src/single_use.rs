//! What counts once, whatever Redis says. Whoever writes to Redis can make a record what it was a moment before: a code that
//! was answered could be answered again, for whoever brings it. So what begins a session is also used up in SQL.

use std::time::Duration;

use deskpass_core::{Digest, Timestamp};
use deskpass_store::Store;
use tokio::time::{sleep, timeout};

use crate::{Auth, Error};

/// Something that may be used once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SingleUse {
    /// A code of the platform.
    Code,
    /// A browser's way to the platform and back.
    Flow,
    /// Somebody who says that it was they who began.
    Pending,
}

/// How long the same code from the same browser gets the same answer.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_mins(1);
/// How long a browser may be away at the platform.
pub(crate) const FLOW_LIFETIME: Duration = Duration::from_mins(10);
/// How long somebody may think about whether to continue.
pub(crate) const PENDING_LIFETIME: Duration = Duration::from_mins(3);
/// How far the clocks of two nodes may be apart: to the other one a record may last for longer.
const CLOCK_SKEW: Duration = Duration::from_mins(5);
/// How long somebody who is to be told that something failed waits until it can be used again, and how long between tries.
const UNDO_RETRY_PAUSE: Duration = Duration::from_millis(500);
/// How often that is tried.
const MAX_UNDO_ATTEMPTS: usize = 10;

impl SingleUse {
    const fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Flow => "flow",
            Self::Pending => "pending",
        }
    }

    /// How long the record lasts.
    const fn lifetime(self) -> Duration {
        match self {
            Self::Code => CODE_LIFETIME,
            Self::Flow => FLOW_LIFETIME,
            Self::Pending => PENDING_LIFETIME,
        }
    }

    fn digest(self, record: &Digest) -> Digest {
        Digest::of(&[b"once", self.name().as_bytes(), record.bytes()])
    }
}

/// That something was used, by whoever may undo it.
#[derive(Debug)]
pub(crate) struct UseReceipt {
    what: SingleUse,
    digest: Digest,
    /// A value of this attempt alone. It lies in no record: whoever puts a record back must not undo what others used.
    attempt: Digest,
    until: Timestamp,
}

impl Auth {
    /// Does what something may be used for once; `None` when it was used before. Where it fails for a reason that may pass, it
    /// can be used again.
    pub(crate) async fn run_once<T>(
        &self,
        what: SingleUse,
        record: &Digest,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<Option<T>, Error> {
        let Some(used) = self.use_once(what, record).await? else { return Ok(None) };
        let done = work.await;
        if let Err(Error::Internal(_)) = &done {
            self.undo_use(used).await;
        }
        done.map(Some)
    }

    /// Uses something up; `None` when it was used before. Records in this process need no more than themselves.
    pub(crate) async fn use_once(&self, what: SingleUse, record: &Digest) -> Result<Option<UseReceipt>, Error> {
        let (digest, until) = (what.digest(record), self.clock.now() + what.lifetime() + CLOCK_SKEW);
        if !self.shared.is_outside() {
            return Ok(Some(UseReceipt { what, digest, attempt: digest, until }));
        }
        let attempt = Digest::of(&[&self.entropy.bytes::<32>()?]);
        let used = UseReceipt { what, digest, attempt, until };
        match self.store.use_once(digest, attempt, until).await {
            Ok(true) => Ok(Some(used)),
            Ok(false) => {
                tracing::warn!(
                    what = what.name(),
                    "something was used before that a record in Redis says is unused; unless a node died or the database \
                     failed within the last minutes, who can write to Redis?"
                );
                Ok(None)
            }
            Err(error) => {
                // It may have been used all the same.
                self.undo_use(used).await;
                Err(error.into())
            }
        }
    }

    /// Makes something usable again whose use came to nothing. That goes on for a while where the database fails, and nobody
    /// waits for it for long. Where it fails for good, whoever has it begins anew.
    pub(crate) async fn undo_use(&self, used: UseReceipt) {
        if self.shared.is_outside() {
            let undoing = tokio::spawn(undo(self.store.clone(), used));
            drop(timeout(UNDO_RETRY_PAUSE, undoing).await);
        }
    }
}

async fn undo(store: Store, UseReceipt { what, digest, attempt, until }: UseReceipt) {
    for _ in 0..MAX_UNDO_ATTEMPTS {
        match store.undo_use(digest, attempt, until).await {
            Ok(()) => return,
            Err(error) => tracing::info!(%error, what = what.name(), "a use that came to nothing could not be undone"),
        }
        sleep(UNDO_RETRY_PAUSE).await;
    }
}
