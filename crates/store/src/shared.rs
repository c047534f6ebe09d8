//! Shared state that may be lost: sign-ins in progress, flows, used codes. After a loss, the user tries again.

mod capacity;
mod ephemeral_store;
mod expiring;
mod limits;
mod memory_store;
mod messages;
mod network_tree;
mod redis;

use std::sync::Arc;

use deskpass_core::oidc::{AuthorizationCodeRecord, PendingAuthorization, PendingLogout};
use deskpass_core::{
    Digest, IdentifiedPerson, LoginSource, PendingSignIn, PhoneQuestion, QuestionStage, SignInStage, TicketedToken,
    Timestamp,
};
use serde::{Deserialize, Serialize};

use self::capacity::Capacity;
use self::redis::RedisBackend;
use crate::{Result, StoreError};

pub use self::limits::{LimitSubject, RateLimits};
pub use self::messages::{
    DeliveryCount, DeliveryQuery, FreshMessages, IncomingMessages, MessageLog, PostOutcome, RejectedMessage,
    StartPosition, StoredMessage, Subscriber,
};
pub use self::redis::{Bus, MessageFeed, RedisSettings, RedisStatus, inspect_redis};
pub use ephemeral_store::EphemeralStore;
pub use expiring::{Expiring, RecordWatch};

/// The maximum number of pending sign-ins in this process; in Redis, a setting decides. Only a
/// flood reaches it; sign-ins that no phone has scanned are evicted first. Of other records there
/// are half as many: some contain a URL of two kilobytes.
const MAX_SIGN_INS: usize = 50_000;

/// The state that requests and nodes share.
#[derive(Debug)]
pub struct SharedState<Progress> {
    /// Sign-ins, by ticket.
    pub sign_ins: EphemeralStore<PendingSignIn>,
    /// The sign-in or the question of a scan id.
    pub scan_ids: EphemeralStore<SignInPointer>,
    /// The sign-in of a phone's secret. Apart from the scan ids, so that a flood of those evicts no one about to
    /// decide.
    pub claims: EphemeralStore<SignInPointer>,
    /// OAuth sign-ins that a browser began, by cookie.
    pub flows: EphemeralStore<OAuthFlow>,
    /// People who must confirm that they began the sign-in.
    pub pending: EphemeralStore<PendingConfirmation>,
    /// The results of the platform's codes.
    pub codes: EphemeralStore<PlatformCode<Progress>>,
    /// The browsers that the platform's codes are claimed for, by code.
    pub code_claims: EphemeralStore<CodeClaim>,
    /// The platform's access tokens, by the credentials that they were requested with.
    pub tokens: EphemeralStore<PlatformToken>,
    /// Leases on work that only one node may do at a time.
    pub leases: EphemeralStore<Lease>,
    /// Authorization requests of OpenID Connect clients that wait for their users.
    pub oidc_requests: EphemeralStore<PendingAuthorization>,
    /// Authorization codes of OpenID Connect clients.
    pub oidc_codes: EphemeralStore<AuthorizationCodeRecord>,
    /// Sign-outs that OpenID Connect clients asked for and that wait for their users.
    pub oidc_logouts: EphemeralStore<PendingLogout>,
    /// Questions to phones, by the digest of their id.
    pub questions: EphemeralStore<PhoneQuestion>,
    /// The question of a phone's secret. Apart from the scan ids, as `claims` are.
    pub answers: EphemeralStore<SignInPointer>,
    /// The questions that an employee was asked lately, by a digest of the employee.
    pub open_questions: EphemeralStore<OpenQuestions>,
    /// Callers who were verified, by a digest of the employee. The holder is the session that asked.
    pub verified: EphemeralStore<Lease>,
    /// Sessions that get no approvals for a while, because a phone refused one.
    pub approval_pauses: EphemeralStore<Lease>,
    /// The request counts.
    pub limits: RateLimits,
    /// Messages to connected clients.
    pub messages: MessageLog,
    /// The Redis backend of all stores, unless the records are in this process.
    server: Option<Arc<RedisBackend>>,
}

