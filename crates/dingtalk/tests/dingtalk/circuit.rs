//! The cases in which the platform is not called, and the outages that follow from them.

use std::time::Duration;

use deskpass_platform::{Circuit, Error, ErrorCode, Meaning, Messenger as _};
use serde_json::json;

use crate::platform::{
    BY_UNION_ID, Platform, TOKEN, USER_INFO, USER_TOKEN, by_page, by_script, errcode, sub_code, word,
};
use crate::scripted_server::{Reply, status};

#[tokio::test]
async fn wrong_credentials_are_tried_ever_more_rarely() {
    for code in ["invalid.client", "invalidClientIdOrSecret"] {
        let platform = Platform::start().await;
        let dingtalk = platform.client();
        platform.always(TOKEN, word(code));
        assert_eq!(dingtalk.circuit(), Circuit::Untried);
        for (tries, seconds) in [60, 120, 240, 480, 600, 600].into_iter().enumerate() {
            assert!(by_script(&dingtalk).await.is_err());
            let until = platform.clock.now() + Duration::from_secs(seconds);
            assert_eq!(dingtalk.circuit(), Circuit::Open { until, code: ErrorCode::word(code) });
            assert_eq!(
                by_script(&dingtalk).await,
                Err(Error::CircuitOpen { code: ErrorCode::word(code), until }),
                "{code} {tries}"
            );
            platform.clock.advance(Duration::from_secs(seconds));
        }
        assert_eq!(platform.count(TOKEN), 6);
        assert!(dingtalk.is_down().await);
    }
}

#[tokio::test]
async fn a_wrong_corporation_is_the_administrators_affair() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let answer = json!({ "code": "unknownError", "message": "no", "requestid": "r1" });
    platform.always(TOKEN, Reply::Status("500 Internal Server Error", answer.clone()));
    assert_eq!(dingtalk.check_credentials().await.unwrap_err().meaning(), Meaning::Administrator);
    // Anywhere else it is a fault that may pass.
    let platform = Platform::start().await;
    platform.next(USER_TOKEN, [Reply::Status("500 Internal Server Error", answer)]);
    assert!(by_page(&platform.client()).await.is_ok());
    assert_eq!(platform.count(USER_TOKEN), 2);
}

#[tokio::test]
async fn used_up_calls_of_the_month_are_no_outage_and_cost_no_calls() {
    for api in [USER_INFO, BY_UNION_ID] {
        let platform = Platform::start().await;
        let dingtalk = platform.client();
        platform.always(api, errcode(90020));
        let failed = if api == USER_INFO { by_script(&dingtalk).await } else { by_page(&dingtalk).await };
        assert_eq!(failed.unwrap_err().meaning(), Meaning::Limited);
        platform.always(BY_UNION_ID, errcode(90020));
        // Any client can use the calls up, which must not enable another way to sign in.
        for _ in 0..60 {
            assert!(!dingtalk.is_down().await);
            platform.clock.advance(Duration::from_secs(15));
        }
        let asked = platform.count(BY_UNION_ID);
        assert!(asked <= 1, "{asked}");
        // An administrator bought more calls.
        platform.always(USER_INFO, errcode(60121));
        platform.clock.advance(Duration::from_mins(30));
        assert!(by_script(&dingtalk).await.is_ok());
        let explanation = dingtalk.explain(&90020.into());
        assert!(explanation.text[0].contains("An administrator must buy more calls"));
    }
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(USER_TOKEN, word("Forbidden.AccessDenied.ApiCountLimitForOrg"));
    for _ in 0..5 {
        assert!(by_page(&dingtalk).await.is_err());
    }
    assert_eq!(platform.count(USER_TOKEN), 1);
}

#[tokio::test]
async fn a_blocked_address_stays_quiet_for_five_minutes() {
    let block = json!({ "status": 1111, "wait": 5, "source": "x5", "punish": "deny", "uuid": "u" });
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(USER_INFO, Reply::Json(block));
    assert_eq!(by_script(&dingtalk).await, Err(Error::refused(1111, Meaning::Limited)));
    let until = platform.clock.now() + Duration::from_mins(5);
    platform.clock.advance(Duration::from_secs(299));
    assert_eq!(by_script(&dingtalk).await, Err(Error::CircuitOpen { code: 1111.into(), until }));
    assert_eq!(platform.count(USER_INFO), 1);
    // A limit is no outage, because any client can cause it.
    platform.always(BY_UNION_ID, errcode(60121));
    assert!(!dingtalk.is_down().await);
    platform.clock.advance(Duration::from_secs(1));
    assert!(by_script(&dingtalk).await.is_err());
    assert_eq!(platform.count(USER_INFO), 2);
}

#[tokio::test]
async fn limits_per_second_pause_for_seconds() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(USER_INFO, errcode(90018));
    for (calls, seconds) in [(1, 1), (2, 2), (3, 4)] {
        for _ in 0..3 {
            assert!(by_script(&dingtalk).await.is_err());
        }
        assert_eq!(platform.count(USER_INFO), calls);
        platform.clock.advance(Duration::from_secs(seconds));
    }
    // Other calls are not affected.
    assert!(by_page(&dingtalk).await.is_ok());
}

