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

use crate::{CallbackOutcome, Error, InternalError, Refusal};

/// How long a second request waits for the first: a browser gets its answer within five seconds.
pub(crate) const SHARED_OUTCOME_TIMEOUT: Duration = Duration::from_millis(4_500);
/// How long a code is remembered that was refused before the platform was asked: longer than a platform accepts a code. Otherwise
/// another browser, such as one of a person who reads the log of a proxy, could bring it later.
const UNREDEEMED_CODE_LIFETIME: Duration = Duration::from_mins(10);
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
    token: Option<TicketedToken>,
    outcome: Option<StoredOutcome>,
}

#[derive(Serialize, Deserialize)]
enum StoredOutcome {
    Answered(CallbackOutcome),
    Refused(Refusal),
    Failed { platform: bool },
}

impl From<CodeExchange> for StoredExchange {
    fn from(progress: CodeExchange) -> Self {
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
        Self { since: progress.since, identity: progress.identity, token: progress.token, outcome }
    }
}

impl From<StoredExchange> for CodeExchange {
    fn from(stored: StoredExchange) -> Self {
        let outcome = stored.outcome.map(|outcome| match outcome {
            StoredOutcome::Answered(answer) => Ok(answer),
            StoredOutcome::Refused(refusal) => Err(refusal.into()),
            StoredOutcome::Failed { platform } => Err(InternalError::OtherNode { platform }.into()),
        });
        Self { since: stored.since, identity: stored.identity, token: stored.token, outcome }
    }
}

type CodeStore = EphemeralStore<PlatformCode<CodeExchange>>;

/// Claims the exchange of a code, unless another request holds it.
pub(crate) async fn claim_exchange(
    codes: &CodeStore,
    code: Digest,
    clock: &Clock,
) -> Result<Option<PlatformCode<CodeExchange>>, Error> {
    let leased_at = clock.lease_now();
    let claimed = codes.update(&code, clock.now(), |seen| {
        let progress = CodeExchange { since: Some(leased_at), outcome: None, ..seen.progress.clone() };
        if seen.progress.is_claimable(leased_at) { Ok(PlatformCode { progress, ..seen }) } else { Err(()) }
    });
    Ok(claimed.await?.and_then(Result::ok))
}

