//! Invalid responses: none of them identifies a user.

use std::time::Duration;

use deskpass_platform::{Error, Identity, InvalidResponse, Meaning, Messenger as _, Refused, Unreachable};
use serde_json::json;
use tokio::time::Instant;

use crate::platform::{ExchangeCode as _, GETTOKEN, Platform, Reply, USERINFO, errcode, number, status};

fn body(text: &str) -> Reply {
    Reply::Body(text.into())
}

fn bytes(text: &str) -> Reply {
    Reply::Bytes(text.into())
}

fn incomplete() -> Error {
    InvalidResponse::MissingField("userid").into()
}

/// Invalid responses, and the expected error.
fn bad() -> Vec<(&'static str, Reply, Error)> {
    let elsewhere =
        "HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let refused = |errcode: i64| Error::refused(errcode, Meaning::StartAgain);
    let not_json: Error = InvalidResponse::NotJson.into();
    let no_errcode: Error = InvalidResponse::MissingField("errcode").into();
    let deep =
        |open: &str, close: &str, levels| format!(r#"{{"userid":{}1{}}}"#, open.repeat(levels), close.repeat(levels));
    vec![
        ("HTML", body("<html><body>login</body></html>"), not_json.clone()),
        ("500", status("500 Internal Server Error"), InvalidResponse::Status(500).into()),
        ("502", status("502 Bad Gateway"), InvalidResponse::Status(502).into()),
        ("503", status("503 Service Unavailable"), InvalidResponse::Status(503).into()),
        ("404", status("404 Not Found"), InvalidResponse::Status(404).into()),
        ("204", bytes("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"), InvalidResponse::Status(204).into()),
        ("301", status("301 Moved Permanently"), InvalidResponse::Redirected.into()),
        ("302", bytes(elsewhere), InvalidResponse::Redirected.into()),
        (
            "403 with a user",
            bytes("HTTP/1.1 403 No\r\nconnection: close\r\ncontent-length: 19\r\n\r\n{\"userid\":\"user01\"}"),
            InvalidResponse::Status(403).into(),
        ),
        ("empty", body(""), not_json.clone()),
        ("truncated JSON", body(r#"{"errcode":0,"userid":"user01""#), not_json.clone()),
        (
            "truncated body",
            bytes("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"userid\":\"user01\"}"),
            Unreachable::ConnectionLost.into(),
        ),
        ("no HTTP", bytes("SSH-2.0-OpenSSH_9.9\r\n"), Unreachable::ConnectionLost.into()),
        ("reset", Reply::Reset, Unreachable::ConnectionLost.into()),
        ("flood", Reply::Flood, InvalidResponse::TooLarge.into()),
        ("bad UTF-8", Reply::Body(b"{\"userid\":\"user\xff01\"}".to_vec()), not_json.clone()),
        ("compressed", Reply::Body(vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0]), not_json.clone()),
        ("array on top", body(r#"["user01"]"#), not_json.clone()),
        ("null", body("null"), not_json.clone()),
        ("two objects", body(r#"{"userid":"user01"}{"userid":"user02"}"#), not_json.clone()),
        ("a key twice", body(r#"{"errcode":0,"userid":"user01","userid":"admin01"}"#), not_json.clone()),
        ("an errcode twice", body(r#"{"errcode":40029,"errcode":0,"userid":"user01"}"#), not_json.clone()),
        ("very deep", body(&deep("[", "]", 100_000)), InvalidResponse::TooLarge.into()),
        ("deep arrays", body(&deep("[", "]", 30_000)), not_json.clone()),
        ("deep objects", body(&deep("{\"a\":", "}", 10_000)), not_json),
        ("errcode float", body(r#"{"errcode":0.0,"userid":"user01"}"#), no_errcode.clone()),
        ("errcode null", body(r#"{"errcode":null,"userid":"user01"}"#), no_errcode.clone()),
        ("errcode false", body(r#"{"errcode":false,"userid":"user01"}"#), no_errcode.clone()),
        ("errcode object", body(r#"{"errcode":{},"userid":"user01"}"#), no_errcode.clone()),
        ("errcode a word", body(r#"{"errcode":"ok","userid":"user01"}"#), no_errcode.clone()),
        ("errcode text", body(r#"{"errcode":"40029","userid":"user01"}"#), refused(40029)),
        ("refused with a user", body(r#"{"errcode":40029,"userid":"user01"}"#), refused(40029)),
        ("nobody", body(r#"{"errcode":0,"errmsg":"ok"}"#), incomplete()),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_responses_identify_no_user_and_keep_the_token() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    wecom.check_credentials().await.unwrap();
    for (what, reply, taken_for) in bad() {
        platform.next(USERINFO, [reply]);
        assert_eq!(wecom.exchange_code("code").await, Err(taken_for), "{what}");
        assert!(wecom.exchange_code("code").await.is_ok(), "{what}: the next is answered again");
    }
    assert_eq!(platform.count(GETTOKEN), 1);
    assert!(platform.flooded() < 16 << 20, "{} bytes were taken in", platform.flooded());
}

#[tokio::test]
async fn a_user_id_is_a_text_of_the_documented_shape() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let long = "x".repeat(65);
    let ids = [
        json!(7),
        json!(["user01"]),
        json!({ "userid": "user01" }),
        json!(null),
        json!(true),
        json!(""),
        json!("a/b/c"),
        json!("/x"),
        json!("x/"),
        json!("/"),
        json!("a b"),
        json!("a\u{0}"),
        json!("用户"),
        json!("a'--"),
        json!("ww@corp/x"),
        json!(long),
        json!(format!("{long}/x")),
        json!("../x"),
        json!("x\n"),
    ];
    for id in ids {
        for name in ["userid", "UserId"] {
            platform.next(USERINFO, [Reply::Json(json!({ "errcode": 0, name: id }))]);
            assert_eq!(wecom.exchange_code("code").await, Err(incomplete()), "{name}: {id}");
        }
    }
    // Of two different user ids, neither can be trusted.
    platform.next(USERINFO, [Reply::Json(json!({ "errcode": 0, "userid": "user01", "UserId": "admin01" }))]);
    assert_eq!(wecom.exchange_code("code").await, Err(incomplete()));
}

#[tokio::test]
async fn members_linked_members_and_outsiders_are_distinguished() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let member = |id: &str| Identity::member(id);
    let linked = Identity::Linked { corp_id: "wwPartner".into(), userid: "A.b-c_d@e".into() };
    let cases = [
        (json!({ "errcode": 0, "errmsg": "ok", "userid": "user01", "user_ticket": "t" }), member("user01")),
        (json!({ "errcode": "0", "userid": "user01" }), member("user01")),
        (json!({ "UserId": "User01", "DeviceId": "d" }), member("User01")),
        (json!({ "errcode": 0, "userid": "user01", "openid": "o" }), member("user01")),
        (json!({ "errcode": 0, "userid": "", "UserId": "user01" }), member("user01")),
        (json!({ "errcode": 0, "userid": "wwPartner/A.b-c_d@e" }), linked),
        (json!({ "errcode": 0, "openid": "o", "external_userid": "e" }), Identity::Outsider),
        (json!({ "errcode": 0, "OpenId": "o" }), Identity::Outsider),
        (json!({ "errcode": 0, "userid": 7, "openid": "o" }), Identity::Outsider),
        (json!({ "errcode": 0, "userid": "", "openid": "o" }), Identity::Outsider),
    ];
    for (answer, identity) in cases {
        platform.next(USERINFO, [Reply::Json(answer.clone())]);
        assert_eq!(wecom.exchange_code("code").await, Ok(identity), "{answer}");
    }
}

#[tokio::test]
async fn a_slow_platform_costs_no_more_than_the_timeout() {
    for (api, reply) in
        [(USERINFO, Reply::Drip), (USERINFO, Reply::Silence), (GETTOKEN, Reply::Drip), (GETTOKEN, Reply::Silence)]
    {
        let platform = Platform::start().await;
        platform.always(api, reply);
        let began = Instant::now();
        assert_eq!(platform.hasty_client().exchange_code("code").await, Err(Unreachable::TimedOut.into()));
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_busy_platform_costs_no_more_than_the_timeout() {
    let platform = Platform::start().await;
    let mut settings = platform.settings();
    settings.timeouts.operation = Duration::from_millis(250);
    let wecom = deskpass_wecom::Wecom::new(settings, platform.clock.clone()).unwrap();
    platform.always(USERINFO, errcode(-1));
    assert!(wecom.exchange_code("code").await.is_err());
    // The second pause would end after the timeout.
    assert!(platform.count(USERINFO) <= 2);
}

#[tokio::test]
async fn a_busy_platform_is_asked_three_times() {
    for busy in [-1, 6000] {
        let platform = Platform::start().await;
        let wecom = platform.client();
        platform.next(USERINFO, [errcode(busy), errcode(busy)]);
        assert!(wecom.exchange_code("code").await.is_ok());
        assert_eq!(platform.count(USERINFO), 3);
        platform.always(USERINFO, errcode(busy));
        assert_eq!(number(&wecom.exchange_code("code").await.unwrap_err()), Some(busy));
        assert_eq!(platform.count(USERINFO), 6);
    }
}

#[tokio::test]
async fn a_refusal_carries_the_hint_and_the_address_seen() {
    let platform = Platform::start().await;
    platform.always(USERINFO, errcode(60020));
    let from_ip = "10.1.2.3".parse().ok();
    let (code, meaning) = (60020_i64.into(), Meaning::Administrator);
    let refused = Refused { code, meaning, hint: Some("123".into()), from_ip };
    assert_eq!(platform.client().exchange_code("code").await, Err(Error::Refused(Box::new(refused))));
    assert_eq!(platform.count(USERINFO), 1);
}

#[tokio::test]
async fn an_unreachable_platform_is_reported() {
    let platform = Platform::start().await;
    let mut settings = platform.settings();
    // Bound and closed again: nothing listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    settings.hosts.api = format!("http://{free}").parse().unwrap();
    let wecom = deskpass_wecom::Wecom::new(settings, platform.clock.clone()).unwrap();
    assert_eq!(wecom.exchange_code("code").await, Err(Unreachable::Connect.into()));
    assert_eq!(wecom.date().await, Err(Unreachable::Connect.into()));
}
