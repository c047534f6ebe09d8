//! The cases in which the platform is not called.

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_platform::{Circuit, Directory as _, Error, Messenger as _};
use deskpass_wecom::Wecom;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::platform::{ExchangeCode as _, GETTOKEN, Platform, Reply, USERINFO, errcode, number, status};

async fn asked(platform: &Platform, wecom: &Wecom, api: &str) -> usize {
    let before = platform.count(api);
    assert!(wecom.exchange_code("code").await.is_err());
    platform.count(api) - before
}

fn open(until: Timestamp, errcode: i64) -> Circuit {
    Circuit::Open { until, code: errcode.into() }
}

fn suspended(until: Timestamp, errcode: i64) -> Error {
    Error::CircuitOpen { code: errcode.into(), until }
}

#[tokio::test]
async fn a_wrong_secret_is_tried_ever_more_rarely() {
    for code in [40001, 40013, 40091, 41002, 41004] {
        let platform = Platform::start().await;
        let wecom = platform.client();
        platform.always(GETTOKEN, errcode(code));
        assert_eq!(wecom.circuit(), Circuit::Untried);
        for seconds in [60, 120, 240, 480, 600, 600] {
            assert_eq!(asked(&platform, &wecom, GETTOKEN).await, 1);
            let until = platform.clock.now() + Duration::from_secs(seconds);
            assert_eq!(wecom.circuit(), open(until, code));
            platform.clock.advance(Duration::from_secs(seconds - 1));
            assert_eq!(wecom.exchange_code("code").await, Err(suspended(until, code)));
            assert_eq!(wecom.check_credentials().await, Err(suspended(until, code)));
            assert_eq!(asked(&platform, &wecom, GETTOKEN).await, 0);
            platform.clock.advance(Duration::from_secs(1));
            assert_eq!(wecom.circuit(), Circuit::Failing);
        }
        assert_eq!(platform.count(GETTOKEN), 6);
    }
}

#[tokio::test]
async fn a_hundred_callers_try_a_wrong_secret_once() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always(GETTOKEN, errcode(40001));
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let wecom = wecom.clone();
        callers.spawn(async move { wecom.exchange_code("code").await });
    }
    assert!(callers.join_all().await.iter().all(Result::is_err));
    assert_eq!(platform.count(GETTOKEN), 1);
}

#[tokio::test]
async fn a_success_closes_the_breaker_and_resets_the_pause() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.next(GETTOKEN, [errcode(40001), errcode(40001)]);
    for seconds in [60, 120] {
        assert_eq!(asked(&platform, &wecom, GETTOKEN).await, 1);
        platform.clock.advance(Duration::from_secs(seconds));
    }
    assert!(wecom.exchange_code("code").await.is_ok());
    assert_eq!(wecom.circuit(), Circuit::Closed);
    platform.always(GETTOKEN, errcode(40001));
    platform.clock.advance(Duration::from_hours(2));
    assert_eq!(asked(&platform, &wecom, GETTOKEN).await, 1);
    assert_eq!(wecom.circuit(), open(platform.clock.now() + Duration::from_mins(1), 40001));
}

#[tokio::test]
async fn limits_are_respected() {
    for (code, seconds) in [(45009, 60), (45033, 5)] {
        let platform = Platform::start().await;
        let wecom = platform.client();
        platform.next(USERINFO, [errcode(code)]);
        assert_eq!(asked(&platform, &wecom, USERINFO).await, 1);
        let until = platform.clock.now() + Duration::from_secs(seconds);
        assert_eq!(wecom.exchange_code("code").await, Err(suspended(until, code)));
        assert_eq!(wecom.circuit(), open(until, code));
        platform.clock.advance(Duration::from_secs(seconds));
        assert_eq!(wecom.circuit(), Circuit::Closed);
        assert!(wecom.exchange_code("code").await.is_ok());
        assert_eq!(platform.count(USERINFO), 2);
    }
}

