//! Messages to members.

use std::time::Duration;

use deskpass_platform::{Circuit, Error, ErrorCode, Meaning, Messenger as _, Notify as _};
use deskpass_wecom::{Wecom, WecomSettings};
use serde_json::{Value, json};

use crate::platform::{ExchangeCode as _, GETTOKEN, Platform, Reply, USERINFO, errcode, number, status, token};
use crate::simulator::Simulated;

const SEND: &str = "message/send";

/// A platform that accepts every message, and its client.
async fn desk() -> (Platform, Wecom) {
    let platform = Platform::start().await;
    platform.always(SEND, Reply::Json(json!({ "errcode": 0, "errmsg": "ok", "invaliduser": "", "msgid": "m" })));
    let wecom = platform.client();
    (platform, wecom)
}

/// The content of the last message.
fn sent(platform: &Platform) -> Value {
    serde_json::from_str(&platform.calls(SEND).pop().unwrap().body).unwrap()
}

fn refused(outcome: Result<(), Error>) -> i64 {
    assert!(matches!(outcome, Err(Error::Refused(_))), "{outcome:?}");
    number(&outcome.unwrap_err()).unwrap()
}

#[tokio::test]
async fn a_message_is_sent_in_the_documented_form() {
    let (platform, wecom) = desk().await;
    wecom.send("User-01@a.b", "你好, \"Ann\"\nbye").await.unwrap();
    let call = platform.calls(SEND).pop().unwrap();
    assert_eq!(call.method, "POST");
    assert_eq!(call.query, [("access_token".into(), "canary-token-1".into())]);
    let body = json!({
        "touser": "User-01@a.b",
        "msgtype": "text",
        "agentid": 1_000_002,
        "text": { "content": "你好, \"Ann\"\nbye" },
        "safe": 0,
        "enable_duplicate_check": 1,
        "duplicate_check_interval": 14_400,
    });
    assert_eq!(sent(&platform), body);
}

#[tokio::test]
async fn a_long_text_is_cut_between_characters() {
    let (platform, wecom) = desk().await;
    let texts =
        [("a".repeat(2_048), 2_048), ("a".repeat(2_049), 2_048), ("字".repeat(700), 2_046), ("é".repeat(1_024), 2_048)];
    for (text, bytes) in texts {
        wecom.send("user01", &text).await.unwrap();
        assert_eq!(sent(&platform)["text"]["content"], text[..bytes]);
    }
}

#[tokio::test]
async fn a_message_to_a_single_member_cannot_reach_many() {
    let (platform, wecom) = desk().await;
    for userid in ["@all", "@ALL", "@", "a|b", "|", "", "corp/user01", "a b", "用户", &"x".repeat(65)] {
        assert_eq!(refused(wecom.send(userid, "text").await), 81013, "{userid}");
    }
    assert_eq!(platform.count(GETTOKEN) + platform.count(SEND), 0);
}

#[tokio::test]
async fn a_message_without_valid_recipient_is_refused() {
    let (platform, wecom) = desk().await;
    for name in ["invaliduser", "unlicenseduser"] {
        for list in ["user01", "user00|user01"] {
            platform.next(SEND, [Reply::Json(json!({ "errcode": 0, name: list, "msgid": "m" }))]);
            assert_eq!(refused(wecom.send("User01", "text").await), 81013, "{name} {list}");
        }
        for other in [json!("user0|user011"), json!(null), json!([])] {
            platform.next(SEND, [Reply::Json(json!({ "errcode": 0, name: other, "msgid": "m" }))]);
            wecom.send("User01", "text").await.unwrap();
        }
    }
    platform.next(SEND, [errcode(81013)]);
    assert_eq!(refused(wecom.send("user01", "text").await), 81013);
}