pub(crate) async fn store_identity(codes: &CodeStore, code: Digest, now: Timestamp, identity: &Identity) {
    let noted = |seen: PlatformCode<CodeExchange>| {
        let progress = CodeExchange { identity: Some(identity.clone()), ..seen.progress };
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
        let until = if is_live { seen.until.max(now + UNREDEEMED_CODE_LIFETIME) } else { seen.until };
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
mod tests {
    use deskpass_core::{Entropy, LoginSource, MachineClock, NoEntropy, Role, Secret};
    use deskpass_store::SharedState;
    use tokio::time::interval;

    use super::*;
    use crate::single_use::CODE_LIFETIME;
    use crate::{QuestionKind, RedirectTarget};

    fn begun(shared: &SharedState<CodeExchange>) -> impl Future<Output = (Digest, Clock)> {
        let (code, clock) = (Digest::of(&[b"code"]), Clock::manual(Timestamp::from_millis(0)));
        let until = clock.now() + CODE_LIFETIME;
        let progress = CodeExchange::started(clock.now(), TicketedToken::generate(&Entropy::system()).unwrap());
        let fresh = PlatformCode { browser: Digest::of(&[b"browser"]), progress, until };
        async move {
            assert!(shared.codes.put(code, fresh, clock.now()).await.unwrap());
            (code, clock)
        }
    }

    #[tokio::test]
    async fn waiting_for_a_dead_node_times_out() {
        let shared = SharedState::in_process();
        let (code, clock) = begun(&shared).await;
        // A wake-up, such as after a lost connection, does not restart the timeout.
        let woken = async {
            let mut ticks = interval(Duration::from_millis(5));
            loop {
                ticks.tick().await;
                shared.codes.update(&code, clock.now(), Ok::<_, ()>).await.unwrap();
            }
        };
        let shared = await_outcome(&shared.codes, code, &clock, Duration::from_millis(50));
        let answered = tokio::select! {
            answered = timeout(Duration::from_secs(5), shared) => answered.unwrap(),
            () = woken => unreachable!("it never ends"),
        };
        assert!(matches!(answered, Err(Error::Internal(InternalError::Platform(PlatformError::Unreachable(_))))));
    }

    #[tokio::test]
    async fn a_second_request_gets_the_outcome_of_the_first() {
        let shared = SharedState::in_process();
        let (code, clock) = begun(&shared).await;
        let done = |seen: PlatformCode<CodeExchange>| {
            let outcome = Some(Err(Refusal::NoRole.into()));
            Ok::<_, ()>(PlatformCode { progress: CodeExchange { outcome, ..seen.progress }, ..seen })
        };
        let (answered, _) = tokio::join!(
            await_outcome(&shared.codes, code, &clock, SHARED_OUTCOME_TIMEOUT),
            shared.codes.update(&code, clock.now(), done)
        );
        assert!(matches!(answered, Err(Error::Refused(Refusal::NoRole))));
    }

    #[tokio::test]
    async fn the_exchange_of_a_dead_node_is_claimed_once() {
        let shared = SharedState::in_process();
        let (code, clock) = begun(&shared).await;
        let identity = Identity::Member { userid: "a".into() };
        store_identity(&shared.codes, code, clock.now(), &identity).await;
        clock.advance(Duration::from_millis(4_999));
        assert!(claim_exchange(&shared.codes, code, &clock).await.unwrap().is_none(), "claimed by another request");
        clock.advance(Duration::from_millis(1));
        let token = shared.codes.read_with(&code, clock.now(), |seen| seen.progress.token).await.unwrap();
        let claimed = claim_exchange(&shared.codes, code, &clock).await.unwrap().unwrap();
        assert_eq!(claimed.progress.identity, Some(identity), "the platform need not be asked");
        assert!(claimed.progress.token.is_some() && token == Some(claimed.progress.token), "one sign-in has one token");
        assert!(claim_exchange(&shared.codes, code, &clock).await.unwrap().is_none(), "claimed again");
        clock.advance(EXCHANGE_LEASE);
        assert!(claim_exchange(&shared.codes, code, &clock).await.unwrap().is_some(), "that one died, too");
    }

    /// Its clock is ahead by more than the lease lasts.
    #[tokio::test]
    async fn the_exchange_of_a_live_node_is_not_claimed_by_another() {
        let (shared, machine) = (SharedState::in_process(), MachineClock::manual(Timestamp::from_millis(50_000)));
        let ((code, clock), other) = (begun(&shared).await, Clock::after_record(machine.clone(), None));
        other.align_leases(clock.lease_now());
        assert!(claim_exchange(&shared.codes, code, &other).await.unwrap().is_none());
        machine.advance(EXCHANGE_LEASE);
        assert!(claim_exchange(&shared.codes, code, &other).await.unwrap().is_some(), "that node died");
    }

    #[tokio::test]
    async fn the_answer_of_a_node_considered_dead_still_counts() {
        let shared = SharedState::in_process();
        let (code, clock) = begun(&shared).await;
        let answer = CallbackOutcome::Decide(Secret::generate(&Entropy::system()).unwrap());
        let (late, used_up) = (Ok(answer.clone()), Err(Refusal::InvalidCode.into()));
        for outcome in [used_up.clone(), late, used_up] {
            let refused = outcome.is_err();
            let updated = store_outcome(&shared.codes, code, clock.now(), outcome).await;
            let stored =
                shared.codes.read_with(&code, clock.now(), |seen| seen.progress.outcome.clone()).await.unwrap();
            assert_eq!(format!("{:?}", Some(&updated)), format!("{:?}", stored.unwrap().as_ref()));
            assert!(updated.is_ok() || refused);
        }
        let stored = await_outcome(&shared.codes, code, &clock, SHARED_OUTCOME_TIMEOUT).await.unwrap();
        assert_eq!(serde_json::to_string(&stored).unwrap(), serde_json::to_string(&answer).unwrap());
    }

    /// The platform would still accept such a code, and another browser could bring it.
    #[tokio::test]
    async fn a_code_that_was_refused_before_the_platform_was_asked_is_remembered_as_long_as_it_lives() {
        let identity = Identity::Member { userid: "a".into() };
        for (refusal, known, is_kept) in [
            (Refusal::PhoneNeeded, None, true),
            (Refusal::QuestionOver, None, true),
            (Refusal::SignInOver, None, true),
            (Refusal::InvalidCode, None, false),
            (Refusal::SignInOver, Some(&identity), false),
        ] {
            let shared = SharedState::in_process();
            let (code, clock) = begun(&shared).await;
            if let Some(identity) = known {
                store_identity(&shared.codes, code, clock.now(), identity).await;
            }
            store_outcome(&shared.codes, code, clock.now(), Err(refusal.clone().into())).await.unwrap_err();
            clock.advance(UNREDEEMED_CODE_LIFETIME.saturating_sub(Duration::from_millis(1)));
            let kept = shared.codes.read_with(&code, clock.now(), |_| ()).await.unwrap();
            assert_eq!(kept.is_some(), is_kept, "{refusal:?}");
        }
    }

    /// Reads an outcome as another node does.
    fn elsewhere(outcome: Result<CallbackOutcome, Error>) -> Result<CallbackOutcome, Error> {
        let identity = Some(Identity::Linked { corp_id: "ww".into(), userid: "a".into() });
        let since = Some(Timestamp::from_millis(7));
        let token = Some(TicketedToken::generate(&Entropy::system()).unwrap());
        let progress = CodeExchange { since, identity: identity.clone(), token, outcome: Some(outcome) };
        let text = serde_json::to_string(&progress).unwrap();
        let read: CodeExchange = serde_json::from_str(&text).unwrap();
        assert_eq!((read.since, &read.identity, read.token), (since, &identity, token));
        read.outcome.unwrap()
    }

    #[test]
    fn another_node_gives_the_same_answer() {
        fn secret<K: deskpass_core::SecretKind>() -> Secret<K> {
            Secret::generate(&Entropy::system()).unwrap()
        }
        let (asked, client) =
            (RedirectTarget::Asked("https://a/".into()), RedirectTarget::Client(LoginSource::ItAdmin));
        let answers = [
            CallbackOutcome::Decide(secret()),
            CallbackOutcome::SignedIn(secret(), asked.clone()),
            CallbackOutcome::SignedIn(secret(), client),
            CallbackOutcome::Continue(secret()),
            CallbackOutcome::Bind { proof: secret(), to: asked, scanned: true },
            CallbackOutcome::Answer(secret(), QuestionKind::Approval),
            CallbackOutcome::Answer(secret(), QuestionKind::Caller),
        ];
        for answer in answers {
            let same = elsewhere(Ok(answer.clone())).unwrap();
            assert_eq!(serde_json::to_string(&same).unwrap(), serde_json::to_string(&answer).unwrap());
        }
    }

    #[test]
    fn another_node_refuses_alike_and_knows_temporary_errors() {
        for refusal in [
            Refusal::UnknownEmployee,
            Refusal::Disabled,
            Refusal::NoRole,
            Refusal::RoleNotHeld("x".into()),
            Refusal::RoleTakenAway(Role::Agent),
            Refusal::NoSuchRole("x".into()),
            Refusal::Denied,
            Refusal::InvalidCode,
            Refusal::NotAMember,
            Refusal::SignInOver,
            Refusal::Exists,
            Refusal::NotAnAgent,
        ] {
            assert!(matches!(elsewhere(Err(refusal.clone().into())), Err(Error::Refused(same)) if same == refusal));
        }
        let unreachable = Error::from(PlatformError::Unreachable(Unreachable::TimedOut));
        for (error, at_fault) in [(unreachable, true), (NoEntropy.into(), false)] {
            let updated = elsewhere(Err(error));
            assert!(
                matches!(updated, Err(Error::Internal(InternalError::OtherNode { platform })) if platform == at_fault)
            );
            let again = elsewhere(updated);
            let progress = CodeExchange { outcome: Some(again), ..CodeExchange::default() };
            assert!(progress.is_claimable(Timestamp::from_millis(0)), "a later request retries the exchange");
        }
    }

    /// A node of the previous version wrote these.
    #[test]
    fn identities_are_stored_as_before() {
        let linked = Identity::Linked { corp_id: "ww".into(), userid: "a".into() };
        for (identity, stored) in [
            (Identity::Member { userid: "a".into() }, r#"{"Member":{"userid":"a"}}"#),
            (linked, r#"{"Linked":{"corp_id":"ww","userid":"a"}}"#),
            (Identity::Outsider, r#""Outsider""#),
        ] {
            assert_eq!(serde_json::to_string(&identity).unwrap(), stored);
            assert_eq!(serde_json::from_str::<Identity>(stored).unwrap(), identity);
        }
    }

    #[test]
    fn records_of_the_previous_and_the_next_version_are_readable() {
        let read: CodeExchange = serde_json::from_str("{\"invented\":{\"later\":1}}").unwrap();
        assert!(read.identity.is_none() && read.token.is_none() && read.outcome.is_none());
    }
}
