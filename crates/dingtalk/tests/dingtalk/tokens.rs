//! One access token for all callers: fetched once, and replaced once when the platform drops it.

use std::sync::Arc;

use deskpass_platform::{Circuit, Error, InvalidResponse, Meaning, Messenger as _};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::platform::{
    BY_UNION_ID, CLIENT, Platform, SECRET, TOKEN, USER_INFO, by_page, by_script, errcode, member, sub_code, token,
};
use crate::scripted_server::Reply;

/// The tokens used in the calls of an API.
fn used(platform: &Platform, api: &str) -> Vec<String> {
    platform.calls(api).into_iter().map(|call| call.query[0].1.clone()).collect()
}

#[tokio::test]
async fn the_token_is_asked_for_by_corporation() {
    let platform = Platform::start().await;
    platform.client().check_credentials().await.unwrap();
    let call = platform.calls(TOKEN).pop().unwrap();
    assert_eq!((call.method.as_str(), call.query.len()), ("POST", 0));
    let body = json!({ "client_id": CLIENT, "client_secret": SECRET, "grant_type": "client_credentials" });
    assert_eq!(call.json(), body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_fetch_one_token() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let gate = Arc::new(Semaphore::new(0));
    platform.always(TOKEN, Reply::Gated(Arc::clone(&gate), Box::new(token("canary-token-1", 7_200))));
    let mut callers = JoinSet::new();
    for _ in 0..200 {
        let dingtalk = dingtalk.clone();
        callers.spawn(async move { by_script(&dingtalk).await });
    }
    platform.called(TOKEN, 1).await;
    gate.add_permits(1);
    for outcome in callers.join_all().await {
        assert_eq!(outcome, Ok(member("user01")));
    }
    assert_eq!((platform.count(TOKEN), platform.count(USER_INFO)), (1, 200));
}

#[tokio::test]
async fn a_token_that_ended_early_is_replaced_once() {
    for ended in ["40014", "42001"] {
        let platform = Platform::start().await;
        let dingtalk = platform.client();
        platform.next(TOKEN, [token("canary-token-1", 7_200), token("canary-token-2", 7_200)]);
        platform.next(BY_UNION_ID, [sub_code(ended)]);
        assert_eq!(by_page(&dingtalk).await, Ok(member("user01")));
        assert_eq!(used(&platform, BY_UNION_ID), ["canary-token-1", "canary-token-2"]);
        // One call of the login page was enough: only the last call was repeated.
        assert_eq!(platform.count("v1.0/oauth2/userAccessToken"), 1);
    }
}

#[tokio::test]
async fn a_token_that_is_never_accepted_is_not_fetched_again_and_again() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(USER_INFO, sub_code("40014"));
    for _ in 0..5 {
        assert_eq!(by_script(&dingtalk).await.unwrap_err().meaning(), Meaning::Refresh);
    }
    assert_eq!(platform.count(TOKEN), 2);
    assert_eq!(dingtalk.circuit(), Circuit::Refused { code: 40014.into() });
    // Neither a refusal for another reason nor a busy platform is about the token.
    for other in [errcode(60020), sub_code("60011")] {
        let platform = Platform::start().await;
        platform.always(USER_INFO, other);
        assert!(by_script(&platform.client()).await.is_err());
        assert_eq!((platform.count(TOKEN), platform.count(USER_INFO)), (1, 1));
    }
}

#[tokio::test]
async fn a_token_without_value_or_lifetime_is_not_used() {
    for (answer, field) in [
        (json!({ "expires_in": 7200 }), "access_token"),
        (json!({ "access_token": "", "expires_in": 7200 }), "access_token"),
        (json!({ "access_token": "t" }), "expires_in"),
        (json!({ "access_token": "t", "expires_in": -1 }), "expires_in"),
        (json!({ "access_token": "t", "expires_in": 0 }), "access token"),
        (json!({ "access_token": "a b", "expires_in": 7200 }), "access token"),
    ] {
        let platform = Platform::start().await;
        platform.always(TOKEN, Reply::Json(answer.clone()));
        let incomplete: Error = InvalidResponse::MissingField(field).into();
        assert_eq!(by_script(&platform.client()).await, Err(incomplete), "{answer}");
        assert_eq!(platform.count(USER_INFO), 0);
    }
}
