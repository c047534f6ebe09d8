//! The platform's codes: each is valid once, for the browser that brought it first.
//!
//! Some browsers load the page twice, at once or one after the other, and abort the first load. All loads of one browser share
//! one exchange and its outcome; any other browser is refused. A later request can retry an exchange that failed for a transient
//! reason or was left by a node that died, and does not ask the platform again about a code whose identity is known. There is one
//! exception with records in Redis: a node that dies after it used the code and before it stored the outcome leaves the code
//! used. This cannot be told from a restored record, so the browser starts again.

use std::time::Duration;

use deskpass_core::{Clock, Digest, TicketedToken, Timestamp};
use deskpass_platform::{Error as PlatformError, Identity, Unreachable};
use deskpass_store::{EphemeralStore, PlatformCode};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::code_claim::CLAIM_LIFETIME;
use crate::platform_user::ExchangedCode;
use crate::{CallbackOutcome, Error, InternalError, Refusal};

/// How long a second request waits for the first: a browser gets its answer within five seconds.
pub(crate) const SHARED_OUTCOME_TIMEOUT: Duration = Duration::from_millis(4_500);
/// The lease of an exchange, longer than an exchange takes. After it, the node is considered dead.
const EXCHANGE_LEASE: Duration = Duration::from_secs(5);

/// The progress of a code exchange.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "StoredExchange", from = "StoredExchange")]
pub struct CodeExchange {
    /// When the current exchange started, by the time of leases.
    since: Option<Timestamp>,
    /// The identity that the platform returned.
    pub(crate) identity: Option<Identity>,
    /// When the platform was asked for it.
    identified_at: Option<Timestamp>,
    /// The ticket and the token of the sign-in. A retry uses the same ones: the session may have begun although it seems to have
    /// failed.
    pub(crate) token: Option<TicketedToken>,
    /// The outcome.
    outcome: Option<Result<CallbackOutcome, Error>>,
}

impl CodeExchange {
    pub(crate) fn started(leased_at: Timestamp, token: TicketedToken) -> Self {
        Self { since: Some(leased_at), token: Some(token), ..Self::default() }
    }

    /// The identity behind the code, if the platform has returned it. Nodes of the previous version did not keep when they asked.
    pub(crate) fn exchanged(self, now: Timestamp) -> Option<ExchangedCode> {
        Some(ExchangedCode { identity: self.identity?, asked_at: self.identified_at.unwrap_or(now) })
    }

    /// Whether another request may take over: the exchange failed for a transient reason, or its lease expired.
    pub(crate) fn is_claimable(&self, lease_now: Timestamp) -> bool {
        match &self.outcome {
            Some(outcome) => matches!(outcome, Err(Error::Internal(_))),
            None => self.since.is_some_and(|since| lease_now >= since + EXCHANGE_LEASE),
        }
    }
}

/// The progress as other nodes read it, without the cause of a failure.
#[derive(Serialize, Deserialize)]
struct StoredExchange {
    since: Option<Timestamp>,
    identity: Option<Identity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identified_at: Option<Timestamp>,
    token: Option<TicketedToken>,
    outcome: Option<StoredOutcome>,
    /// Whether the refusal is that the holder is unconfirmed, for which nodes of the previous version have no word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    holder_unconfirmed: bool,
}

#[derive(Serialize, Deserialize)]
enum StoredOutcome {
    Answered(CallbackOutcome),
    Refused(Refusal),
    Failed { platform: bool },
}

impl From<CodeExchange> for StoredExchange {
    fn from(progress: CodeExchange) -> Self {
        let holder_unconfirmed = matches!(progress.outcome, Some(Err(Error::Refused(Refusal::HolderUnconfirmed))));
        let outcome = progress.outcome.map(|outcome| match outcome {
            Ok(answer) => StoredOutcome::Answered(answer),
            Err(Error::Refused(refusal)) => StoredOutcome::Refused(refusal),
            Err(Error::Internal(InternalError::Platform(_))) => StoredOutcome::Failed { platform: true },
            Err(Error::Internal(InternalError::OtherNode { platform })) => StoredOutcome::Failed { platform },
            // Listed, so that a new kind of failure has to be decided here.
            Err(Error::Internal(
                InternalError::Store(_)
                | InternalError::Entropy(_)
                | InternalError::Sealing(_)
                | InternalError::ChoreTaken
                | InternalError::Hashing
                | InternalError::SigningKey(_)
                | InternalError::UnsealFailed,
            )) => StoredOutcome::Failed { platform: false },
        });
        let CodeExchange { since, identity, identified_at, token, .. } = progress;
        Self { since, identity, identified_at, token, outcome, holder_unconfirmed }
    }
}

