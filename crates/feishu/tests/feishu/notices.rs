//! Messages and questions to members.

use deskpass_platform::{CardHandle, Choice, Error, InvalidResponse, Invitation, Meaning, Notify as _, Question};
use serde_json::{Value, json};

use crate::platform::{MESSAGE, Platform, data, refused, refused_with_success};
use crate::scripted_server::{Call, Reply};

const CARD: &str = "open-apis/im/v1/messages/om_1";

fn sent() -> Reply {
    data(&json!({ "message_id": "om_1" }))
}

fn content(body: &Value) -> Value {
    serde_json::from_str(body["content"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_text_is_sent_to_one_member() {
    let platform = Platform::start().await;
    platform.always(MESSAGE, sent());
    let text = "Hello \"you\"\n<at user_id=\"all\"></at>";
    for (feishu, kind) in [(platform.client(), "user_id"), (platform.open_id_client(), "open_id")] {
        assert_eq!(feishu.send("user01", text).await, Ok(()));
        let call = platform.calls(MESSAGE).pop().unwrap();
        assert_eq!(call.query, [("receive_id_type".to_owned(), kind.to_owned())]);
        assert_eq!(call.header("authorization"), Some("Bearer canary-token-1"));
        let body = call.json();
        assert_eq!((&body["receive_id"], &body["msg_type"]), (&json!("user01"), &json!("text")));
        assert_eq!(content(&body), json!({ "text": text }));
    }
    let long = "字".repeat(20_000);
    assert_eq!(platform.client().send("user01", &long).await, Ok(()));
    let body = platform.calls(MESSAGE).pop().unwrap().json();
    assert_eq!(content(&body)["text"].as_str().unwrap().chars().count(), 10_000);
}

#[tokio::test]
async fn a_retry_is_recognized_as_the_same_message() {
    let platform = Platform::start().await;
    platform.always(MESSAGE, sent());
    let feishu = platform.client();
    for (userid, text) in [("user01", "a"), ("user01", "a"), ("user01", "b"), ("user02", "a"), ("user0", "1a")] {
        feishu.send(userid, text).await.unwrap();
    }
    let ids: Vec<_> = platform.calls(MESSAGE).iter().map(|call| call.json()["uuid"].clone()).collect();
    assert_eq!(ids[0], ids[1]);
    for (number, id) in ids.iter().enumerate().skip(2) {
        assert!(id.as_str().unwrap().len() <= 50 && !ids[..number].contains(id), "{ids:?}");
    }
}

#[tokio::test]
async fn what_the_platform_will_never_accept_is_rejected() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    for code in [230_001_i64, 230_002, 230_013, 230_029, 230_034, 230_053] {
        platform.next(MESSAGE, [refused(code)]);
        assert_eq!(feishu.send("user01", "x").await, Err(Error::refused(code, Meaning::Rejected)));
    }
    // A bot can be added, a permission opened, and a limit ends.
    for (code, meaning) in [(230_006_i64, Meaning::Administrator), (99_991_672, Meaning::Administrator)] {
        platform.next(MESSAGE, [refused_with_success(code)]);
        assert_eq!(feishu.send("user01", "x").await, Err(Error::refused(code, meaning)));
    }
    let calls = platform.total();
    for recipient in ["", "a|b", "用户", "..", "a b", "a,b"] {
        let rejected = Err(Error::refused(230_001_i64, Meaning::Rejected));
        assert_eq!(feishu.send(recipient, "x").await, rejected, "{recipient}");
    }
    assert_eq!(platform.total(), calls, "what is no identifier is not sent");
}

#[tokio::test]
async fn a_question_has_a_button_for_each_choice() {
    let platform = Platform::start().await;
    platform.always(MESSAGE, sent());
    let feishu = platform.client();
    let choices = [Choice { key: "k1", label: "42" }, Choice { key: "k2", label: "Not me" }];
    let question = Question { id: "q1", title: "Sign in?", text: "From **Berlin**", choices: &choices };
    let handle = feishu.ask("user01", question).await.unwrap().unwrap();
    assert_eq!(handle, CardHandle("om_1".into()));
    let body = platform.calls(MESSAGE).pop().unwrap().json();
    assert_eq!(body["msg_type"], "interactive");
    let card = content(&body);
    assert_eq!(card["config"]["update_multi"], true);
    assert_eq!(card["header"]["title"], json!({ "tag": "plain_text", "content": "Sign in?" }));
    assert_eq!(card["elements"][0]["text"], json!({ "tag": "plain_text", "content": "From **Berlin**" }));
    let buttons = card["elements"][1]["actions"].as_array().unwrap();
    let values: Vec<_> = buttons.iter().map(|button| &button["value"]).collect();
    assert_eq!(values, [&json!({ "question": "q1", "choice": "k1" }), &json!({ "question": "q1", "choice": "k2" })]);

    platform.always(CARD, Reply::Json(json!({ "code": 0, "msg": "ok", "data": {} })));
    assert_eq!(feishu.settle(&handle, "Signed in").await, Ok(()));
    let call = platform.calls(CARD).pop().unwrap();
    let card = content(&call.json());
    assert_eq!((call.method.as_str(), &card["config"]["update_multi"]), ("PATCH", &json!(true)));
    assert_eq!(card["elements"], json!([{ "tag": "div", "text": { "tag": "plain_text", "content": "Signed in" } }]));
}

#[tokio::test]
async fn an_invitation_is_a_card_whose_button_opens_an_address() {
    let platform = Platform::start().await;
    platform.always(MESSAGE, data(&json!({})));
    let feishu = platform.client();
    let url = "https://desk.example.com/s/abc?x=1&y=2";
    let invitation = |id| Invitation { id, title: "Sign in?", text: "From **Berlin**", button: "Open", url };
    for (userid, id) in [("user01", "i1"), ("user01", "i1"), ("user01", "i2"), ("user02", "i1")] {
        assert_eq!(feishu.invite(userid, invitation(id)).await, Ok(()));
    }
    let bodies: Vec<_> = platform.calls(MESSAGE).iter().map(Call::json).collect();
    let ids: Vec<_> = bodies.iter().map(|body| body["uuid"].as_str().unwrap()).collect();
    assert!(ids[0] == ids[1] && ids[0] != ids[2] && ids[0] != ids[3], "a retry is recognised: {ids:?}");
    assert!(ids.iter().all(|id| id.len() <= 50), "{ids:?}");
    assert_eq!((&bodies[0]["receive_id"], &bodies[0]["msg_type"]), (&json!("user01"), &json!("interactive")));
    let card = content(&bodies[0]);
    let plain = |text: &str| json!({ "tag": "plain_text", "content": text });
    assert_eq!(card["header"]["title"], plain("Sign in?"));
    assert_eq!(card["elements"][0]["text"], plain("From **Berlin**"));
    let button = json!({ "tag": "button", "text": plain("Open"), "type": "primary", "url": url });
    assert_eq!(card["elements"][1]["actions"], json!([button]));
    platform.next(MESSAGE, [refused(230_013)]);
    let rejected = Err(Error::refused(230_013_i64, Meaning::Rejected));
    assert_eq!(feishu.invite("user01", invitation("i3")).await, rejected);
    let calls = platform.total();
    assert_eq!(feishu.invite("a|b", invitation("i3")).await, Err(Error::refused(230_001_i64, Meaning::Rejected)));
    assert_eq!(platform.total(), calls);
}

#[tokio::test]
async fn a_question_without_a_usable_handle_is_an_error() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let question = Question { id: "q1", title: "t", text: "x", choices: &[] };
    for answer in [json!({}), json!({ "message_id": 7 }), json!({ "message_id": "../x" })] {
        platform.next(MESSAGE, [data(&answer)]);
        let missing = Err(InvalidResponse::MissingField("message_id").into());
        assert_eq!(feishu.ask("user01", question).await, missing, "{answer}");
    }
    let calls = platform.total();
    let rejected = Err(Error::refused(230_001_i64, Meaning::Rejected));
    assert_eq!(feishu.settle(&CardHandle("../x".into()), "x").await, rejected);
    assert_eq!(platform.total(), calls);
}