impl<Progress> SharedState<Progress> {
    /// Creates the state for a single node, in this process.
    #[must_use]
    pub fn in_process() -> Self {
        Self::at(None, MAX_SIGN_INS)
    }

    /// Creates the state for several nodes, in Redis, which need not be reachable yet. Must be called in a Tokio
    /// runtime, because it spawns tasks. The tasks end when this value is dropped.
    pub fn redis(settings: RedisSettings) -> Result<Self> {
        let max_sign_ins = settings.max_sign_ins;
        RedisBackend::start(settings).map(|server| Self::at(Some(Arc::new(server)), max_sign_ins))
    }

    fn at(server: Option<Arc<RedisBackend>>, max_sign_ins: usize) -> Self {
        let codes = Capacity::of_codes(max_sign_ins);
        let sign_ins = Capacity::of(max_sign_ins);
        let records = Capacity::of(max_sign_ins / 2);
        Self {
            sign_ins: EphemeralStore::new(server.as_ref(), "sign_in", codes),
            scan_ids: EphemeralStore::new(server.as_ref(), "scan_id", codes),
            claims: EphemeralStore::new(server.as_ref(), "claim", sign_ins),
            flows: EphemeralStore::new(server.as_ref(), "flow", records),
            pending: EphemeralStore::new(server.as_ref(), "pending", records),
            codes: EphemeralStore::new(server.as_ref(), "code", records),
            code_claims: EphemeralStore::new(server.as_ref(), "code_claim", sign_ins),
            tokens: EphemeralStore::new(server.as_ref(), "token", records),
            leases: EphemeralStore::new(server.as_ref(), "lease", records),
            oidc_requests: EphemeralStore::new(server.as_ref(), "oidc_request", records),
            oidc_codes: EphemeralStore::new(server.as_ref(), "oidc_code", records),
            oidc_logouts: EphemeralStore::new(server.as_ref(), "oidc_logout", records),
            questions: EphemeralStore::new(server.as_ref(), "question", records),
            answers: EphemeralStore::new(server.as_ref(), "answer", records),
            open_questions: EphemeralStore::new(server.as_ref(), "open_question", records),
            verified: EphemeralStore::new(server.as_ref(), "verified", records),
            approval_pauses: EphemeralStore::new(server.as_ref(), "approval_pause", records),
            limits: RateLimits::new(server.clone()),
            messages: MessageLog::new(server.as_ref()),
            server,
        }
    }

    /// Checks that records can be written now.
    pub async fn probe(&self) -> Result<()> {
        match &self.server {
            Some(server) => server.probe().await,
            None => Ok(()),
        }
    }

    /// Returns whether the last attempt to reach the store succeeded.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.server.as_deref().is_none_or(RedisBackend::is_up)
    }

    /// Waits after a failure, for a short time, until there is a connection to the store again: for requests that try again. When
    /// an answer did not come in time, calls fail at once until then.
    pub async fn wait_until_up(&self) {
        if let Some(server) = &self.server {
            server.wait_until_up().await;
        }
    }

    /// The failure of a request that waited too long for the store.
    #[must_use]
    pub fn timed_out(&self) -> StoreError {
        StoreError::shared("timed out".to_owned())
    }

    /// Returns whether there may be nodes of version 0.2.0, or were until a few minutes ago.
    #[must_use]
    pub fn hears_older_nodes(&self) -> bool {
        self.server.as_deref().is_some_and(RedisBackend::hears_older_nodes)
    }

    /// Returns whether the records are outside this process, where a third party may restore old ones.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        self.server.is_some()
    }

    /// Returns the bus between the nodes, where there may be several.
    #[must_use]
    pub fn bus(&self) -> Option<&Bus> {
        self.server.as_deref().map(|server| &server.bus)
    }
}

