//! Statistics of sign-ins, for reading.

use deskpass_core::Timestamp;
use deskpass_store::HourlyCounts;

use crate::{Auth, Error};

impl Auth {
    /// The hourly counts between two times, oldest first. Hours without events are left out.
    pub async fn statistics(&self, from: Timestamp, to: Timestamp) -> Result<Vec<HourlyCounts>, Error> {
        Ok(self.store.statistics(from, to).await?)
    }
}
