//! The cases in which the platform is not called, and what counts as an outage.

use std::time::Duration;

use deskpass_feishu::Feishu;
use deskpass_platform::{Circuit, Directory as _, Error, ErrorCode, Meaning, Messenger as _};

use crate::platform::{
    Platform, TENANT_TOKEN, USER, USER_INFO, USER_TOKEN, member, redeem, refused, refused_with_success, token,
    with_headers,
};
use crate::scripted_server::{Reply, status};

const LIMITED: ErrorCode = ErrorCode::Number(99_991_400);

#[tokio::test]
async fn a_wrong_secret_is_tried_ever_more_rarely() {
    for code in [10_003_i64, 10_014, 10_015] {
        let platform = Platform::start().await;
        let feishu = platform.client();
        platform.always(TENANT_TOKEN, refused_with_success(code));
        assert_eq!(feishu.circuit(), Circuit::Untried);
        for (tries, seconds) in (1..).zip([60, 120, 240, 480, 600, 600]) {
            assert_eq!(feishu.check_credentials().await, Err(Error::refused(code, Meaning::Administrator)));
            let until = platform.clock.now() + Duration::from_secs(seconds);
            assert_eq!(feishu.circuit(), Circuit::Open { until, code: code.into() });
            platform.clock.advance(Duration::from_secs(seconds - 1));
            assert_eq!(feishu.check_credentials().await, Err(Error::CircuitOpen { code: code.into(), until }));
            assert_eq!(platform.count(TENANT_TOKEN), tries);
            platform.clock.advance(Duration::from_secs(1));
            assert_eq!(feishu.circuit(), Circuit::Failing);
        }
        platform.always(TENANT_TOKEN, token("canary-token-1", 7_200));
        assert_eq!(feishu.check_credentials().await, Ok(()));
        assert_eq!(feishu.circuit(), Circuit::Closed);
    }
}

/// Meets a limit; returns how long the client then pauses.
async fn pause(reply: Reply) -> Duration {
    let platform = Platform::start().await;
    let feishu = platform.client();
    platform.next(USER_TOKEN, [reply]);
    assert_eq!(redeem(&feishu, "code").await.unwrap_err(), Error::refused(LIMITED, Meaning::Limited));
    let Circuit::Open { until, code } = feishu.circuit() else { panic!("{:?}", feishu.circuit()) };
    assert_eq!(redeem(&feishu, "code").await, Err(Error::CircuitOpen { code, until }));
    assert_eq!(platform.count(USER_TOKEN), 1);
    let pause = until.since(platform.clock.now());
    platform.clock.advance(pause);
    assert_eq!(redeem(&feishu, "code").await, Ok(member("user01")));
    pause
}

