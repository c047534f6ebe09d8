//! Whether this service sent the browser to the platform that brings a code from there. Another code costs the platform no call where
//! the platform returns our state; elsewhere a bounded number of calls, which sign-ins that began here do not share.

use deskpass_core::{Digest, rate_limit_address};
use deskpass_platform::RedirectRule;
use deskpass_store::LimitSubject;

use super::OAuthCallback;
use crate::{Auth, Error, ForeignCodePolicy, Refusal};

impl Auth {
    /// Requires a sign that the sign-in began here, or a place in the budget of the others.
    pub(super) async fn require_begun_here(&self, code: &Digest, callback: &OAuthCallback) -> Result<(), Error> {
        // The scan id is checked before the platform is asked.
        if callback.is_sealed || callback.scan_id.is_some() || self.has_flow(callback.flow).await? {
            return Ok(());
        }
        // The platform was asked about it, and is asked no more.
        if self.shared.codes.read_with(code, self.clock.now(), |_| ()).await?.is_some() {
            return Ok(());
        }
        match self.platform.redirect_rule() {
            // The state that older nodes write says nothing about its origin.
            RedirectRule::Exact if !self.shared.hears_older_nodes() => Err(Refusal::InvalidCode.into()),
            RedirectRule::Exact | RedirectRule::Domain => Ok(self.count_foreign_code(callback).await?),
        }
    }

    async fn has_flow(&self, flow: Option<Digest>) -> Result<bool, Error> {
        let Some(flow) = flow else { return Ok(false) };
        Ok(self.shared.flows.read_with(&flow, self.clock.now(), |_| ()).await?.is_some())
    }

    /// Counts a call: first for its address, so that one address does not use up the budget of all.
    async fn count_foreign_code(&self, callback: &OAuthCallback) -> Result<(), Refusal> {
        let ForeignCodePolicy { per_address, in_total } = self.policy.foreign_codes;
        let address = rate_limit_address(callback.visitor.address.decided).to_string();
        let own = Digest::of(&[b"foreign_codes", address.as_bytes()]);
        let all = Digest::of(&[b"foreign_codes_total"]);
        for (key, rate) in [(own, per_address), (all, in_total)] {
            let Some(rate) = rate else { continue };
            let admitted = self.shared.limits.admit(LimitSubject::Client, &key, rate, self.clock.now()).await;
            admitted.map_err(|_| Refusal::CodesLimited)?;
        }
        Ok(())
    }
}
