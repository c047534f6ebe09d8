//! Messages to members.

use deskpass_dingtalk::{Dingtalk, DingtalkSettings};
use deskpass_platform::{CardHandle, Error, Invitation, Meaning, Messenger as _, Notify as _, Question};
use serde_json::json;

use crate::platform::{Platform, SEND, errcode, sub_code, token};
use crate::scripted_server::Reply;

/// A platform that accepts every message, and its client.
async fn desk() -> (Platform, Dingtalk) {
    let platform = Platform::start().await;
    platform.always(SEND, Reply::Json(json!({ "errcode": 0, "errmsg": "ok", "task_id": 7 })));
    let dingtalk = platform.client();
    (platform, dingtalk)
}

/// The code of a message that will never be accepted.
fn rejected(outcome: Result<(), Error>) -> String {
    let error = outcome.unwrap_err();
    assert!(error.is_refused_as(Meaning::Rejected), "{error:?}");
    error.code().unwrap().to_string()
}

#[tokio::test]
async fn a_message_is_sent_in_the_documented_form() {
    let (platform, dingtalk) = desk().await;
    dingtalk.send("User-01@a.b", "你好, \"Ann\"\nbye").await.unwrap();
    let call = platform.calls(SEND).pop().unwrap();
    assert_eq!(call.query, [("access_token".into(), "canary-token-1".into())]);
    let expected = json!({
        "agent_id": 1_000_002,
        "userid_list": "User-01@a.b",
        "to_all_user": false,
        "msg": { "msgtype": "text", "text": { "content": "你好, \"Ann\"\nbye" } },
    });
    assert_eq!(call.json(), expected);
}

#[tokio::test]
async fn a_long_text_is_cut_between_characters() {
    let (platform, dingtalk) = desk().await;
    for text in ["a".repeat(5_000), "字".repeat(2_000), "\"\n".repeat(3_000)] {
        dingtalk.send("user01", &text).await.unwrap();
        let message = platform.calls(SEND).pop().unwrap().json()["msg"].take();
        assert!((2_000..=2_048).contains(&message.to_string().len()), "{}", message.to_string().len());
        assert!(text.starts_with(message["text"]["content"].as_str().unwrap()));
    }
}

const URL: &str = "https://desk.example.com/s/abc?x=1&y=2";

fn invitation<'a>(id: &'a str, text: &'a str) -> Invitation<'a> {
    Invitation { id, title: "Is it [you]?", text, button: "Open", url: URL }
}

#[tokio::test]
async fn an_invitation_is_a_card_with_one_button() {
    let (platform, dingtalk) = desk().await;
    for id in ["i1", "i1", "i2"] {
        dingtalk.invite("user01", invitation(id, "Ada [x](http://a.example)\nasks")).await.unwrap();
    }
    let cards: Vec<_> = platform.calls(SEND).iter().map(|call| call.json()["msg"].take()).collect();
    assert_eq!(cards[0], cards[1], "a retry is the same message");
    // The platform drops a text that a member got on the same day.
    assert_ne!(cards[0]["action_card"]["markdown"], cards[2]["action_card"]["markdown"]);
    let mut card = cards[2]["action_card"].clone();
    let markdown = card["markdown"].take();
    let shown = "### Is it ［you］?\n\nAda ［x］(http://a.example)  \nasks\n\n";
    assert!(markdown.as_str().unwrap().starts_with(shown), "{markdown}");
    let expected = json!({ "title": "Is it [you]?", "markdown": null, "single_title": "Open", "single_url": URL });
    assert_eq!((&cards[2]["msgtype"], card), (&json!("action_card"), expected));
}

#[tokio::test]
async fn a_long_invitation_keeps_its_address() {
    let (platform, dingtalk) = desk().await;
    dingtalk.invite("user01", invitation("i1", &"字[".repeat(3_000))).await.unwrap();
    let message = platform.calls(SEND).pop().unwrap().json()["msg"].take();
    assert!((2_000..=2_048).contains(&message.to_string().len()), "{}", message.to_string().len());
    assert_eq!(message["action_card"]["single_url"], URL);
}

#[tokio::test]
async fn what_cannot_be_sent_is_not_sent() {
    let (platform, dingtalk) = desk().await;
    for userid in ["a,b", ",", "", "@all x", "a b", "用户", &"x".repeat(65)] {
        assert_eq!(rejected(dingtalk.send(userid, "text").await), "userid.invalid", "{userid}");
        assert_eq!(rejected(dingtalk.invite(userid, invitation("i1", "x")).await), "userid.invalid", "{userid}");
    }
    for (agent_id, code) in [(None, "agent_id.missing"), (Some("desk"), "agent_id.invalid")] {
        let agent_id = agent_id.map(str::to_owned);
        let settings = DingtalkSettings { agent_id, ..platform.settings() };
        let dingtalk = Dingtalk::new(settings, platform.clock.clone()).unwrap();
        assert_eq!(rejected(dingtalk.send("user01", "text").await), code);
        assert!(dingtalk.explain(&deskpass_platform::ErrorCode::word(code)).text[0].contains("agent id"));
    }
    assert_eq!(platform.total(), 0);
}

#[tokio::test]
async fn refusals_of_messages_are_permanent_or_not() {
    let (platform, dingtalk) = desk().await;
    for gone in [60121, 33012, 40056] {
        platform.next(SEND, [errcode(gone)]);
        assert_eq!(rejected(dingtalk.send("user01", "text").await), gone.to_string());
    }
    platform.next(SEND, [errcode(60020)]);
    assert_eq!(dingtalk.send("user01", "text").await.unwrap_err().meaning(), Meaning::Administrator);
    platform.next(SEND, [sub_code("42001")]);
    platform.next("v1.0/oauth2/dingdesk/token", [token("canary-token-2", 7_200)]);
    dingtalk.send("user01", "text").await.unwrap();
}

#[tokio::test]
async fn questions_are_not_asked_here() {
    let (platform, dingtalk) = desk().await;
    let question = Question { id: "q", title: "t", text: "x", choices: &[] };
    assert_eq!(dingtalk.ask("user01", question).await, Ok(None));
    assert_eq!(dingtalk.settle(&CardHandle("h".into()), "done").await, Ok(()));
    assert_eq!(platform.total(), 0);
}
