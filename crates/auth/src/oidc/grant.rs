//! Whether a grant is valid now.

use std::sync::Arc;

use deskpass_store::{AccessRules, GrantRecord};

use super::client::Admission;
use crate::{Auth, Error, TokenHolder};

/// The user behind a valid grant.
#[derive(Debug)]
pub(super) struct LiveGrant {
    pub(super) holder: TokenHolder,
    pub(super) admission: Admission,
    pub(super) rules: Arc<AccessRules>,
}

impl Auth {
    /// The user behind a grant, if the grant, its session and its client are valid and the user may still use the client from the
    /// address where the grant began. Does no I/O while everything is cached.
    pub(super) async fn live_grant(&self, grant: &GrantRecord) -> Result<Option<LiveGrant>, Error> {
        if !self.is_current(grant) {
            return Ok(None);
        }
        let Some(holder) = self.untouched_holder(grant.session).await? else { return Ok(None) };
        let rules = self.store.access_rules().await?;
        let admitted = self.admit_to_client(&rules, &grant.client_id, &holder, grant.address);
        Ok(admitted.ok().map(|admission| LiveGrant { holder, admission, rules }))
    }

    /// Whether a grant has neither ended nor expired.
    pub(super) fn is_current(&self, grant: &GrantRecord) -> bool {
        grant.ended_at.is_none() && self.clock.now_for(grant.created_at) < grant.expires_at
    }
}