#[tokio::test]
async fn the_probe_decides_whether_the_platform_is_down() {
    for (reply, down) in [
        (errcode(60121), false),
        (errcode(90018), false),
        (errcode(60020), true),
        (sub_code("60011"), true),
        (status("502 Bad Gateway"), true),
        (Reply::Reset, true),
    ] {
        let platform = Platform::start().await;
        let dingtalk = platform.client();
        platform.always(BY_UNION_ID, reply);
        assert_eq!(dingtalk.is_down().await, down);
        assert_eq!(dingtalk.is_down().await, down);
        assert!(platform.count(BY_UNION_ID) <= 3);
        assert_eq!(platform.calls(BY_UNION_ID)[0].json(), json!({ "unionid": "deskpass-probe" }));
    }
}

#[tokio::test]
async fn both_hosts_must_answer() {
    for (reply, down) in [
        (word("invalidParameter.authCode.notFound"), false),
        (word("Forbidden.AccessDenied.QpsLimitForApi"), false),
        (word("invalidClientIdOrSecret"), true),
        (status("502 Bad Gateway"), true),
        (Reply::Reset, true),
    ] {
        let platform = Platform::start().await;
        let dingtalk = platform.client();
        platform.always(BY_UNION_ID, errcode(60121));
        platform.always(USER_TOKEN, reply);
        assert_eq!(dingtalk.is_down().await, down);
        assert_eq!(platform.count(BY_UNION_ID), 1, "every call counts");
        assert!(platform.count(USER_TOKEN) <= 3);
    }
}

#[tokio::test]
async fn a_limit_on_tokens_is_not_an_outage() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(TOKEN, word("Forbidden.AccessDenied.QpsLimitForApi"));
    assert!(!dingtalk.is_down().await);
    platform.clock.advance(Duration::from_mins(1));
    platform.always(TOKEN, word("invalid.client"));
    assert!(by_script(&dingtalk).await.is_err());
    assert!(dingtalk.is_down().await);
}

#[tokio::test]
async fn a_busy_platform_is_not_asked_more_often_by_a_probe() {
    let platform = Platform::start().await;
    platform.always(BY_UNION_ID, errcode(-1));
    assert!(platform.client().is_down().await);
    assert_eq!(platform.count(BY_UNION_ID), 3);
}

#[tokio::test]
async fn no_probe_is_made_while_sign_ins_succeed_and_few_while_they_fail() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    assert!(by_script(&dingtalk).await.is_ok());
    for _ in 0..12 {
        assert!(!dingtalk.is_down().await);
        platform.clock.advance(Duration::from_millis(9_999));
    }
    assert_eq!(platform.count(BY_UNION_ID), 0);
    // A call that fails is a reason to look, at most every thirty seconds.
    assert!(by_script(&dingtalk).await.is_ok());
    platform.always(USER_INFO, Reply::Reset);
    for _ in 0..6 {
        assert!(by_script(&dingtalk).await.is_err());
        assert!(!dingtalk.is_down().await);
        platform.clock.advance(Duration::from_secs(10));
    }
    assert_eq!(platform.count(BY_UNION_ID), 2);
    platform.always(BY_UNION_ID, Reply::Reset);
    assert!(dingtalk.is_down().await);
}

#[tokio::test]
async fn only_the_call_that_refused_lifts_its_refusal() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(BY_UNION_ID, errcode(60020));
    let refused = Circuit::Refused { code: 60020.into() };
    assert!(by_page(&dingtalk).await.is_err());
    assert_eq!(dingtalk.circuit(), refused);
    // The earlier calls of a sign-in succeed, or refuse a code, and users still cannot sign in.
    platform.next(USER_TOKEN, [word("something.new")]);
    for _ in 0..2 {
        assert!(by_page(&dingtalk).await.is_err());
        assert_eq!(dingtalk.circuit(), refused);
    }
    assert!(dingtalk.is_down().await);
    platform.always(BY_UNION_ID, errcode(60121));
    assert!(by_page(&dingtalk).await.is_ok());
    assert_eq!(dingtalk.circuit(), Circuit::Closed);
    assert!(!dingtalk.is_down().await);
}

#[tokio::test]
async fn invalid_codes_do_not_make_the_platform_look_down() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(USER_INFO, errcode(40078));
    platform.always(USER_TOKEN, word("something.new"));
    for _ in 0..5 {
        assert!(by_script(&dingtalk).await.is_err() && by_page(&dingtalk).await.is_err());
    }
    assert_eq!(dingtalk.circuit(), Circuit::Closed);
    assert!(!dingtalk.is_down().await);
    assert_eq!(platform.count(BY_UNION_ID), 0, "the platform examined the codes, so no probe was needed");
    // Unknown refusals of codes prove nothing: the probe decides.
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(USER_INFO, errcode(99_999));
    platform.always(USER_TOKEN, word("something.new"));
    platform.always(BY_UNION_ID, errcode(60121));
    assert!(by_script(&dingtalk).await.is_err() && by_page(&dingtalk).await.is_err());
    assert!(!dingtalk.is_down().await);
    assert_eq!((dingtalk.circuit(), platform.count(BY_UNION_ID)), (Circuit::Closed, 1));
}
