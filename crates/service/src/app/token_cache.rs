//! The cache of the platform's access token, which all nodes share.

use std::sync::Arc;

use deskpass_auth::CodeExchange;
use deskpass_core::{Clock, Digest};
use deskpass_platform::{CacheFuture, CachedToken, FETCH_LEASE, TokenCache};
use deskpass_store::{Lease, PlatformToken, SharedState, StoreError};

use crate::config::Settings;

/// The access token of one application. When the shared store fails, this node requests a token of its own.
#[derive(Debug)]
pub(super) struct SharedTokenCache {
    shared: Arc<SharedState<CodeExchange>>,
    clock: Clock,
    /// The digest of the application's credentials: another secret has another token.
    application: Digest,
    /// The id of this node.
    node: Digest,
}

impl SharedTokenCache {
    pub(super) fn new(
        shared: Arc<SharedState<CodeExchange>>,
        clock: Clock,
        settings: &Settings,
        node: [u8; 32],
    ) -> Self {
        let platform = &settings.platform;
        let secret = platform.secret.as_ref().map_or("", |secret| secret.expose());
        let api_url = platform.api_url.as_deref().unwrap_or_default();
        let client_id = platform.client_id.as_deref().unwrap_or_default();
        let parts = [platform.kind.name(), api_url, &*platform.corp_id, client_id, secret];
        Self { shared, clock, application: Digest::of(&parts.map(str::as_bytes)), node: Digest::of(&[&node]) }
    }

    async fn keep_token(&self, CachedToken { value, asked_at, expires_at }: CachedToken) -> Result<(), StoreError> {
        let (now, token) = (self.clock.now(), PlatformToken { value, asked_at, expires_at });
        let renewed = |_| Ok::<_, ()>(token.clone());
        if self.shared.tokens.update(&self.application, now, renewed).await?.is_none() {
            self.shared.tokens.put(self.application, token, now).await?;
        }
        Ok(())
    }

    async fn end_claim(&self) -> Result<(), StoreError> {
        let now = self.clock.lease_now();
        // A lease that another node holds by now is kept.
        let over = |lease: Lease| if lease.holder == self.node { Ok(Lease { until: now, ..lease }) } else { Err(()) };
        self.shared.leases.update(&self.application, now, over).await.map(drop)
    }
}

impl TokenCache for SharedTokenCache {
    fn load(&self) -> CacheFuture<'_, Option<CachedToken>> {
        Box::pin(async {
            let kept = |token: &PlatformToken| CachedToken {
                value: token.value.clone(),
                asked_at: token.asked_at,
                expires_at: token.expires_at,
            };
            self.shared.tokens.read_with(&self.application, self.clock.now(), kept).await.ok().flatten()
        })
    }

    fn acquire_lease(&self) -> CacheFuture<'_, bool> {
        Box::pin(async {
            let now = self.clock.lease_now();
            let lease = Lease { holder: self.node, until: now + FETCH_LEASE };
            self.shared.leases.put(self.application, lease, now).await.unwrap_or(true)
        })
    }

    fn store(&self, token: CachedToken) -> CacheFuture<'_, ()> {
        Box::pin(async {
            // When storing the token fails, the next caller requests a new one.
            let _ = self.keep_token(token).await;
            let _ = self.end_claim().await;
        })
    }

    fn release_lease(&self) -> CacheFuture<'_, ()> {
        Box::pin(async { drop(self.end_claim().await) })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::time::Duration;

    use deskpass_core::{MachineClock, Timestamp};

    use super::*;

    /// Its clock may be ahead by more than the lease lasts.
    #[tokio::test]
    async fn the_lease_of_a_live_node_is_not_taken_by_another() {
        let (shared, now) = (Arc::new(SharedState::in_process()), Timestamp::from_millis(1_800_000_000_000));
        let machines = [now, now + Duration::from_secs(50)].map(MachineClock::manual);
        let [here, there] = machines.each_ref().map(|machine| {
            let clock = Clock::after_record(machine.clone(), None);
            clock.align_leases(now);
            let node = Digest::of(&[&machine.wall().millis().to_be_bytes()]);
            SharedTokenCache { shared: Arc::clone(&shared), clock, application: Digest::of(&[b"application"]), node }
        });
        assert!(here.acquire_lease().await);
        assert!(!there.acquire_lease().await);
        here.release_lease().await;
        assert!(there.acquire_lease().await);
        for machine in &machines {
            machine.advance(FETCH_LEASE);
        }
        assert!(here.acquire_lease().await, "the other one died");
        assert_eq!(
            shared.leases.read_with(&here.application, here.clock.lease_now(), |lease| lease.holder).await.unwrap(),
            Some(here.node)
        );
    }
}