/// A pointer to a sign-in or a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInPointer {
    /// The digest of the ticket, or of the question's id.
    pub to: Digest,
    /// When the pointer expires.
    pub until: Timestamp,
    /// What it points to. Records written by nodes of the previous version point to sign-ins.
    #[serde(default)]
    pub kind: PointerKind,
}

/// What a pointer points to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PointerKind {
    /// A sign-in.
    #[default]
    SignIn,
    /// A question to a phone.
    Question,
    /// A sign-in whose token was delivered. Only records in the memory of this process say so: in Redis, the sign-in
    /// does.
    #[serde(skip)]
    DeliveredSignIn,
}

/// The questions that an employee was asked lately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestions {
    /// The digest of each question's id, and when it expires unless it is answered.
    pub questions: Vec<(Digest, Timestamp)>,
    /// When the record expires.
    pub until: Timestamp,
}

/// An OAuth sign-in that a browser began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthFlow {
    /// The page that the browser returns to, if one was requested.
    pub destination: Option<String>,
    /// The client that the page belongs to.
    pub source: Option<LoginSource>,
    /// Whether the browser has returned and was signed in.
    pub used: bool,
    /// When the flow expires.
    pub until: Timestamp,
}

/// A person with platform vouching, kept until they decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingConfirmation {
    /// The person.
    pub who: IdentifiedPerson,
    /// The ticket and the token of the sign-in, also if it is confirmed again after a failure. Nodes of the previous version put
    /// none here.
    #[serde(default)]
    pub token: Option<TicketedToken>,
    /// When the confirmation expires.
    pub until: Timestamp,
}

/// A code of the platform. It belongs to the first browser that presents it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformCode<Progress> {
    /// The browser that presented it.
    pub browser: Digest,
    /// The progress of the sign-in with this code.
    pub progress: Progress,
    /// When the record expires.
    pub until: Timestamp,
}

/// The claim on a code of the platform: no other browser, and no other request of the same one, can use the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeClaim {
    /// The browser that brought the code first.
    pub browser: Digest,
    /// What it asked with the code; none as long as only a page that passes codes on has seen it.
    pub request: Option<Digest>,
    /// When the claim expires.
    pub until: Timestamp,
}

/// An access token of the platform.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformToken {
    /// The token.
    pub value: String,
    /// When it was requested.
    pub asked_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}

debug_only!(PlatformToken, asked_at, expires_at);

/// The exclusive right to do some work for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The holder.
    pub holder: Digest,
    /// When the lease expires.
    pub until: Timestamp,
}

impl Expiring for PlatformToken {
    fn until(&self) -> Timestamp {
        self.expires_at
    }
}

impl Expiring for PendingSignIn {
    fn until(&self) -> Timestamp {
        self.expires_at
    }

    fn is_evictable(&self) -> bool {
        let is_collected = matches!(self.stage, SignInStage::Ready { delivered_at: Some(_), .. });
        is_collected || matches!(self.stage, SignInStage::Waiting | SignInStage::Over)
    }
}

impl Expiring for PhoneQuestion {
    fn until(&self) -> Timestamp {
        self.expires_at
    }

    fn is_evictable(&self) -> bool {
        // A question that a phone has open, or whose answer waits for the asker, is spared.
        !matches!(self.stage, QuestionStage::Open { answer: Some(_) } | QuestionStage::Accepted)
    }
}

/// Implements [`Expiring`] for records with a field `until`.
macro_rules! expires_at_until {
    ($($record:ident $(<$parameter:ident>)?),+) => {
        $(impl$(<$parameter>)? Expiring for $record$(<$parameter>)? {
            fn until(&self) -> Timestamp {
                self.until
            }
        })+
    };
}

expires_at_until!(SignInPointer, OAuthFlow, PendingConfirmation, PlatformCode<Progress>, CodeClaim, Lease);
expires_at_until!(OpenQuestions, PendingAuthorization, AuthorizationCodeRecord, PendingLogout);
