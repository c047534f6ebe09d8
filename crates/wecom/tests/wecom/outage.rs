//! Outage detection, decided only by the calls of this service itself.

use std::time::Duration;

use deskpass_platform::{Circuit, Messenger as _};
use deskpass_wecom::{Url, Wecom, WecomSettings};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::platform::{ExchangeCode as _, GETTOKEN, Platform, Reply, USERINFO, errcode, status, token};
use crate::tokens::gated;

/// The period for which a result remains valid.
const FRESH: Duration = Duration::from_secs(10);

/// A platform that rejects every code, and its client.
async fn desk() -> (Platform, Wecom) {
    let platform = Platform::start().await;
    platform.always(USERINFO, errcode(40029));
    let wecom = platform.client();
    (platform, wecom)
}

/// Runs `many` concurrent callers and returns for each whether it was told that the platform is down.
async fn callers(wecom: &Wecom, many: usize) -> Vec<bool> {
    let mut callers = JoinSet::new();
    for _ in 0..many {
        let wecom = wecom.clone();
        callers.spawn(async move { wecom.is_down().await });
    }
    callers.join_all().await
}

#[tokio::test]
async fn without_prior_knowledge_a_single_probe_shows_that_the_platform_is_up() {
    let (platform, wecom) = desk().await;
    assert_eq!(wecom.circuit(), Circuit::Untried);
    for _ in 0..5 {
        assert!(!wecom.is_down().await);
        platform.clock.advance(Duration::from_millis(1_999));
    }
    assert_eq!((platform.count(GETTOKEN), platform.count(USERINFO)), (1, 1));
    let call = platform.calls(USERINFO).pop().unwrap();
    assert_eq!(call.query[1], ("code".into(), "deskpass-is-looking".into()));
    assert_eq!(wecom.circuit(), Circuit::Closed);
    platform.clock.advance(FRESH);
    assert!(!wecom.is_down().await);
    assert_eq!(platform.count(USERINFO), 2);
}

#[tokio::test]
async fn a_sign_in_saves_the_probe() {
    for known in [true, false] {
        let platform = Platform::start().await;
        if !known {
            platform.always(USERINFO, errcode(40029));
        }
        let wecom = platform.client();
        assert_eq!(wecom.exchange_code("code").await.is_ok(), known);
        assert!(!wecom.is_down().await);
        assert_eq!(platform.count(USERINFO), 1);
        // A call that did not get through invalidates the previous result.
        platform.next(USERINFO, [Reply::Reset]);
        assert!(wecom.exchange_code("code").await.is_err());
        assert!(!wecom.is_down().await);
        assert_eq!(platform.count(USERINFO), 3);
    }
}

#[tokio::test]
async fn a_platform_that_gives_no_answer_is_out_after_three_attempts() {
    for failure in [Reply::Reset, status("500 Internal Server Error"), status("502 Bad Gateway")] {
        for api in [GETTOKEN, USERINFO] {
            let (platform, wecom) = desk().await;
            platform.always(api, failure.clone());
            for _ in 0..5 {
                assert!(wecom.is_down().await);
                platform.clock.advance(Duration::from_millis(1_999));
            }
            assert_eq!(platform.count(api), 3);
            assert_eq!(wecom.circuit(), Circuit::Failing);
        }
    }
}

#[tokio::test]
async fn a_platform_that_is_not_there_is_out() {
    let (platform, _) = desk().await;
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut settings = platform.settings();
    settings.hosts.api = Url::parse(&format!("http://{gone}/sim/")).unwrap();
    let wecom = Wecom::new(settings, platform.clock.clone()).unwrap();
    assert!(wecom.is_down().await);
    assert_eq!(wecom.circuit(), Circuit::Failing);
}

#[tokio::test]
async fn a_hanging_platform_is_out_within_the_timeout() {
    for api in [GETTOKEN, USERINFO] {
        let (platform, _) = desk().await;
        let wecom = platform.hasty_client();
        platform.always(api, Reply::Silence);
        let began = Instant::now();
        assert_eq!(callers(&wecom, 20).await, [true; 20]);
        // The whole timeout is half a second; the rest is for busy machines.
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        assert!(platform.count(api) <= 3);
        assert_eq!(wecom.circuit(), Circuit::Failing);
    }
}

#[tokio::test]
async fn recovery_is_detected_after_ten_seconds() {
    let (platform, wecom) = desk().await;
    platform.always(USERINFO, Reply::Reset);
    assert!(wecom.is_down().await);
    platform.always(USERINFO, errcode(40029));
    platform.clock.advance(FRESH.checked_sub(Duration::from_millis(1)).unwrap());
    assert!(wecom.is_down().await);
    assert_eq!(platform.count(USERINFO), 3);
    platform.clock.advance(Duration::from_millis(1));
    assert!(!wecom.is_down().await);
    assert_eq!(platform.count(USERINFO), 4);
    assert_eq!(wecom.circuit(), Circuit::Closed);
}

