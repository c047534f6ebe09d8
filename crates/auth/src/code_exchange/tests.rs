use deskpass_core::{Entropy, LoginSource, MachineClock, NoEntropy, Role, Secret};
use deskpass_store::SharedState;
use tokio::time::interval;

use super::*;
use crate::single_use::CODE_LIFETIME;
use crate::{QuestionKind, RedirectTarget};

fn token() -> TicketedToken {
    TicketedToken::generate(&Entropy::system()).unwrap()
}

fn begun(shared: &SharedState<CodeExchange>) -> impl Future<Output = (Digest, Clock)> {
    let (code, clock) = (Digest::of(&[b"code"]), Clock::manual(Timestamp::from_millis(0)));
    let until = clock.now() + CODE_LIFETIME;
    let progress = CodeExchange::started(clock.now(), token());
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
    let identity = Identity::member("a");
    let exchanged = ExchangedCode { identity: identity.clone(), asked_at: clock.now() };
    store_identity(&shared.codes, code, clock.now(), &exchanged).await;
    clock.advance(Duration::from_millis(4_999));
    assert!(
        claim_exchange(&shared.codes, code, &clock, token()).await.unwrap().is_none(),
        "claimed by another request"
    );
    clock.advance(Duration::from_millis(1));
    let kept = shared.codes.read_with(&code, clock.now(), |seen| seen.progress.token).await.unwrap();
    let claimed = claim_exchange(&shared.codes, code, &clock, token()).await.unwrap().unwrap();
    assert_eq!(claimed.progress.identity, Some(identity), "the platform need not be asked");
    assert!(claimed.progress.token.is_some() && kept == Some(claimed.progress.token), "one sign-in has one token");
    assert!(claim_exchange(&shared.codes, code, &clock, token()).await.unwrap().is_none(), "claimed again");
    clock.advance(EXCHANGE_LEASE);
    assert!(claim_exchange(&shared.codes, code, &clock, token()).await.unwrap().is_some(), "that one died, too");
}

/// In a rolling upgrade, the record may be of a node that kept no token.
#[tokio::test]
async fn an_exchange_without_a_token_gets_one_that_stays() {
    let shared = SharedState::in_process();
    let (code, clock) = begun(&shared).await;
    let older = |seen: PlatformCode<CodeExchange>| {
        Ok::<_, ()>(PlatformCode { progress: CodeExchange { token: None, ..seen.progress }, ..seen })
    };
    shared.codes.update(&code, clock.now(), older).await.unwrap().unwrap().unwrap();
    let first = token();
    for fresh in [first, token()] {
        clock.advance(EXCHANGE_LEASE);
        let claimed = claim_exchange(&shared.codes, code, &clock, fresh).await.unwrap().unwrap();
        assert!(claimed.progress.token == Some(first), "a session that may have begun has it");
    }
}

/// Its clock is ahead by more than the lease lasts.
#[tokio::test]
async fn the_exchange_of_a_live_node_is_not_claimed_by_another() {
    let (shared, machine) = (SharedState::in_process(), MachineClock::manual(Timestamp::from_millis(50_000)));
    let ((code, clock), other) = (begun(&shared).await, Clock::after_record(machine.clone(), None));
    other.align_leases(clock.lease_now());
    assert!(claim_exchange(&shared.codes, code, &other, token()).await.unwrap().is_none());
    machine.advance(EXCHANGE_LEASE);
    assert!(claim_exchange(&shared.codes, code, &other, token()).await.unwrap().is_some(), "that node died");
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
        let stored = shared.codes.read_with(&code, clock.now(), |seen| seen.progress.outcome.clone()).await.unwrap();
        assert_eq!(format!("{:?}", Some(&updated)), format!("{:?}", stored.unwrap().as_ref()));
        assert!(updated.is_ok() || refused);
    }
    let stored = await_outcome(&shared.codes, code, &clock, SHARED_OUTCOME_TIMEOUT).await.unwrap();
    assert_eq!(serde_json::to_string(&stored).unwrap(), serde_json::to_string(&answer).unwrap());
}

/// The platform would still accept such a code, and another browser could bring it.
#[tokio::test]
async fn a_code_that_was_refused_before_the_platform_was_asked_is_remembered_as_long_as_it_lives() {
    let identity = Identity::member("a");
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
            let exchanged = ExchangedCode { identity: identity.clone(), asked_at: clock.now() };
            store_identity(&shared.codes, code, clock.now(), &exchanged).await;
        }
        store_outcome(&shared.codes, code, clock.now(), Err(refusal.clone().into())).await.unwrap_err();
        clock.advance(CLAIM_LIFETIME.saturating_sub(Duration::from_millis(1)));
        let kept = shared.codes.read_with(&code, clock.now(), |_| ()).await.unwrap();
        assert_eq!(kept.is_some(), is_kept, "{refusal:?}");
    }
}

/// Reads an outcome as another node does.
fn elsewhere(outcome: Result<CallbackOutcome, Error>) -> Result<CallbackOutcome, Error> {
    let identity = Some(Identity::Linked { corp_id: "ww".into(), userid: "a".into() });
    let since = Some(Timestamp::from_millis(7));
    let token = Some(token());
    let identified_at = since;
    let progress = CodeExchange { since, identity: identity.clone(), identified_at, token, outcome: Some(outcome) };
    let text = serde_json::to_string(&progress).unwrap();
    let read: CodeExchange = serde_json::from_str(&text).unwrap();
    assert_eq!((read.since, &read.identity, read.token), (since, &identity, token));
    assert_eq!(read.identified_at, identified_at);
    read.outcome.unwrap()
}

#[test]
fn another_node_gives_the_same_answer() {
    fn secret<K: deskpass_core::SecretKind>() -> Secret<K> {
        Secret::generate(&Entropy::system()).unwrap()
    }
    let (asked, client) = (RedirectTarget::Asked("https://a/".into()), RedirectTarget::Client(LoginSource::ItAdmin));
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
        assert!(matches!(updated, Err(Error::Internal(InternalError::OtherNode { platform })) if platform == at_fault));
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
        (Identity::member("a"), r#"{"Member":{"userid":"a"}}"#),
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
