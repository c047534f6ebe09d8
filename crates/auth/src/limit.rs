//! Limits on how often something may be done.

use std::time::Duration;

use deskpass_core::{Digest, Rate};
use deskpass_store::LimitSubject;

use crate::{Auth, Refusal};

/// What writes rows at each request, and so is limited for each session or grant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LimitedWrite {
    /// A switch of the role.
    SwitchRole,
    /// An answer to a request of an OpenID Connect client.
    ContinueToClient,
    /// A request of such a client that is answered with a code without asking.
    EnterSilently,
    /// The use of a refresh token.
    Refresh,
}

impl LimitedWrite {
    /// The name, and how many are permitted in a minute.
    const fn name_and_maximum(self) -> (&'static str, u32) {
        match self {
            Self::SwitchRole => ("switch role", 20),
            Self::ContinueToClient => ("continue to client", 20),
            // More than a browser with many programs needs that all sign in anew at once.
            Self::EnterSilently => ("enter silently", 60),
            Self::Refresh => ("refresh", 30),
        }
    }
}

impl Auth {
    /// Counts a request that writes rows for this session or grant, and refuses it if there were too many in the last minute.
    pub(crate) async fn limit_write(&self, write: LimitedWrite, of: &[u8]) -> Result<(), Refusal> {
        if !self.policy.limits_requests {
            return Ok(());
        }
        let (name, maximum) = write.name_and_maximum();
        self.limit(Digest::of(&[name.as_bytes(), of]), maximum, Duration::from_mins(1)).await
    }

    /// Counts one use of what `key` names, and refuses it if there were more than so many in the period.
    pub(crate) async fn limit(&self, key: Digest, at_most: u32, period: Duration) -> Result<(), Refusal> {
        let Some(rate) = Rate::new(at_most, period) else { return Ok(()) };
        let admitted = self.shared.limits.admit(LimitSubject::Client, &key, rate, self.clock.now()).await;
        admitted.map_err(Refusal::RateLimited)
    }

    /// Whether [`limit`](Self::limit) would refuse the next use. Counts none.
    pub(crate) async fn is_limited(&self, key: Digest, at_most: u32, period: Duration) -> bool {
        match Rate::new(at_most, period) {
            Some(rate) => self.shared.limits.is_exhausted(LimitSubject::Client, &key, rate, self.clock.now()).await,
            None => false,
        }
    }
}
