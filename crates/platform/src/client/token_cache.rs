//! The token cache, which several nodes share.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use deskpass_core::Timestamp;
use tokio::time::timeout;

/// The duration of a lease unless it is released: longer than a fetch takes, so only a dead node holds it to the end.
pub const FETCH_LEASE: Duration = Duration::from_secs(6);
/// The timeout of each cache operation. Users wait in the meantime, and a token can be fetched without the cache.
const CACHE_TIMEOUT: Duration = Duration::from_millis(300);

/// The future of a cache operation.
pub type CacheFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A cache of the access token that several nodes share. This crate does not know where it is stored.
///
/// A cache is for one corporation and secret: another application's token has other permissions. It reports no errors: an
/// unreachable cache returns no token and grants every lease, so that each node continues alone and only the sharing is lost.
/// A cache that does not respond in time is not waited for.
pub trait TokenCache: fmt::Debug + Send + Sync {
    /// The last stored token.
    fn load(&self) -> CacheFuture<'_, Option<CachedToken>>;

    /// Whether this node gets the lease to fetch a token. No other node gets it until its release or the end of [`FETCH_LEASE`].
    fn acquire_lease(&self) -> CacheFuture<'_, bool>;

    /// Replaces the stored token and releases this node's lease.
    fn store(&self, token: CachedToken) -> CacheFuture<'_, ()>;

    /// Releases this node's lease, if it still holds it, without storing a token.
    fn release_lease(&self) -> CacheFuture<'_, ()>;
}

/// An access token as stored in the cache.
#[derive(Clone, PartialEq, Eq)]
pub struct CachedToken {
    /// The value sent with a call.
    pub value: String,
    /// The time at which it was requested from the platform.
    pub asked_at: Timestamp,
    /// The expiry.
    pub expires_at: Timestamp,
}

impl fmt::Debug for CachedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedToken")
            .field("asked_at", &self.asked_at)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// Returns the cache's response; `None` if it took too long.
pub(super) async fn with_timeout<T>(answer: CacheFuture<'_, T>) -> Option<T> {
    let answer = timeout(CACHE_TIMEOUT, answer).await.ok();
    if answer.is_none() {
        tracing::warn!("cannot read the shared access token: this node fetches its own");
    }
    answer
}

/// The cache of a single node, which shares nothing.
#[derive(Debug)]
pub struct NoSharedCache;

impl TokenCache for NoSharedCache {
    fn load(&self) -> CacheFuture<'_, Option<CachedToken>> {
        Box::pin(async { None })
    }

    fn acquire_lease(&self) -> CacheFuture<'_, bool> {
        Box::pin(async { true })
    }

    fn store(&self, _: CachedToken) -> CacheFuture<'_, ()> {
        Box::pin(async {})
    }

    fn release_lease(&self) -> CacheFuture<'_, ()> {
        Box::pin(async {})
    }
}
