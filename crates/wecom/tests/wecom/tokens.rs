//! One token for all callers: fetched once, renewed before its expiry, replaced once.

use std::sync::Arc;
use std::time::Duration;

use deskpass_platform::{Error, InvalidResponse, Messenger as _, Unreachable};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::platform::{
    CORP, ExchangeCode as _, GETTOKEN, Platform, Reply, SECRET, USERINFO, errcode, number, status, token,
};

/// The tokens used in the calls that exchange a code.
pub(crate) fn used(platform: &Platform) -> Vec<String> {
    platform.calls(USERINFO).into_iter().map(|call| call.query[0].1.clone()).collect()
}

pub(crate) fn gated(reply: Reply) -> (Arc<Semaphore>, Reply) {
    let gate = Arc::new(Semaphore::new(0));
    (Arc::clone(&gate), Reply::Gated(gate, Box::new(reply)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_callers_fetch_one_token() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let mut callers = JoinSet::new();
    for n in 0..1_000 {
        let wecom = wecom.clone();
        callers.spawn(async move { wecom.exchange_code(&format!("code-{n}")).await });
    }
    for outcome in callers.join_all().await {
        assert!(outcome.is_ok(), "{outcome:?}");
    }
    assert_eq!((platform.count(GETTOKEN), platform.count(USERINFO)), (1, 1_000));
    let asked = &platform.calls(GETTOKEN)[0];
    assert_eq!(asked.query, [("corpid".into(), CORP.into()), ("corpsecret".into(), SECRET.into())]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_callers_share_a_failure() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let (gate, reply) = gated(status("502 Bad Gateway"));
    platform.next(GETTOKEN, [reply]);
    let leader = tokio::spawn({
        let wecom = wecom.clone();
        async move { wecom.exchange_code("code").await }
    });
    platform.called(GETTOKEN, 1).await;
    let mut waiting: Vec<_> = (0..50).map(|_| wecom.exchange_code("code")).collect();
    for caller in &mut waiting {
        assert!(futures_pending(caller).await);
    }
    gate.add_permits(1);
    let failed = Err(InvalidResponse::Status(502).into());
    assert_eq!(leader.await.unwrap(), failed);
    for caller in waiting {
        assert_eq!(caller.await, failed);
    }
    assert_eq!(platform.count(GETTOKEN), 1);
    assert!(wecom.exchange_code("code").await.is_ok());
}

/// Polls once.
pub(crate) async fn futures_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx).is_pending())).await
}

#[tokio::test]
async fn the_first_caller_may_leave_without_stranding_the_others() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let (gate, reply) = gated(token("canary-token-1", 7_200));
    platform.always(GETTOKEN, reply);
    let [leader, follower] = std::array::from_fn(|_| {
        let wecom = wecom.clone();
        tokio::spawn(async move { wecom.exchange_code("code").await })
    });
    platform.called(GETTOKEN, 1).await;
    leader.abort();
    assert!(leader.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    assert!(follower.await.unwrap().is_ok());
    assert_eq!(platform.count(GETTOKEN), 1);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires_and_no_call_waits() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    wecom.exchange_code("code").await.unwrap();
    platform.clock.advance(Duration::from_secs(7_200 - 301));
    wecom.exchange_code("code").await.unwrap();
    assert_eq!(platform.count(GETTOKEN), 1);

    let (gate, reply) = gated(token("canary-token-2", 7_200));
    platform.next(GETTOKEN, [reply]);
    platform.clock.advance(Duration::from_secs(2));
    wecom.exchange_code("code").await.unwrap();
    platform.called(GETTOKEN, 2).await;
    wecom.exchange_code("code").await.unwrap();
    assert_eq!(used(&platform), ["canary-token-1"; 4]);

    gate.add_permits(1);
    // The old token has expired, so this call waits for the new one.
    platform.clock.advance(Duration::from_mins(5));
    wecom.exchange_code("code").await.unwrap();
    assert_eq!(used(&platform).last().unwrap(), "canary-token-2");
    assert_eq!(platform.count(GETTOKEN), 2);
}

#[tokio::test]
async fn a_short_lived_token_is_renewed_at_two_thirds() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always(GETTOKEN, token("canary-token-1", 60));
    wecom.exchange_code("code").await.unwrap();
    platform.clock.advance(Duration::from_secs(39));
    wecom.exchange_code("code").await.unwrap();
    assert_eq!(platform.count(GETTOKEN), 1);
    platform.clock.advance(Duration::from_secs(2));
    wecom.exchange_code("code").await.unwrap();
    platform.called(GETTOKEN, 2).await;
}

