//! The requests that carry a code, and the meaning of the error codes in the responses.

use deskpass_platform::{Error, ErrorCode, FixableBy, Messenger as _};
use proptest::prelude::*;

use crate::platform::{ExchangeCode as _, GETTOKEN, Platform, USERINFO};

#[tokio::test]
async fn malformed_codes_are_not_sent() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    for code in ["", " ", "a b", "a\n", "a\0", "a\u{7f}", "代码", &"x".repeat(513)] {
        assert_eq!(wecom.exchange_code(code).await, Err(Error::BadCode), "{code:?}");
    }
    assert_eq!(platform.count(GETTOKEN) + platform.count(USERINFO), 0);
    assert!(wecom.exchange_code(&"x".repeat(512)).await.is_ok());
}

#[tokio::test]
async fn a_code_arrives_as_one_parameter() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let hostile =
        ["x&userid=admin", "x#", "x%26userid=admin", "x&access_token=mine", "?code=y", "a+b", "../gettoken", "x;y=z"];
    for code in hostile {
        wecom.exchange_code(code).await.unwrap();
        let call = platform.calls(USERINFO).pop().unwrap();
        assert_eq!(call.query, [("access_token".into(), "canary-token-1".into()), ("code".into(), code.into())]);
        assert_eq!((call.method.as_str(), call.body.as_str()), ("GET", ""));
    }
    assert_eq!(platform.count(USERINFO), hostile.len());
}

#[test]
fn any_code_arrives_unchanged() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let platform = runtime.block_on(Platform::start());
    let wecom = platform.client();
    proptest!(ProptestConfig::with_cases(64), |(code in "[!-~]{1,512}")| {
        runtime.block_on(wecom.exchange_code(&code)).unwrap();
        let query = platform.calls(USERINFO).pop().unwrap().query;
        prop_assert_eq!(query, [("access_token".to_owned(), "canary-token-1".to_owned()), ("code".to_owned(), code)]);
    });
}

/// Every error code that the platform's documentation lists for the calls of this service.
const LISTED: &[i64] = &[
    -1, 6000, 40001, 40003, 40013, 40014, 40029, 40056, 40058, 40066, 40068, 60003, 60123, 40073, 40078, 40082, 40083,
    40084, 40085, 40091, 41001, 41002, 41004, 41008, 41009, 41011, 42001, 42003, 42007, 42009, 45009, 45029, 45031,
    45033, 46004, 48001, 48002, 48004, 48005, 48006, 48009, 50001, 50002, 60021, 60030, 50003, 60031, 301_007, 60011,
    60020, 60111, 80001, 85005, 85008, 85111, 81013, 82001, 84014, 84015, 84090, 84025, 301_002, 301_021, 670_001,
    670_004, 670_029, 2_000_002, 40008, 44004, 45002, 42014, 43012,
];

#[tokio::test]
async fn every_listed_number_has_a_meaning_of_its_own() {
    let wecom = Platform::start().await.client();
    let explain = |code: i64| wecom.explain(&code.into());
    let unknown = explain(123_456_789);
    assert_eq!(wecom.explain(&ErrorCode::word("InvalidAuthentication")), unknown, "the platform has no words");
    assert!(unknown.text.iter().all(|text| text.contains("devtool/query")));
    for &code in LISTED {
        assert_ne!(explain(code), unknown, "{code}");
    }
    let actors = [
        (40029, FixableBy::Person),
        (60020, FixableBy::Administrator),
        (40058, FixableBy::Developer),
        (45009, FixableBy::Nobody),
    ];
    for (code, fixable_by) in actors {
        assert_eq!(explain(code).fixable_by, fixable_by, "{code}");
    }
}