impl From<StoredExchange> for CodeExchange {
    fn from(stored: StoredExchange) -> Self {
        let outcome = stored.outcome.map(|outcome| match outcome {
            StoredOutcome::Answered(answer) => Ok(answer),
            StoredOutcome::Refused(_) if stored.holder_unconfirmed => Err(Refusal::HolderUnconfirmed.into()),
            StoredOutcome::Refused(refusal) => Err(refusal.into()),
            StoredOutcome::Failed { platform } => Err(InternalError::OtherNode { platform }.into()),
        });
        let StoredExchange { since, identity, identified_at, token, .. } = stored;
        Self { since, identity, identified_at, token, outcome }
    }
}

type CodeStore = EphemeralStore<PlatformCode<CodeExchange>>;

/// Claims the exchange of a code, unless another request holds it. A node of the previous version kept no token: the exchange
/// gets the fresh one then, for this attempt and the next ones.
pub(crate) async fn claim_exchange(
    codes: &CodeStore,
    code: Digest,
    clock: &Clock,
    fresh: TicketedToken,
) -> Result<Option<PlatformCode<CodeExchange>>, Error> {
    let leased_at = clock.lease_now();
    let claimed = codes.update(&code, clock.now(), |seen| {
        let token = seen.progress.token.or(Some(fresh));
        let progress = CodeExchange { since: Some(leased_at), token, outcome: None, ..seen.progress.clone() };
        if seen.progress.is_claimable(leased_at) { Ok(PlatformCode { progress, ..seen }) } else { Err(()) }
    });
    Ok(claimed.await?.and_then(Result::ok))
}

pub(crate) async fn store_identity(codes: &CodeStore, code: Digest, now: Timestamp, exchanged: &ExchangedCode) {
    let noted = |seen: PlatformCode<CodeExchange>| {
        let ExchangedCode { identity, asked_at } = exchanged.clone();
        let progress = CodeExchange { identity: Some(identity), identified_at: Some(asked_at), ..seen.progress };
        Ok::<_, ()>(PlatformCode { progress, ..seen })
    };
    if let Err(error) = codes.update(&code, now, noted).await {
        // If this node dies as well, the code stays used and the browser starts again.
        tracing::warn!(%error, "could not record the result of a code exchange");
    }
}

/// Stores the outcome of a code. If a node that was considered dead has answered successfully meanwhile, its answer is kept.
pub(crate) async fn store_outcome(
    codes: &CodeStore,
    code: Digest,
    now: Timestamp,
    outcome: Result<CallbackOutcome, Error>,
) -> Result<CallbackOutcome, Error> {
    let updated = |seen: PlatformCode<CodeExchange>| {
        if let Some(Ok(answer)) = seen.progress.outcome {
            return Err(answer);
        }
        let is_live = seen.progress.identity.is_none() && is_refused_unredeemed(&outcome);
        let until = if is_live { seen.until.max(now + CLAIM_LIFETIME) } else { seen.until };
        let progress = CodeExchange { outcome: Some(outcome.clone()), ..seen.progress };
        Ok(PlatformCode { progress, until, ..seen })
    };
    match codes.update(&code, now, updated).await {
        Ok(Some(Err(answer))) => return Ok(answer),
        Ok(_) => {}
        // Other requests that wait will time out; this browser gets its answer.
        Err(error) => tracing::warn!(%error, "could not record the failure of a code exchange"),
    }
    outcome
}

/// Whether a code was refused before the platform was asked about it, so that the platform would still accept it.
fn is_refused_unredeemed(outcome: &Result<CallbackOutcome, Error>) -> bool {
    matches!(outcome, Err(Error::Refused(Refusal::PhoneNeeded | Refusal::QuestionOver | Refusal::SignInOver)))
}

/// Waits for the outcome of a code that another request exchanges, on any node; for a limited time, in case that node died.
pub(crate) async fn await_outcome(
    codes: &CodeStore,
    code: Digest,
    clock: &Clock,
    limit: Duration,
) -> Result<CallbackOutcome, Error> {
    let changes = codes.watch(&code, clock.now()).await?.ok_or(Refusal::InvalidCode)?;
    let answered = async {
        loop {
            let next = changes.next();
            let outcome = codes.read_with(&code, clock.now(), |seen| seen.progress.outcome.clone()).await?;
            if let Some(outcome) = outcome.ok_or(Refusal::InvalidCode)? {
                return outcome;
            }
            next.await;
        }
    };
    timeout(limit, answered).await.unwrap_or_else(|_| Err(PlatformError::Unreachable(Unreachable::TimedOut).into()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