#[tokio::test]
async fn the_platform_says_how_long_a_limit_lasts() {
    let limited = r#"{"code":99991400,"msg":"request trigger frequency limit"}"#;
    let (too_many, bad) = ("429 Too Many Requests", "400 Bad Request");
    let cases = [
        (with_headers(too_many, "x-ogw-ratelimit-reset: 7", limited), 7),
        (with_headers(bad, "x-ogw-ratelimit-reset: 7", limited), 7),
        (with_headers(too_many, "x-ogw-ratelimit-reset: 7", r#"{"code":11232}"#), 7),
        (with_headers(too_many, "x-ogw-ratelimit-reset: 0", limited), 1),
        (with_headers(too_many, "x-ogw-ratelimit-reset: soon", limited), 60),
        (with_headers(too_many, "x-ogw-ratelimit-reset: -7", limited), 60),
        (with_headers(too_many, "x-ogw-ratelimit-reset: 99999999", limited), 600),
        (with_headers(too_many, "a: b", limited), 60),
        (with_headers(too_many, "a: b", "<html>"), 60),
    ];
    for (number, (reply, seconds)) in cases.into_iter().enumerate() {
        assert_eq!(pause(reply).await, Duration::from_secs(seconds), "{number}");
    }
}

#[tokio::test]
async fn a_limit_on_reading_records_does_not_block_sign_ins() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    platform.always(USER, refused(99_991_400));
    let who = redeem(&feishu, "code").await.unwrap();
    assert_eq!(feishu.profile(&who).await.unwrap_err().meaning(), Meaning::Limited);
    assert!(matches!(feishu.profile(&who).await, Err(Error::CircuitOpen { .. })));
    assert_eq!(platform.count(USER), 1);
    assert_eq!(feishu.circuit(), Circuit::Closed);
    assert_eq!(redeem(&feishu, "code").await, Ok(member("user01")));
}

/// A platform that rejects every code, and its client.
async fn desk() -> (Platform, Feishu) {
    let platform = Platform::start().await;
    platform.always(USER_TOKEN, refused(20_003));
    let feishu = platform.client();
    (platform, feishu)
}

#[tokio::test]
async fn a_single_probe_shows_that_the_platform_is_up() {
    let (platform, feishu) = desk().await;
    for _ in 0..5 {
        assert!(!feishu.is_down().await);
    }
    // One call for each host, and none for a token that no sign-in needs.
    let counts = [TENANT_TOKEN, USER_TOKEN, USER_INFO].map(|api| platform.count(api));
    assert_eq!(counts, [0, 1, 1]);
    let asked = platform.calls(USER_TOKEN).pop().unwrap().json();
    assert_eq!((&asked["code"], asked.get("redirect_uri")), (&"deskpass-is-looking".into(), None));
    assert_eq!(feishu.circuit(), Circuit::Closed);
}

#[tokio::test]
async fn a_platform_that_gives_no_answer_is_out_after_three_attempts() {
    let page = with_headers("502 Bad Gateway", "a: b", "<html>");
    for failure in [Reply::Reset, status("500 Internal Server Error"), page, Reply::Body(b"{}".into())] {
        for api in [USER_INFO, USER_TOKEN] {
            let (platform, feishu) = desk().await;
            platform.always(api, failure.clone());
            assert!(feishu.is_down().await && feishu.is_down().await, "{api}");
            assert_eq!(platform.count(api), 3);
            assert_eq!(feishu.circuit(), Circuit::Failing);
        }
    }
}

#[tokio::test]
async fn an_error_an_administrator_must_fix_is_an_outage() {
    for code in [20_002_i64, 20_009, 20_048, 20_069] {
        let (platform, feishu) = desk().await;
        platform.always(USER_TOKEN, refused(code));
        assert!(feishu.is_down().await, "{code}");
        assert_eq!(feishu.circuit(), Circuit::Refused { code: code.into() });
        platform.always(USER_TOKEN, refused(20_003));
        platform.clock.advance(Duration::from_secs(10));
        assert!(!feishu.is_down().await, "{code}");
    }
}

#[tokio::test]
async fn both_hosts_must_answer() {
    for (reply, down) in [
        (refused(99_991_668), false),
        (refused(99_991_671), false),
        (refused(99_991_400), false),
        (refused(99_991_401), true),
        (status("503 Service Unavailable"), true),
        (Reply::Reset, true),
    ] {
        let (platform, feishu) = desk().await;
        platform.always(USER_INFO, reply);
        assert_eq!(feishu.is_down().await, down);
        assert_eq!(platform.count(USER_TOKEN), 1, "an answer need not be repeated");
    }
}

#[tokio::test]
async fn a_token_that_no_sign_in_needs_is_no_outage() {
    for reply in [refused_with_success(10_014), Reply::Reset] {
        let (platform, feishu) = desk().await;
        platform.always(TENANT_TOKEN, reply);
        assert!(feishu.check_credentials().await.is_err());
        assert!(!feishu.is_down().await);
    }
}

#[tokio::test]
async fn nothing_that_a_client_brings_is_an_outage() {
    // Codes of other applications, browsers and addresses, users who may not use the application, and limits.
    for code in [20_003, 20_004, 20_008, 20_010, 20_024, 20_049, 20_065, 20_071, 99_991_400, 99_991_403] {
        let (platform, feishu) = desk().await;
        platform.always(USER_TOKEN, refused(code));
        assert!(redeem(&feishu, "strange").await.is_err());
        assert!(!feishu.is_down().await, "{code}");
        // Neither is the pause after a limit.
        platform.clock.advance(Duration::from_secs(15));
        assert!(!feishu.is_down().await, "{code}");
    }
    for code in [99_991_668, 99_991_677] {
        let platform = Platform::start().await;
        let feishu = platform.client();
        platform.always(USER_INFO, refused(code));
        assert!(redeem(&feishu, "strange").await.is_err());
        assert!(!feishu.is_down().await, "{code}");
        assert_eq!(feishu.circuit(), Circuit::Closed);
    }
}
