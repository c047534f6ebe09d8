//! What counts once, whatever Redis says. Whoever writes to Redis can make a record what it was a moment before: a code that
//! was answered could be answered again, for whoever brings it. So what begins a session is also used up in SQL.

use std::time::Duration;

use deskpass_core::Digest;

use crate::{Auth, Error, code, oauth};

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

/// How far the clocks of two nodes may be apart: to the other one a record may last for longer.
const CLOCK_SKEW: Duration = Duration::from_mins(5);

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
            Self::Code => code::LIFETIME,
            Self::Flow => oauth::FLOW,
            Self::Pending => oauth::PENDING,
        }
    }

    fn digest(self, record: &Digest) -> Digest {
        Digest::of(&[b"once", self.name().as_bytes(), record.bytes()])
    }
}

impl Auth {
    /// Does what something may be used for once; `None` when it was used before. Where it fails for a reason that may pass, it
    /// can be used again.
    pub(crate) async fn once<T>(
        &self,
        what: SingleUse,
        record: &Digest,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<Option<T>, Error> {
        if !self.use_once(what, record).await? {
            return Ok(None);
        }
        let done = work.await;
        if let Err(Error::Internal(_)) = &done {
            self.undo_use(what, record).await;
        }
        done.map(Some)
    }

    /// Uses something up; `false` when it was used before. Records in this process need no more than themselves.
    pub(crate) async fn use_once(&self, what: SingleUse, record: &Digest) -> Result<bool, Error> {
        if !self.shared.is_outside() {
            return Ok(true);
        }
        let until = self.clock.now() + what.lifetime() + CLOCK_SKEW;
        let fresh = self.store.use_once(what.digest(record), until).await?;
        if !fresh {
            tracing::warn!(
                what = what.name(),
                "a record in Redis says that something is unused which was used; who can write to Redis?"
            );
        }
        Ok(fresh)
    }

    /// Makes something usable again whose use came to nothing. Where that fails, whoever has it begins anew.
    pub(crate) async fn undo_use(&self, what: SingleUse, record: &Digest) {
        if self.shared.is_outside()
            && let Err(error) = self.store.undo_use(what.digest(record)).await
        {
            tracing::info!(%error, what = what.name(), "a use that came to nothing could not be undone");
        }
    }
}