#[tokio::test]
async fn an_invalid_agent_id_sends_nothing() {
    let (platform, _) = desk().await;
    for (agent_id, number) in [(None, 41011), (Some("desk"), 40056), (Some("-1"), 40056)] {
        let agent_id = agent_id.map(str::to_owned);
        let wecom = Wecom::new(WecomSettings { agent_id, ..platform.settings() }, platform.clock.clone()).unwrap();
        assert_eq!(refused(wecom.send("user01", "text").await), number);
    }
    assert_eq!(platform.count(GETTOKEN) + platform.count(SEND), 0);
}

#[tokio::test]
async fn a_token_that_ended_early_is_replaced_once() {
    let (platform, wecom) = desk().await;
    platform.next(SEND, [errcode(42001)]);
    platform.next(GETTOKEN, [token("canary-token-1", 7_200), token("canary-token-2", 7_200)]);
    wecom.send("user01", "text").await.unwrap();
    let used: Vec<_> = platform.calls(SEND).into_iter().map(|call| call.query[0].1.clone()).collect();
    assert_eq!(used, ["canary-token-1", "canary-token-2"]);
    assert_eq!(platform.count(GETTOKEN), 2);
}

#[tokio::test]
async fn a_limit_on_messages_does_not_block_sign_ins() {
    let (platform, wecom) = desk().await;
    platform.next(SEND, [errcode(45009)]);
    assert_eq!(refused(wecom.send("user01", "text").await), 45009);
    assert!(matches!(
        wecom.send("user01", "text").await,
        Err(Error::CircuitOpen { code: ErrorCode::Number(45009), .. })
    ));
    assert_eq!(platform.count(SEND), 1);
    assert_eq!(wecom.circuit(), Circuit::Closed);
    assert!(wecom.exchange_code("code").await.is_ok());
    platform.clock.advance(Duration::from_mins(1));
    wecom.send("user01", "text").await.unwrap();
}

#[tokio::test]
async fn message_errors_do_not_affect_the_sign_in_status() {
    for fate in [errcode(60020), errcode(301_002), errcode(81013), errcode(1), Reply::Reset, status("502 Bad Gateway")]
    {
        let (platform, wecom) = desk().await;
        platform.always(SEND, fate);
        for _ in 0..4 {
            assert!(wecom.send("user01", "text").await.is_err());
            assert_eq!(wecom.circuit(), Circuit::Closed);
        }
        assert!(!wecom.is_down().await);
        // A message also does not hide that sign-in is impossible.
        platform.always(USERINFO, Reply::Reset);
        for _ in 0..3 {
            assert!(wecom.exchange_code("code").await.is_err());
        }
        assert!(wecom.send("user01", "text").await.is_err());
        assert_eq!(wecom.circuit(), Circuit::Failing);
    }
}

#[tokio::test]
async fn only_errors_about_the_recipient_or_the_message_are_permanent() {
    for (code, meaning) in [
        (40003, Meaning::Rejected),
        (41011, Meaning::Rejected),
        (60111, Meaning::Rejected),
        (81013, Meaning::Rejected),
        (60011, Meaning::Administrator),
        (60020, Meaning::Administrator),
        (45009, Meaning::Limited),
        (-1, Meaning::Retry),
    ] {
        let (platform, wecom) = desk().await;
        platform.always(SEND, errcode(code));
        assert_eq!(wecom.send("user01", "text").await.unwrap_err().meaning(), meaning, "{code}");
    }
}

#[tokio::test]
async fn a_message_is_in_the_inbox_of_the_simulated_platform() {
    let simulated = Simulated::start().await;
    let wecom = simulated.client();
    assert!(!wecom.is_down().await);
    // A message that is sent again because the response was lost is delivered once.
    for text in ["你好", "你好", "再见"] {
        wecom.send("Agent01", text).await.unwrap();
    }
    assert_eq!(refused(wecom.send("nobody", "text").await), 81013);
    let shown = |message: &Value| (message["touser"].clone(), message["text"].clone());
    let told = ["你好", "再见"].map(|text| (json!(["agent01"]), json!({ "content": text })));
    assert_eq!(simulated.inbox().await.iter().map(shown).collect::<Vec<_>>(), told);
}