#[tokio::test]
async fn a_success_requested_before_a_limit_does_not_lift_it() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let gate = Arc::new(Semaphore::new(0));
    let member = Reply::Json(json!({ "errcode": 0, "userid": "user01" }));
    platform.next(USERINFO, [Reply::Gated(Arc::clone(&gate), Box::new(member)), errcode(45009)]);
    let early = tokio::spawn({
        let wecom = wecom.clone();
        async move { wecom.exchange_code("early").await }
    });
    platform.called(USERINFO, 1).await;
    assert_eq!(asked(&platform, &wecom, USERINFO).await, 1);
    gate.add_permits(1);
    assert!(early.await.unwrap().is_ok());
    assert_eq!(wecom.circuit(), open(platform.clock.now() + Duration::from_mins(1), 45009));
}

#[tokio::test]
async fn a_limit_on_reading_records_does_not_block_sign_ins() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always("user/get", errcode(45009));
    let person = wecom.exchange_code("code").await.unwrap();
    assert_eq!(number(&wecom.profile(&person).await.unwrap_err()), Some(45009));
    assert!(matches!(wecom.profile(&person).await, Err(Error::CircuitOpen { .. })));
    assert_eq!(platform.count("user/get"), 1);
    assert_eq!(wecom.circuit(), Circuit::Closed);
    assert!(wecom.exchange_code("code").await.is_ok());
}

#[tokio::test]
async fn a_good_token_keeps_it_closed_while_no_other_is_given() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    wecom.exchange_code("code").await.unwrap();
    platform.always(GETTOKEN, errcode(40001));
    platform.clock.advance(Duration::from_secs(7_000));
    wecom.exchange_code("code").await.unwrap();
    platform.called(GETTOKEN, 2).await;
    // Long enough for the refusal to arrive.
    for _ in 0..20 {
        assert_eq!(wecom.circuit(), Circuit::Closed);
        assert!(wecom.exchange_code("code").await.is_ok());
    }
}

#[tokio::test]
async fn failed_calls_show_in_the_status() {
    for failure in [Reply::Reset, status("502 Bad Gateway")] {
        let platform = Platform::start().await;
        let wecom = platform.client();
        wecom.exchange_code("code").await.unwrap();
        platform.always(USERINFO, failure);
        for _ in 0..3 {
            assert_eq!(wecom.circuit(), Circuit::Closed);
            assert_eq!(asked(&platform, &wecom, USERINFO).await, 1);
        }
        assert_eq!(wecom.circuit(), Circuit::Failing);
        // A refusal is a response.
        platform.always(USERINFO, errcode(40029));
        assert_eq!(asked(&platform, &wecom, USERINFO).await, 1);
        assert_eq!(wecom.circuit(), Circuit::Closed);
    }
}

#[tokio::test]
async fn old_failures_say_nothing_about_now() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always(GETTOKEN, Reply::Reset);
    for _ in 0..3 {
        assert_eq!(asked(&platform, &wecom, GETTOKEN).await, 1);
    }
    assert_eq!(wecom.circuit(), Circuit::Failing);
    platform.clock.advance(Duration::from_secs(301));
    assert_eq!(wecom.circuit(), Circuit::Untried);
}

#[tokio::test]
async fn a_platform_that_never_answered_is_not_reported_as_working() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always("/sim/", Reply::Reset);
    assert!(wecom.date().await.is_err());
    assert_eq!(wecom.circuit(), Circuit::Failing);
    platform.always("/sim/", Reply::Body(Vec::new()));
    assert!(wecom.date().await.is_ok());
    assert_eq!(wecom.circuit(), Circuit::Closed);
}

#[tokio::test]
async fn reading_the_date_detects_recovery() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always("/sim/", Reply::Reset);
    for _ in 0..3 {
        assert!(wecom.date().await.is_err());
    }
    assert_eq!(wecom.circuit(), Circuit::Failing);
    platform.always("/sim/", Reply::Body(Vec::new()));
    assert!(wecom.date().await.is_ok());
    assert_eq!(wecom.circuit(), Circuit::Closed);
}

#[tokio::test]
async fn invalid_codes_do_not_make_the_platform_look_down() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    // A firewall in front of the platform may refuse requests that look like an attack.
    platform.always(USERINFO, status("403 Forbidden"));
    for _ in 0..5 {
        assert_eq!(asked(&platform, &wecom, USERINFO).await, 1);
    }
    assert_eq!(wecom.circuit(), Circuit::Closed);
}
