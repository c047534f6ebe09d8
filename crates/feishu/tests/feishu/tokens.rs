//! One token of the application for all callers: fetched once, renewed before its expiry, replaced once.

use std::sync::Arc;
use std::time::Duration;

use deskpass_platform::{Directory as _, Error, InvalidResponse, Meaning, Messenger as _};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::platform::{APP, Platform, SECRET, TENANT_TOKEN, USER, member, refused, refused_with_success, token};
use crate::scripted_server::Reply;

/// The tokens used in the calls that read a record.
fn used(platform: &Platform) -> Vec<String> {
    let calls = platform.calls(USER);
    calls.iter().map(|call| call.header("authorization").unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_callers_fetch_one_token() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let gate = Arc::new(Semaphore::new(0));
    platform.always(TENANT_TOKEN, Reply::Gated(Arc::clone(&gate), Box::new(token("canary-token-1", 7_200))));
    let mut callers = JoinSet::new();
    for _ in 0..300 {
        let feishu = feishu.clone();
        callers.spawn(async move { feishu.profile(&member("user01")).await });
    }
    platform.called(TENANT_TOKEN, 1).await;
    gate.add_permits(1);
    assert!(callers.join_all().await.iter().all(Result::is_ok));
    assert_eq!((platform.count(TENANT_TOKEN), platform.count(USER)), (1, 300));
    let asked = &platform.calls(TENANT_TOKEN)[0];
    assert_eq!(asked.json(), json!({ "app_id": APP, "app_secret": SECRET }));
    assert_eq!((asked.method.as_str(), asked.header("authorization"), asked.query.len()), ("POST", None, 0));
}

#[tokio::test]
async fn a_token_the_platform_dropped_is_replaced_once() {
    for code in [99_991_663, 99_991_664, 99_991_668, 99_991_671] {
        let platform = Platform::start().await;
        let feishu = platform.client();
        feishu.profile(&member("user01")).await.unwrap();
        platform.always(TENANT_TOKEN, token("canary-token-2", 7_200));
        platform.next(USER, [refused(code)]);
        feishu.profile(&member("user01")).await.unwrap();
        let expected = ["Bearer canary-token-1", "Bearer canary-token-1", "Bearer canary-token-2"];
        assert_eq!(used(&platform), expected, "{code}");
        platform.always(USER, refused(code));
        let error = feishu.profile(&member("user01")).await.unwrap_err();
        assert_eq!(error, Error::refused(code, Meaning::Refresh));
        assert_eq!((platform.count(TENANT_TOKEN), platform.count(USER)), (3, 5), "{code}");
    }
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    feishu.check_credentials().await.unwrap();
    platform.clock.advance(Duration::from_secs(7_200 - 301));
    feishu.check_credentials().await.unwrap();
    assert_eq!(platform.count(TENANT_TOKEN), 1);
    platform.clock.advance(Duration::from_secs(2));
    feishu.check_credentials().await.unwrap();
    platform.called(TENANT_TOKEN, 2).await;
    // No token lives longer than the documentation says.
    let platform = Platform::start().await;
    let feishu = platform.client();
    platform.next(TENANT_TOKEN, [token("canary-token-1", 9_999_999)]);
    feishu.check_credentials().await.unwrap();
    platform.clock.advance(Duration::from_hours(2));
    feishu.check_credentials().await.unwrap();
    assert_eq!(platform.count(TENANT_TOKEN), 2);
}

#[tokio::test]
async fn unusable_tokens_are_not_used() {
    let answers = [
        (json!({ "code": 0, "expire": 7200 }), "tenant_access_token"),
        (json!({ "code": 0, "tenant_access_token": 7, "expire": 7200 }), "tenant_access_token"),
        (json!({ "code": 0, "tenant_access_token": "t-1" }), "expire"),
        (json!({ "code": 0, "tenant_access_token": "t-1", "expire": -1 }), "expire"),
        (json!({ "code": 0, "tenant_access_token": "t-1", "expire": 0 }), "access token"),
        (json!({ "code": 0, "tenant_access_token": "t 1", "expire": 7200 }), "access token"),
    ];
    for (answer, field) in answers {
        let platform = Platform::start().await;
        platform.always(TENANT_TOKEN, Reply::Json(answer.clone()));
        let feishu = platform.client();
        let missing = Err(InvalidResponse::MissingField(field).into());
        assert_eq!(feishu.profile(&member("user01")).await, missing, "{answer}");
        assert_eq!(platform.count(USER), 0);
    }
    let platform = Platform::start().await;
    platform.always(TENANT_TOKEN, refused_with_success(10_015));
    assert!(platform.client().profile(&member("user01")).await.is_err());
    assert_eq!(platform.count(USER), 0);
}
