//! Invalid responses: none of them identifies a user.

use std::time::Duration;

use deskpass_feishu::Feishu;
use deskpass_platform::{
    Circuit, CodeRedemption, EntryPoint, Error, ErrorCode, Identity, InvalidResponse, Meaning, Messenger as _,
    SignIn as _, Unreachable,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::platform::{
    CALLBACK, Platform, TENANT_TOKEN, USER_INFO, USER_TOKEN, data, member, profile, redeem, refused, user_token,
    with_headers,
};
use crate::scripted_server::{Reply, status};

fn body(text: &str) -> Reply {
    Reply::Body(text.into())
}

fn bytes(text: &str) -> Reply {
    Reply::Bytes(text.into())
}

fn http_status(status: u16) -> Error {
    InvalidResponse::Status(status).into()
}

/// Responses that no API gives, and the expected error.
fn bad() -> Vec<(&'static str, Reply, Error)> {
    let elsewhere =
        "HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let not_json: Error = InvalidResponse::NotJson.into();
    let no_code: Error = InvalidResponse::MissingField("code").into();
    let lost: Error = Unreachable::ConnectionLost.into();
    let again = Error::refused(20_003_i64, Meaning::StartAgain);
    let who = profile("user01").to_string();
    let found = |code: i64| json!({ "code": code, "data": profile("user01") });
    let deep = format!(r#"{{"data":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    vec![
        ("500", status("500 Internal Server Error"), http_status(500)),
        ("502", with_headers("502 Bad Gateway", "a: b", "<html>"), http_status(502)),
        ("503 in JSON", Reply::Status("503 Service Unavailable", json!({ "code": "busy" })), http_status(503)),
        ("500 with a code", Reply::Status("500 Oops", found(1)), http_status(500)),
        ("500 with success", Reply::Status("500 Oops", found(0)), http_status(500)),
        ("404", with_headers("404 Not Found", "content-type: text/plain", "404 page not found"), http_status(404)),
        ("204", bytes("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"), http_status(204)),
        ("201", Reply::Status("201 Created", found(0)), http_status(201)),
        ("301", status("301 Moved Permanently"), InvalidResponse::Redirected.into()),
        ("302", bytes(elsewhere), InvalidResponse::Redirected.into()),
        ("400 in HTML", with_headers("400 Bad Request", "a: b", "<html>"), http_status(400)),
        ("403 with a user", Reply::Status("403 Forbidden", json!({ "data": profile("user01") })), http_status(403)),
        (
            "400 with success",
            Reply::Status("400 Bad Request", json!({ "code": 0, "access_token": "x" })),
            http_status(400),
        ),
        ("HTML", body("<html><body>login</body></html>"), not_json.clone()),
        ("empty", body(""), not_json.clone()),
        ("truncated JSON", body(r#"{"code":0,"data":{"#), not_json.clone()),
        ("truncated body", bytes("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"code\":0}"), lost.clone()),
        ("no HTTP", bytes("SSH-2.0-OpenSSH_9.9\r\n"), lost.clone()),
        ("reset", Reply::Reset, lost),
        ("flood", Reply::Flood, InvalidResponse::TooLarge.into()),
        ("bad UTF-8", Reply::Body(b"{\"access_token\":\"\xff\"}".to_vec()), not_json.clone()),
        ("compressed", Reply::Body(vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0]), not_json.clone()),
        ("array on top", body(&format!("[{who}]")), not_json.clone()),
        ("null", body("null"), not_json.clone()),
        ("two objects", body(&format!("{who}{who}")), not_json.clone()),
        ("a code twice", body(r#"{"code":20003,"code":0,"access_token":"x"}"#), not_json.clone()),
        ("deep", body(&deep), not_json),
        ("code float", body(r#"{"code":0.0,"access_token":"x"}"#), no_code.clone()),
        ("code null", body(r#"{"code":null,"access_token":"x"}"#), no_code.clone()),
        ("code false", body(r#"{"code":false,"access_token":"x"}"#), no_code.clone()),
        ("code a word", body(r#"{"code":"ok","access_token":"x"}"#), no_code),
        ("code a text", body(r#"{"code":"20003","access_token":"x"}"#), again.clone()),
        ("refused with success", body(r#"{"code":20003,"access_token":"x"}"#), again.clone()),
        ("refused", refused(20_003), again),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_responses_identify_no_user() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    for api in [USER_TOKEN, USER_INFO] {
        for (what, reply, expected) in bad() {
            platform.next(api, [reply]);
            assert_eq!(redeem(&feishu, "code").await, Err(expected), "{api}: {what}");
            assert_eq!(
                redeem(&feishu, "code").await,
                Ok(member("user01")),
                "{api}: {what}: the next is answered again"
            );
        }
    }
    assert!(platform.flooded() < 32 << 20, "{} bytes were taken in", platform.flooded());
    assert_eq!(platform.count(TENANT_TOKEN), 0, "signing in needs no token of the application");
}

#[tokio::test]
async fn a_redeemed_code_is_not_redeemed_again() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    platform.next(USER_INFO, [Reply::Reset, status("502 Bad Gateway")]);
    assert!(redeem(&feishu, "code").await.is_err() && redeem(&feishu, "code").await.is_err());
    assert_eq!(redeem(&feishu, "code").await, Ok(member("user01")));
    assert_eq!(platform.count(USER_TOKEN), 1);
    // Another browser has another verifier, which only the platform can compare.
    platform.next(USER_INFO, [Reply::Reset]);
    let verified = |verifier| CodeRedemption {
        code: "other",
        entry: EntryPoint::Browser,
        redirect_uri: CALLBACK,
        verifier: Some(verifier),
    };
    assert!(feishu.redeem(verified("mine")).await.is_err());
    platform.next(USER_TOKEN, [refused(20_049)]);
    assert_eq!(feishu.redeem(verified("theirs")).await, Err(Error::refused(20_049, Meaning::StartAgain)));
    assert_eq!(feishu.redeem(verified("mine")).await, Ok(member("user01")));
    assert_eq!(platform.count(USER_TOKEN), 3);
    // A token is kept for a minute only.
    platform.next(USER_INFO, [Reply::Reset]);
    assert!(redeem(&feishu, "late").await.is_err());
    platform.clock.advance(Duration::from_mins(1));
    assert!(redeem(&feishu, "late").await.is_ok());
    assert_eq!(platform.count(USER_TOKEN), 5);
}

#[tokio::test]
async fn a_long_page_with_another_status_keeps_its_status() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let page = format!("<html>{}", "x".repeat(200_000));
    let head = format!("HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", page.len());
    platform.next(USER_TOKEN, [Reply::Bytes(format!("{head}{page}").into_bytes())]);
    assert_eq!(redeem(&feishu, "code").await, Err(InvalidResponse::Status(502).into()));
    // A success has no excuse.
    platform.next(USER_TOKEN, [Reply::Body(page.into_bytes())]);
    assert_eq!(redeem(&feishu, "code").await, Err(InvalidResponse::TooLarge.into()));
}

#[tokio::test]
async fn a_call_after_the_deadline_is_not_made() {
    let platform = Platform::start().await;
    let mut settings = platform.settings();
    settings.timeouts.operation = Duration::ZERO;
    let feishu = Feishu::new(settings, platform.clock.clone()).unwrap();
    for _ in 0..3 {
        assert_eq!(redeem(&feishu, "code").await, Err(Unreachable::TimedOut.into()));
    }
    assert_eq!((platform.total(), feishu.circuit()), (0, Circuit::Untried));
}

#[tokio::test]
async fn incomplete_tokens_identify_no_user() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let long = "x".repeat(8_193);
    let tokens = [
        json!({ "code": 0 }),
        json!({ "code": 0, "access_token": "" }),
        json!({ "code": 0, "access_token": 7 }),
        json!({ "code": 0, "access_token": "a b" }),
        json!({ "code": 0, "access_token": "a\r\nx-evil: 1" }),
        json!({ "code": 0, "access_token": "令牌" }),
        json!({ "code": 0, "access_token": long }),
        json!({ "code": 0, "data": {} }),
        json!({ "code": 0, "data": [{ "access_token": "x" }] }),
        json!({ "code": 0, "access_token": "x", "data": { "access_token": "y" } }),
    ];
    let missing = Err(InvalidResponse::MissingField("access_token").into());
    for answer in tokens {
        platform.next(USER_TOKEN, [Reply::Json(answer.clone())]);
        assert_eq!(redeem(&feishu, "code").await, missing, "{answer}");
    }
    assert_eq!(platform.count(USER_INFO), 0);
}

#[tokio::test]
async fn tokens_may_be_flat_or_nested() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let long = "x".repeat(4_000);
    let nested = json!({ "code": 0, "msg": "success", "data": { "access_token": "u-1", "expires_in": 6900 } });
    let bare = json!({ "access_token": "u-1", "token_type": "Bearer" });
    for (answer, value) in [(nested, "u-1"), (bare, "u-1"), (json!({ "code": 0, "access_token": long }), long.as_str())]
    {
        platform.next(USER_TOKEN, [Reply::Json(answer)]);
        assert_eq!(redeem(&feishu, "code").await, Ok(member("user01")));
        let asked = platform.calls(USER_INFO).pop().unwrap();
        assert_eq!(asked.header("authorization"), Some(format!("Bearer {value}").as_str()));
    }
}

fn with(name: &str, value: Value) -> Value {
    let mut profile = profile("user01");
    profile[name] = value;
    profile
}

#[tokio::test]
async fn incomplete_profiles_identify_no_user() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let missing = |field| Error::from(InvalidResponse::MissingField(field));
    platform.next(USER_INFO, [Reply::Json(json!({ "code": 0 })), Reply::Json(profile("user01"))]);
    for _ in 0..2 {
        assert_eq!(redeem(&feishu, "code").await, Err(missing("data")));
    }
    for tenant in [json!(null), json!(""), json!(7), json!([crate::platform::TENANT])] {
        platform.next(USER_INFO, [data(&with("tenant_key", tenant.clone()))]);
        assert_eq!(redeem(&feishu, "code").await, Err(missing("tenant_key")), "{tenant}");
    }
    let long = "x".repeat(65);
    for id in ["a/b", "..", ".", "a b", "用户", "x\n", "a'--", "../admin", "@", &long] {
        platform.next(USER_INFO, [data(&profile(id))]);
        assert_eq!(redeem(&feishu, "code").await, Err(missing("user_id")), "{id}");
        platform.next(USER_INFO, [data(&with("open_id", json!(id)))]);
        assert_eq!(redeem(&platform.open_id_client(), "code").await, Err(missing("open_id")), "{id}");
    }
}

#[tokio::test]
async fn only_members_of_the_tenant_are_members() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    for tenant in ["tenantother", "TENANTDESK", "tenantdesk ", "tenantdes"] {
        platform.next(USER_INFO, [data(&with("tenant_key", json!(tenant)))]);
        assert_eq!(redeem(&feishu, "code").await, Ok(Identity::Outsider), "{tenant}");
    }
    // A stranger has no user id, which is no reason to look for a missing permission.
    platform.next(USER_INFO, [data(&json!({ "open_id": "ou_9", "tenant_key": "tenantother" }))]);
    assert_eq!(redeem(&feishu, "code").await, Ok(Identity::Outsider));
    assert_eq!(redeem(&platform.open_id_client(), "code").await, Ok(member("ou_1")));
}

#[tokio::test]
async fn a_missing_permission_is_told_to_administrators() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    for id in [json!(null), json!(""), json!(7)] {
        platform.next(USER_INFO, [data(&with("user_id", id))]);
        let error = redeem(&feishu, "code").await.unwrap_err();
        let code = ErrorCode::word("user_id_missing");
        assert_eq!((error.code(), error.meaning()), (Some(&code), Meaning::Administrator));
        let explanation = feishu.explain(&code);
        assert!(explanation.text.iter().all(|text| text.contains("contact:user.employee_id:readonly")));
    }
    platform.next(USER_INFO, [data(&with("user_id", json!(null)))]);
    assert_eq!(redeem(&platform.open_id_client(), "code").await, Ok(member("ou_1")));
}

#[tokio::test]
async fn refusals_mean_what_the_platform_says() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let cases = [
        (USER_TOKEN, 20_003, Meaning::StartAgain),
        (USER_TOKEN, 20_004, Meaning::StartAgain),
        (USER_TOKEN, 20_065, Meaning::StartAgain),
        (USER_TOKEN, 20_049, Meaning::StartAgain),
        (USER_TOKEN, 20_024, Meaning::StartAgain),
        (USER_TOKEN, 20_010, Meaning::OutOfRange),
        (USER_TOKEN, 20_008, Meaning::Gone),
        (USER_TOKEN, 20_002, Meaning::Administrator),
        (USER_TOKEN, 20_001, Meaning::Developer),
        (USER_TOKEN, 987_654, Meaning::Administrator),
        (USER_INFO, 99_991_677, Meaning::StartAgain),
        (USER_INFO, 99_991_668, Meaning::StartAgain),
        (USER_INFO, 99_991_679, Meaning::Administrator),
    ];
    for (api, code, meaning) in cases {
        platform.next(api, [refused(code)]);
        assert_eq!(redeem(&feishu, "code").await, Err(Error::refused(code, meaning)));
    }
    assert_eq!(platform.count(TENANT_TOKEN), 0, "a user's token cannot be renewed");
}

#[tokio::test]
async fn a_refusal_carries_the_number_of_the_log_and_the_address_seen() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let text = r#"{"code":99991401,"msg":"ip 10.1.2.3 is denied by app setting"}"#;
    for (log_id, expected) in [("2026ABCDEF01", Some("2026ABCDEF01")), ("canary-secret", None), ("a b", None)] {
        platform.next(USER_INFO, [with_headers("400 Bad Request", &format!("X-Tt-Logid: {log_id}"), text)]);
        let error = redeem(&feishu, "code").await.unwrap_err();
        let Error::Refused(refused) = &error else { panic!("{error:?}") };
        assert_eq!((refused.hint.as_deref(), refused.from_ip), (expected, "10.1.2.3".parse().ok()));
        assert!(feishu.advise(&error).unwrap().iter().all(|advice| advice.contains("10.1.2.3")));
    }
}

#[tokio::test]
async fn a_busy_platform_is_asked_three_times() {
    for (line, busy) in [("500 Oops", 20_050_i64), ("503 Later", 20_072)] {
        let platform = Platform::start().await;
        let feishu = platform.client();
        let reply = || Reply::Status(line, json!({ "code": busy, "error": "server_error" }));
        platform.next(USER_TOKEN, [reply(), reply()]);
        assert_eq!(redeem(&feishu, "code").await, Ok(member("user01")));
        assert_eq!(platform.count(USER_TOKEN), 3);
        platform.always(USER_TOKEN, reply());
        assert_eq!(redeem(&feishu, "code").await, Err(Error::refused(busy, Meaning::Retry)));
        assert_eq!(platform.count(USER_TOKEN), 6);
    }
}

#[tokio::test]
async fn a_slow_platform_costs_no_more_than_the_timeout() {
    for api in [USER_TOKEN, USER_INFO] {
        for reply in [Reply::Drip, Reply::Silence] {
            let platform = Platform::start().await;
            platform.always(api, reply);
            let began = Instant::now();
            let feishu = platform.hasty_client();
            assert_eq!(redeem(&feishu, "code").await, Err(Unreachable::TimedOut.into()), "{api}");
            assert!(began.elapsed() < Duration::from_secs(3), "{api}: {:?}", began.elapsed());
        }
    }
}

#[tokio::test]
async fn malformed_codes_are_not_sent() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let long = "x".repeat(513);
    for code in ["", " ", "a b", "a\n", "a\0", "a\u{7f}", "代码", "a/b", "a..b", "../etc", "'or'1", "<script>", &long]
    {
        assert_eq!(redeem(&feishu, code).await, Err(Error::BadCode), "{code:?}");
    }
    assert_eq!(platform.total(), 0);
    platform.next(USER_TOKEN, [user_token("u-1")]);
    assert!(redeem(&feishu, &"x".repeat(512)).await.is_ok());
}