#[tokio::test]
async fn a_sign_in_shows_at_once_that_the_platform_is_back() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.next(USERINFO, vec![Reply::Reset; 3]);
    assert!(wecom.is_down().await);
    wecom.exchange_code("code").await.unwrap();
    assert!(!wecom.is_down().await);
    assert_eq!(platform.count(USERINFO), 4);
}

#[tokio::test]
async fn an_outage_lasts_until_the_platform_answers() {
    let (platform, wecom) = desk().await;
    platform.always(USERINFO, Reply::Reset);
    for look in 1..=5 {
        assert!(wecom.is_down().await);
        assert_eq!(platform.count(USERINFO), 3 * look);
        platform.clock.advance(FRESH);
    }
}

#[tokio::test]
async fn one_answer_among_failures_is_enough() {
    for failure in [Reply::Reset, status("503 Service Unavailable"), Reply::Body(b"<html>".into()), errcode(6000)] {
        let (platform, wecom) = desk().await;
        platform.next(USERINFO, vec![failure; 2]);
        assert!(!wecom.is_down().await);
        assert_eq!(platform.count(USERINFO), 3);
        assert_eq!(wecom.circuit(), Circuit::Closed);
    }
}

#[tokio::test]
async fn a_platform_with_unreadable_responses_is_out() {
    let redirect = Reply::Bytes(b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n".to_vec());
    let rubbish = [Reply::Body(b"<html>".into()), Reply::Body(b"{}".into()), status("403 Forbidden"), redirect];
    for rubbish in rubbish {
        for api in [GETTOKEN, USERINFO] {
            let (platform, wecom) = desk().await;
            platform.always(api, rubbish.clone());
            assert!(wecom.is_down().await);
            assert_eq!(platform.count(api), 3);
            assert_eq!(wecom.circuit(), Circuit::Failing);
            assert!(wecom.is_down().await);
            assert_eq!(platform.count(api), 3);
        }
    }
}

#[tokio::test]
async fn a_platform_that_stays_busy_is_out() {
    for api in [GETTOKEN, USERINFO] {
        let (platform, wecom) = desk().await;
        platform.always(api, errcode(-1));
        assert!(wecom.is_down().await);
        // Each of the three attempts is retried twice.
        assert_eq!(platform.count(api), 9);
        platform.always(api, if api == GETTOKEN { token("canary-token-1", 7_200) } else { errcode(40029) });
        platform.clock.advance(FRESH);
        assert!(!wecom.is_down().await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_callers_share_one_probe() {
    let (platform, wecom) = desk().await;
    assert_eq!(callers(&wecom, 100).await, [false; 100]);
    assert_eq!((platform.count(GETTOKEN), platform.count(USERINFO)), (1, 1));
    platform.always(USERINFO, Reply::Reset);
    platform.clock.advance(FRESH);
    assert_eq!(callers(&wecom, 100).await, [true; 100]);
    assert_eq!(platform.count(USERINFO), 4);
}

#[tokio::test]
async fn the_first_caller_may_leave_without_stranding_the_others() {
    let (platform, wecom) = desk().await;
    let (gate, reply) = gated(errcode(60020));
    platform.next(USERINFO, [reply]);
    let [leader, follower] = std::array::from_fn(|_| {
        let wecom = wecom.clone();
        tokio::spawn(async move { wecom.is_down().await })
    });
    platform.called(USERINFO, 1).await;
    leader.abort();
    assert!(leader.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    assert!(follower.await.unwrap());
    assert_eq!(platform.count(USERINFO), 1);
}

#[tokio::test]
async fn a_rate_limit_is_not_an_outage() {
    for code in [45009, 45033] {
        let (platform, wecom) = desk().await;
        platform.always(USERINFO, errcode(code));
        // Whether the probe meets the limit or another call did.
        if code == 45009 {
            assert!(wecom.exchange_code("flood").await.is_err());
        }
        assert!(!wecom.is_down().await);
        assert_eq!(platform.count(USERINFO), 1);
        assert!(matches!(wecom.circuit(), Circuit::Open { .. }));
        platform.clock.advance(FRESH);
        assert!(!wecom.is_down().await);
    }
}

#[tokio::test]
async fn errors_of_users_codes_are_not_an_outage() {
    let redirect = "307 Temporary Redirect";
    let provoked =
        [Reply::Reset, status("503 Service Unavailable"), status(redirect), errcode(50001), errcode(50002), errcode(1)];
    for provoked in provoked {
        let (platform, wecom) = desk().await;
        platform.next(USERINFO, vec![provoked; 5]);
        for _ in 0..5 {
            assert!(wecom.exchange_code("strange").await.is_err());
        }
        assert!(!wecom.is_down().await);
        assert_eq!(platform.count(USERINFO), 6);
        assert_eq!(wecom.circuit(), Circuit::Closed);
    }
}

#[tokio::test]
async fn many_calls_do_not_delay_the_probe() {
    let (platform, wecom) = desk().await;
    let (gate, reply) = gated(errcode(40029));
    platform.next(USERINFO, vec![reply; 128]);
    let mut crowd = JoinSet::new();
    for _ in 0..200 {
        let wecom = wecom.clone();
        crowd.spawn(async move { wecom.exchange_code("slow").await });
    }
    platform.called(USERINFO, 128).await;
    // Also if the probe needs another token.
    platform.clock.advance(Duration::from_hours(2));
    assert!(!wecom.is_down().await);
    assert_eq!((platform.count(GETTOKEN), platform.count(USERINFO)), (2, 129));
    gate.add_permits(128);
    assert!(crowd.join_all().await.iter().all(Result::is_err));
}

#[tokio::test]
async fn without_a_token_no_sign_in_succeeds() {
    for code in [40001, 40013, 40091, 45009, 45031] {
        let (platform, wecom) = desk().await;
        platform.always(GETTOKEN, errcode(code));
        assert!(wecom.is_down().await, "{code}");
        assert_eq!((platform.count(GETTOKEN), platform.count(USERINFO)), (1, 0));
        platform.clock.advance(FRESH);
        assert!(wecom.is_down().await, "{code}");
        // The platform bans callers that repeat this call.
        let again = usize::from(code == 45031);
        assert_eq!(platform.count(GETTOKEN), 1 + again);
        platform.always(GETTOKEN, token("canary-token-1", 7_200));
        platform.clock.advance(Duration::from_mins(1));
        assert!(!wecom.is_down().await, "{code}");
    }
}

#[tokio::test]
async fn a_valid_token_outlives_the_secret() {
    let (platform, wecom) = desk().await;
    assert!(!wecom.is_down().await);
    platform.always(GETTOKEN, errcode(40001));
    platform.clock.advance(Duration::from_secs(7_000));
    assert!(!wecom.is_down().await);
    platform.called(GETTOKEN, 2).await;
    platform.clock.advance(Duration::from_secs(200));
    assert!(wecom.is_down().await);
}

#[tokio::test]
async fn an_error_an_administrator_must_fix_is_an_outage() {
    for code in [60020_i64, 301_002, 50003, 60031, 40014] {
        let (platform, wecom) = desk().await;
        platform.always(USERINFO, errcode(code));
        assert!(wecom.is_down().await, "{code}");
        assert_eq!(wecom.circuit(), Circuit::Refused { code: code.into() });
        let asked = platform.count(USERINFO);
        assert!(asked <= 2 && wecom.is_down().await, "{code}");
        assert_eq!(platform.count(USERINFO), asked);
        platform.always(USERINFO, errcode(40029));
        platform.clock.advance(FRESH);
        assert!(!wecom.is_down().await, "{code}");
    }
}

#[tokio::test]
async fn a_wrong_secret_is_an_outage_once_the_platform_dropped_the_token() {
    let (platform, wecom) = desk().await;
    assert!(!wecom.is_down().await);
    platform.always(GETTOKEN, errcode(40001));
    platform.clock.advance(Duration::from_secs(7_000));
    // The token is still valid, so its renewal fails in the background.
    assert!(!wecom.is_down().await);
    platform.called(GETTOKEN, 2).await;
    platform.always(USERINFO, errcode(40014));
    platform.clock.advance(FRESH);
    assert!(wecom.is_down().await);
    assert_eq!(platform.count(GETTOKEN), 2, "the platform bans callers that repeat this call");
}

#[tokio::test]
async fn a_token_that_ended_early_is_replaced_on_the_way() {
    let (platform, wecom) = desk().await;
    platform.next(USERINFO, [errcode(42001)]);
    assert!(!wecom.is_down().await);
    assert_eq!((platform.count(GETTOKEN), platform.count(USERINFO)), (2, 2));
}

#[tokio::test]
async fn a_zero_timeout_reports_an_outage_at_once() {
    let (platform, _) = desk().await;
    platform.always(GETTOKEN, Reply::Silence);
    let mut settings: WecomSettings = platform.settings();
    settings.timeouts.operation = Duration::ZERO;
    let wecom = Wecom::new(settings, platform.clock.clone()).unwrap();
    let began = Instant::now();
    assert!(wecom.is_down().await);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}