#[tokio::test]
async fn a_failed_renewal_is_harmless_while_the_token_lasts() {
    for failure in [status("503 Service Unavailable"), errcode(40001), errcode(45009)] {
        let platform = Platform::start().await;
        let wecom = platform.client();
        wecom.exchange_code("code").await.unwrap();
        platform.always(GETTOKEN, failure);
        platform.clock.advance(Duration::from_secs(7_000));
        for _ in 0..20 {
            wecom.exchange_code("code").await.unwrap();
            tokio::task::yield_now().await;
        }
        platform.called(GETTOKEN, 2).await;
        wecom.exchange_code("code").await.unwrap();
        assert_eq!(platform.count(GETTOKEN), 2, "not at every call");
        platform.clock.advance(Duration::from_secs(200));
        assert!(wecom.exchange_code("code").await.is_err());
    }
}

#[tokio::test]
async fn a_token_the_platform_dropped_is_replaced_once_and_the_same_code_sent_again() {
    for refusal in [40014, 42001, 40001] {
        let platform = Platform::start().await;
        let wecom = platform.client();
        wecom.exchange_code("first").await.unwrap();
        platform.always(GETTOKEN, token("canary-token-2", 7_200));
        platform.next(USERINFO, [errcode(refusal)]);
        wecom.exchange_code("second").await.unwrap();
        assert_eq!(used(&platform), ["canary-token-1", "canary-token-1", "canary-token-2"], "{refusal}");
        let codes: Vec<_> = platform.calls(USERINFO).into_iter().map(|call| call.query[1].1.clone()).collect();
        assert_eq!(codes, ["first", "second", "second"]);
        assert_eq!(platform.count(GETTOKEN), 2);
    }
}

#[tokio::test]
async fn retries_end_when_the_platform_rejects_every_token() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always(USERINFO, errcode(40014));
    assert_eq!(number(&wecom.exchange_code("code").await.unwrap_err()), Some(40014));
    assert_eq!((platform.count(GETTOKEN), platform.count(USERINFO)), (2, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_with_a_dropped_token_fetch_a_single_new_token() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    wecom.check_credentials().await.unwrap();
    let (gate, reply) = gated(errcode(40014));
    platform.next(USERINFO, vec![reply; 100]);
    let mut callers = JoinSet::new();
    for _ in 0..100 {
        let wecom = wecom.clone();
        callers.spawn(async move { wecom.exchange_code("code").await });
    }
    platform.called(USERINFO, 100).await;
    gate.add_permits(100);
    assert!(callers.join_all().await.iter().all(Result::is_ok));
    // A caller that learns late of the old token's rejection must not drop the new one.
    assert_eq!((platform.count(GETTOKEN), platform.count(USERINFO)), (2, 200));
}

#[tokio::test]
async fn invalid_tokens_are_not_kept() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let bad = [
        (json!({ "errcode": 0, "expires_in": 7200 }), "access_token"),
        (json!({ "errcode": 0, "access_token": "", "expires_in": 7200 }), "access_token"),
        (json!({ "errcode": 0, "access_token": 7, "expires_in": 7200 }), "access_token"),
        (json!({ "errcode": 0, "access_token": "a\r\nb", "expires_in": 7200 }), "access_token"),
        (json!({ "errcode": 0, "access_token": "x".repeat(513), "expires_in": 7200 }), "access_token"),
        (json!({ "errcode": 0, "access_token": "a" }), "expires_in"),
        (json!({ "errcode": 0, "access_token": "a", "expires_in": 0 }), "expires_in"),
        (json!({ "errcode": 0, "access_token": "a", "expires_in": -1 }), "expires_in"),
        (json!({ "errcode": 0, "access_token": "a", "expires_in": 1.5 }), "expires_in"),
    ];
    for (answer, missing) in bad {
        platform.next(GETTOKEN, [Reply::Json(answer.clone())]);
        let error: Error = InvalidResponse::MissingField(missing).into();
        assert_eq!(wecom.check_credentials().await, Err(error), "{answer}");
    }
    assert_eq!(platform.count(USERINFO), 0);
    platform.next(GETTOKEN, [Reply::Reset]);
    assert_eq!(wecom.check_credentials().await, Err(Unreachable::ConnectionLost.into()));
    platform.next(GETTOKEN, [Reply::Json(json!({ "access_token": "a", "expires_in": i64::MAX }))]);
    assert_eq!(wecom.check_credentials().await, Ok(()));
    assert!(wecom.exchange_code("code").await.is_ok());
}
