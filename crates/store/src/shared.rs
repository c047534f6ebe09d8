//! What may be lost: sign-ins under way, flows, codes seen. Whoever loses one tries again.

mod ephemeral_store;
mod expiring;
mod limits;
mod memory_store;
mod messages;
mod redis;

use std::fmt;
use std::sync::Arc;

use deskpass_core::{Digest, IdentifiedPerson, LoginSource, PendingSignIn, SignInStage, Timestamp};
use serde::{Deserialize, Serialize};

use self::redis::RedisBackend;
use crate::StoreError;

pub use self::limits::{LimitSubject, RateLimits};
pub use self::messages::{
    DeliveryCount, DeliveryQuery, FreshMessages, IncomingMessages, MessageLog, PostOutcome, RejectedMessage,
    StartPosition, StoredMessage, Subscriber,
};
pub use self::redis::{Bus, MessageFeed, RedisSettings, RedisStatus, inspect_redis};
pub use ephemeral_store::EphemeralStore;
pub use expiring::{Expiring, RecordWatch};

/// The sign-ins kept at once. More are asked for only by a flood, and then those go first that nobody has scanned.
const MAX_SIGN_INS: usize = 50_000;

/// The other records kept at once, of each kind; some of them carry an address of two kilobytes.
const MAX_RECORDS: usize = 25_000;

/// What flows leave here for each other.
#[derive(Debug)]
pub struct SharedState<Progress> {
    /// Sign-ins, by their ticket.
    pub sign_ins: EphemeralStore<PendingSignIn>,
    /// Which sign-in a scan id is about.
    pub scan_ids: EphemeralStore<SignInPointer>,
    /// Which sign-in a phone's secret is about. Not beside the scan ids: a flood of those must not push out whoever is about
    /// to decide.
    pub claims: EphemeralStore<SignInPointer>,
    /// OAuth sign-ins that a browser began, by its cookie.
    pub flows: EphemeralStore<OAuthFlow>,
    /// People who must say that it was they who began.
    pub pending: EphemeralStore<PendingConfirmation>,
    /// What the platform's codes were answered with.
    pub codes: EphemeralStore<PlatformCode<Progress>>,
    /// The platform's access tokens, by what they are asked for with.
    pub tokens: EphemeralStore<PlatformToken>,
    /// Who is at something that only one node should do at a time.
    pub leases: EphemeralStore<Lease>,
    /// Who has asked how often.
    pub limits: RateLimits,
    /// Messages to those who are connected.
    pub messages: MessageLog,
    /// What all shelves have in common when they are not in this process.
    server: Option<Arc<RedisBackend>>,
}

impl<Progress> SharedState<Progress> {
    /// For a single node: everything is in this process.
    #[must_use]
    pub fn in_process() -> Self {
        Self::at(None)
    }

    /// For several nodes: everything is in a Redis, which need not answer yet. To be called where tasks can be started;
    /// they end with this value.
    ///
    /// # Errors
    /// When the settings make no sense.
    pub fn redis(settings: RedisSettings) -> Result<Self, StoreError> {
        RedisBackend::start(settings).map(|server| Self::at(Some(Arc::new(server))))
    }

    fn at(server: Option<Arc<RedisBackend>>) -> Self {
        Self {
            sign_ins: EphemeralStore::new(server.as_ref(), "sign_in", MAX_SIGN_INS),
            scan_ids: EphemeralStore::new(server.as_ref(), "scan_id", MAX_SIGN_INS),
            claims: EphemeralStore::new(server.as_ref(), "claim", MAX_SIGN_INS),
            flows: EphemeralStore::new(server.as_ref(), "flow", MAX_RECORDS),
            pending: EphemeralStore::new(server.as_ref(), "pending", MAX_RECORDS),
            codes: EphemeralStore::new(server.as_ref(), "code", MAX_RECORDS),
            tokens: EphemeralStore::new(server.as_ref(), "token", MAX_RECORDS),
            leases: EphemeralStore::new(server.as_ref(), "lease", MAX_RECORDS),
            limits: RateLimits::new(server.clone()),
            messages: MessageLog::new(server.as_ref()),
            server,
        }
    }

    /// Whether records can be kept right now.
    ///
    /// # Errors
    /// When they cannot.
    pub async fn probe(&self) -> Result<(), StoreError> {
        match &self.server {
            Some(server) => server.probe().await,
            None => Ok(()),
        }
    }

    /// Whether records could be kept when that was tried last.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.server.as_deref().is_none_or(RedisBackend::is_up)
    }

    /// Whether records are kept where others than this process may put them back.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        self.server.is_some()
    }

    /// What carries word between the nodes, where there may be several.
    #[must_use]
    pub fn bus(&self) -> Option<&Bus> {
        self.server.as_deref().map(RedisBackend::bus)
    }
}

/// Leads to a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInPointer {
    /// The ticket's digest.
    pub to: Digest,
    /// How long it leads there.
    pub until: Timestamp,
}

/// An OAuth sign-in that a browser began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthFlow {
    /// Where the browser wants to be in the end, unless any page will do.
    pub destination: Option<String>,
    /// The client whose page that is.
    pub source: Option<LoginSource>,
    /// Whether it has come back and was let in.
    pub used: bool,
    /// When it is too late.
    pub until: Timestamp,
}

/// Somebody the platform vouches for, kept until they decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingConfirmation {
    /// Who.
    pub who: IdentifiedPerson,
    /// When it is too late.
    pub until: Timestamp,
}

/// A code of the platform: whoever brings it first has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformCode<Progress> {
    /// The browser that brought it.
    pub browser: Digest,
    /// How far it has come.
    pub progress: Progress,
    /// How long it is remembered.
    pub until: Timestamp,
}

/// An access token of the platform.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformToken {
    /// The token.
    pub value: String,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// How long it is good.
    pub expires_at: Timestamp,
}

impl fmt::Debug for PlatformToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked_at, expires_at, .. } = self;
        write!(f, "PlatformToken(asked for at {}, until {})", asked_at.millis(), expires_at.millis())
    }
}

/// Somebody's right to do something alone for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Whose.
    pub holder: Digest,
    /// How long.
    pub until: Timestamp,
}

impl Expiring for PlatformToken {
    fn until(&self) -> Timestamp {
        self.expires_at
    }
}

impl Expiring for Lease {
    fn until(&self) -> Timestamp {
        self.until
    }
}

impl Expiring for PendingSignIn {
    fn until(&self) -> Timestamp {
        self.expires_at
    }

    fn is_evictable(&self) -> bool {
        matches!(self.stage, SignInStage::Waiting | SignInStage::Over)
    }
}

impl Expiring for SignInPointer {
    fn until(&self) -> Timestamp {
        self.until
    }
}

impl Expiring for OAuthFlow {
    fn until(&self) -> Timestamp {
        self.until
    }
}

impl Expiring for PendingConfirmation {
    fn until(&self) -> Timestamp {
        self.until
    }
}

impl<Progress> Expiring for PlatformCode<Progress> {
    fn until(&self) -> Timestamp {
        self.until
    }
}
