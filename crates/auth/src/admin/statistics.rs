//! How far sign-ins came, as it is read.

use deskpass_core::Timestamp;
use deskpass_store::HourlyCounts;

use crate::{Auth, Error};

impl Auth {
    /// The hours between two moments in which something happened, the oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn statistics(&self, from: Timestamp, to: Timestamp) -> Result<Vec<HourlyCounts>, Error> {
        Ok(self.store.statistics(from, to).await?)
    }
}
