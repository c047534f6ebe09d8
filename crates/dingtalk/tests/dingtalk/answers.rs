//! Invalid responses: none of them identifies a user.

use std::time::Duration;

use deskpass_platform::{EntryPoint, Error, Identity, InvalidResponse, Meaning, Unreachable};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::platform::{
    BY_UNION_ID, ME, Platform, TOKEN, USER_INFO, USER_TOKEN, by_page, by_script, errcode, member, redeem, result,
    sub_code, user_token, word,
};
use crate::scripted_server::{Reply, status};

fn body(text: &str) -> Reply {
    Reply::Body(text.into())
}

fn bytes(text: &str) -> Reply {
    Reply::Bytes(text.into())
}

/// Responses that no API gives, and the expected error.
fn bad() -> Vec<(&'static str, Reply, Error)> {
    let elsewhere =
        "HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let not_json: Error = InvalidResponse::NotJson.into();
    let no_errcode: Error = InvalidResponse::MissingField("errcode").into();
    let deep = format!(r#"{{"result":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let page = |line: &str| bytes(&format!("HTTP/1.1 {line}\r\nconnection: close\r\ncontent-length: 6\r\n\r\n<html>"));
    vec![
        ("500", status("500 Internal Server Error"), InvalidResponse::Status(500).into()),
        ("502 page", page("502 Bad Gateway"), InvalidResponse::Status(502).into()),
        ("503 JSON", Reply::Status("503 No", json!({ "code": "new" })), InvalidResponse::Status(503).into()),
        ("504 JSON", Reply::Status("504 No", json!({ "a": 1 })), InvalidResponse::Status(504).into()),
        ("404 page", page("404 Not Found"), InvalidResponse::Status(404).into()),
        ("405 page", page("405 Not Allowed"), InvalidResponse::Status(405).into()),
        ("400 list", Reply::Status("400 No", json!(["x"])), InvalidResponse::Status(400).into()),
        ("400 number", Reply::Status("400 No", json!({ "code": 7 })), InvalidResponse::Status(400).into()),
        ("403 user", Reply::Status("403 No", everything()), InvalidResponse::Status(403).into()),
        ("201 user", Reply::Status("201 Created", everything()), InvalidResponse::Status(201).into()),
        ("204", bytes("HTTP/1.1 204 No\r\nconnection: close\r\n\r\n"), InvalidResponse::Status(204).into()),
        ("302", bytes(elsewhere), InvalidResponse::Redirected.into()),
        ("403 page", page("403 Forbidden"), InvalidResponse::Status(403).into()),
        ("page", body("<!DOCTYPE html><html></html>"), not_json.clone()),
        ("empty", body(""), not_json.clone()),
        ("text", body("error"), not_json.clone()),
        ("truncated JSON", body(r#"{"errcode":0,"result":{"userid":"user01""#), not_json.clone()),
        (
            "truncated body",
            bytes("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"userid\":\"user01\"}"),
            Unreachable::ConnectionLost.into(),
        ),
        ("no HTTP", bytes("SSH-2.0-OpenSSH_9.9\r\n"), Unreachable::ConnectionLost.into()),
        ("reset", Reply::Reset, Unreachable::ConnectionLost.into()),
        ("flood", Reply::Flood, InvalidResponse::TooLarge.into()),
        ("bad UTF-8", Reply::Body(b"{\"result\":\"user\xff01\"}".to_vec()), not_json.clone()),
        ("array on top", body(r#"["user01"]"#), not_json.clone()),
        ("null", body("null"), not_json.clone()),
        ("two objects", body("{}{}"), not_json.clone()),
        ("a key twice", body(r#"{"errcode":40078,"errcode":0}"#), not_json.clone()),
        ("deep arrays", body(&deep), not_json),
        ("errcode null", body(r#"{"errcode":null}"#), no_errcode.clone()),
        ("errcode false", body(r#"{"errcode":false}"#), no_errcode.clone()),
        ("errcode a word", body(r#"{"errcode":"ok"}"#), no_errcode),
        ("errcode text", body(r#"{"errcode":"40078"}"#), Error::refused(40078, Meaning::StartAgain)),
    ]
}

/// An object with the fields of every success.
fn everything() -> Value {
    json!({
        "errcode": 0, "corpId": "dingdesk", "accessToken": "t", "unionId": "union01",
        "result": { "userid": "user01", "contact_type": 0 },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_responses_identify_no_user_and_keep_the_token() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    by_page(&dingtalk).await.unwrap();
    for api in [USER_TOKEN, ME, BY_UNION_ID, USER_INFO] {
        let entry = if api == USER_INFO { EntryPoint::Script } else { EntryPoint::Browser };
        for (what, reply, taken_for) in bad() {
            platform.next(api, [reply]);
            assert_eq!(redeem(&dingtalk, entry, "code").await, Err(taken_for), "{api}: {what}");
            let next = redeem(&dingtalk, entry, "code").await;
            assert_eq!(next, Ok(member("user01")), "{api}: {what}: the next is answered again");
        }
    }
    assert_eq!(platform.count(TOKEN), 1);
    assert!(platform.flooded() < 64 << 20, "{} bytes were taken in", platform.flooded());
}

fn without(name: &str) -> Reply {
    let mut answer = user_token("dingdesk");
    answer.as_object_mut().unwrap().remove(name);
    Reply::Json(answer)
}

#[tokio::test]
async fn a_redeemed_code_is_not_redeemed_again() {
    for api in [ME, BY_UNION_ID] {
        let platform = Platform::start().await;
        let dingtalk = platform.client();
        platform.next(api, [Reply::Reset, status("502 Bad Gateway"), body("<html>")]);
        for _ in 0..3 {
            assert!(by_page(&dingtalk).await.is_err(), "{api}");
        }
        assert_eq!(by_page(&dingtalk).await, Ok(member("user01")), "{api}");
        assert_eq!(platform.count(USER_TOKEN), 1, "{api}");
        // The sign-in is over: the platform decides about every further use of the code.
        by_page(&dingtalk).await.unwrap();
        assert_eq!(platform.count(USER_TOKEN), 2, "{api}");
        platform.next(api, [Reply::Reset]);
        assert!(redeem(&dingtalk, EntryPoint::Browser, "late").await.is_err());
        platform.clock.advance(Duration::from_mins(1));
        assert!(redeem(&dingtalk, EntryPoint::Browser, "late").await.is_ok());
        assert_eq!(platform.count(USER_TOKEN), 4, "{api}: the token was kept for a minute only");
    }
}

#[tokio::test]
async fn incomplete_answers_identify_no_user() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let mut unusable = user_token("dingdesk");
    unusable["accessToken"] = json!("a\r\nb: c");
    let found = |userid: Value, kind: Value| result(&json!({ "userid": userid, "contact_type": kind }));
    for (api, reply, field) in [
        (USER_TOKEN, Reply::Json(json!({})), "accessToken"),
        (USER_TOKEN, without("accessToken"), "accessToken"),
        (USER_TOKEN, Reply::Json(unusable), "accessToken"),
        (ME, Reply::Json(json!({ "nick": "x" })), "unionId"),
        (ME, Reply::Json(json!({ "unionId": 7 })), "unionId"),
        (ME, Reply::Json(json!({ "unionId": "a b" })), "unionId"),
        (BY_UNION_ID, Reply::Json(json!({ "errcode": 0 })), "result"),
        (BY_UNION_ID, Reply::Json(json!({ "userid": "user01", "contact_type": 0 })), "result"),
        (BY_UNION_ID, found(json!("user01"), json!(null)), "contact_type"),
        (BY_UNION_ID, found(json!("user01"), json!("staff")), "contact_type"),
        (BY_UNION_ID, found(json!(7), json!(0)), "userid"),
        (BY_UNION_ID, found(json!(["user01"]), json!(0)), "userid"),
        (BY_UNION_ID, found(json!("a/b"), json!(0)), "userid"),
        (BY_UNION_ID, found(json!("用户"), json!(0)), "userid"),
        (BY_UNION_ID, found(json!("x".repeat(65)), json!(0)), "userid"),
    ] {
        platform.next(api, [reply]);
        assert_eq!(by_page(&dingtalk).await, Err(InvalidResponse::MissingField(field).into()), "{api} {field}");
    }
    for userid in [json!(null), json!(""), json!("a b"), json!("x\n"), json!({})] {
        platform.next(USER_INFO, [result(&json!({ "userid": userid }))]);
        let incomplete = InvalidResponse::MissingField("userid").into();
        assert_eq!(by_script(&dingtalk).await, Err(incomplete), "{userid}");
    }
}

#[tokio::test]
async fn only_members_of_the_corporation_are_members() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    // Another corporation, or none, is found out before the user is asked for.
    for answer in [Reply::Json(user_token("dingother")), without("corpId")] {
        platform.next(USER_TOKEN, [answer]);
        assert_eq!(by_page(&dingtalk).await, Ok(Identity::Outsider));
    }
    assert_eq!(platform.count(ME) + platform.count(BY_UNION_ID), 0);
    for kind in [1, 2, -1] {
        platform.next(BY_UNION_ID, [result(&json!({ "userid": "user01", "contact_type": kind }))]);
        assert_eq!(by_page(&dingtalk).await, Ok(Identity::Outsider), "{kind}");
    }
    for gone in [60121, 33012, 40003] {
        platform.next(BY_UNION_ID, [errcode(gone)]);
        assert_eq!(by_page(&dingtalk).await, Ok(Identity::Outsider), "{gone}");
    }
    assert_eq!(by_page(&dingtalk).await, Ok(member("user01")));
}

#[tokio::test]
async fn both_error_shapes_are_understood() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let cases = [
        (BY_UNION_ID, errcode(60020), "60020", Meaning::Administrator),
        (BY_UNION_ID, errcode(60011), "60011", Meaning::OutOfRange),
        (BY_UNION_ID, errcode(22), "22", Meaning::Developer),
        (BY_UNION_ID, errcode(99_999), "99999", Meaning::Administrator),
        (BY_UNION_ID, sub_code("60011"), "88/60011", Meaning::Administrator),
        (
            USER_TOKEN,
            word("invalidParameter.authCode.notFound"),
            "invalidParameter.authCode.notFound",
            Meaning::StartAgain,
        ),
        (USER_TOKEN, word("something.else"), "something.else", Meaning::Developer),
        (USER_TOKEN, word("invalidClientIdOrSecret"), "invalidClientIdOrSecret", Meaning::Administrator),
        (ME, word("accesstoken.expired"), "accesstoken.expired", Meaning::StartAgain),
        (ME, word("InvalidAuthentication"), "InvalidAuthentication", Meaning::StartAgain),
    ];
    for (api, reply, code, meaning) in cases {
        platform.next(api, [reply]);
        let error = by_page(&dingtalk).await.unwrap_err();
        assert_eq!((error.code().unwrap().to_string().as_str(), error.meaning()), (code, meaning), "{api}");
    }
    platform.next(USER_INFO, [errcode(40078)]);
    assert_eq!(by_script(&dingtalk).await.unwrap_err().meaning(), Meaning::StartAgain);
    platform.next(USER_INFO, [errcode(99_999)]);
    assert_eq!(by_script(&dingtalk).await.unwrap_err().meaning(), Meaning::Developer);
    // No token of the application has a part in the failure of a user's.
    assert_eq!(platform.count(TOKEN), 1);
}

#[tokio::test]
async fn a_busy_platform_is_asked_three_times() {
    let busy: [fn() -> Reply; 3] = [|| errcode(-1), || errcode(15), || sub_code("")];
    for busy in busy {
        let platform = Platform::start().await;
        let dingtalk = platform.client();
        platform.next(USER_INFO, [busy(), busy()]);
        assert_eq!(by_script(&dingtalk).await, Ok(member("user01")));
        assert_eq!((platform.count(USER_INFO), platform.count(TOKEN)), (3, 1));
    }
}

#[tokio::test]
async fn a_slow_platform_costs_no_more_than_the_timeout() {
    for api in [TOKEN, USER_TOKEN, ME, BY_UNION_ID] {
        for reply in [Reply::Drip, Reply::Silence] {
            let platform = Platform::start().await;
            platform.always(api, reply);
            let began = Instant::now();
            assert_eq!(by_page(&platform.hasty_client()).await, Err(Unreachable::TimedOut.into()), "{api}");
            assert!(began.elapsed() < Duration::from_secs(3), "{api}: {:?}", began.elapsed());
        }
    }
}
