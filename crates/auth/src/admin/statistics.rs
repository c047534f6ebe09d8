//! How far sign-ins came.

use deskpass_core::Timestamp;
use deskpass_store::{Hour, Step};

use crate::{Auth, Error};

impl Auth {
    /// Counts a step of a sign-in.
    pub(crate) fn count(&self, step: Step) {
        self.store.count(step, self.clock.now());
    }

    /// The hours between two moments in which something happened, the oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn statistics(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Hour>, Error> {
        Ok(self.store.statistics(from, to).await?)
    }
}
