//! Where several nodes keep one access token together.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use deskpass_core::Timestamp;
use tokio::time::timeout;

/// How long a claim lasts unless it is ended: longer than asking the platform takes, so that only a node that died holds
/// one to its end.
pub const FETCH_LEASE: Duration = Duration::from_secs(6);
/// How long each question to a vault may take. People wait meanwhile, and a token can be had without it.
const CACHE_TIMEOUT: Duration = Duration::from_millis(300);

/// What a vault will answer.
pub type CacheFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where several nodes keep one access token together. This crate does not know where that is.
///
/// A vault is for one corporation and secret: another application's token opens other doors. It fails quietly: one that
/// cannot be reached recalls nothing and grants every claim, so that each node goes on by itself and only the sharing is
/// lost. One that does not answer in time is not waited for.
pub trait TokenCache: fmt::Debug + Send + Sync {
    /// The token kept last.
    fn load(&self) -> CacheFuture<'_, Option<CachedToken>>;

    /// Whether this node is the one to fetch a token. No other is until the claim is ended or [`FETCH_LEASE`] has passed.
    fn acquire_lease(&self) -> CacheFuture<'_, bool>;

    /// Keeps a token in place of the last, and ends this node's claim.
    fn store(&self, token: CachedToken) -> CacheFuture<'_, ()>;

    /// Ends this node's claim, if it still has one: there is nothing to keep.
    fn release_lease(&self) -> CacheFuture<'_, ()>;
}

/// An access token as a vault keeps it.
#[derive(Clone, PartialEq, Eq)]
pub struct CachedToken {
    /// What goes into a call.
    pub value: String,
    /// When the platform was asked for it.
    pub asked_at: Timestamp,
    /// When it ends.
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

/// What a vault answered; nothing where it took too long.
pub(crate) async fn with_timeout<T>(answer: CacheFuture<'_, T>) -> Option<T> {
    let answer = timeout(CACHE_TIMEOUT, answer).await.ok();
    if answer.is_none() {
        tracing::warn!("the other nodes' access token cannot be asked after; this node goes on by itself");
    }
    answer
}

/// The vault of a node without others.
#[derive(Debug)]
pub(crate) struct NoSharedCache;

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
