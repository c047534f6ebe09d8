//! Ends what a client got that was disabled, removed, or may have less than before. The change itself commits alone, and every use of a
//! token checks it. There may be many grants, so they end in batches, which delay no sign-in.

use crate::{Auth, Error};

/// The number of grants that end at once.
const BATCH_SIZE: i64 = 500;

impl Auth {
    /// Ends all that a client got, if a change of it demands that; returns how much. If this stops halfway, [`Auth::deliver_logouts`]
    /// goes on with it, on any node.
    pub(crate) async fn end_grants_of_client(&self, id: &str) -> Result<usize, Error> {
        let mut ended = 0;
        loop {
            match self.end_grant_batch(id).await? {
                0 => return Ok(ended),
                some => ended += some,
            }
        }
    }

    /// Ends a batch of what each client got that was changed so; returns how much.
    pub(super) async fn end_grants_of_changed_clients(&self) -> Result<usize, Error> {
        let rules = self.store.access_rules().await?;
        let mut ended = 0;
        for id in rules.ending_oidc_clients() {
            ended += self.end_grant_batch(id).await?;
        }
        Ok(ended)
    }

    async fn end_grant_batch(&self, id: &str) -> Result<usize, Error> {
        Ok(self.store.end_grants_of_client_batch(id.to_owned(), self.clock.now(), BATCH_SIZE).await?)
    }
}
