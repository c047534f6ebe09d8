//! Limits on how often something may be done.

use std::time::Duration;

use deskpass_core::{Digest, Rate};
use deskpass_store::LimitSubject;

use crate::{Auth, Refusal};

impl Auth {
    /// Counts one use of what `key` names, and refuses it if there were more than so many in the period.
    pub(crate) async fn limit(&self, key: Digest, at_most: u32, period: Duration) -> Result<(), Refusal> {
        let Some(rate) = Rate::new(at_most, period) else { return Ok(()) };
        let admitted = self.shared.limits.admit(LimitSubject::Client, &key, rate, self.clock.now()).await;
        admitted.map_err(Refusal::RateLimited)
    }
}
