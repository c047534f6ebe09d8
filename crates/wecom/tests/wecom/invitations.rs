//! Messages with a button that opens an address.

use deskpass_platform::{Invitation, Meaning, Notify as _};
use deskpass_wecom::Wecom;
use serde_json::{Value, json};

use crate::platform::{Platform, Reply, errcode, number};
use crate::simulator::Simulated;

const SEND: &str = "message/send";
const URL: &str = "https://desk.example.com/s/abc?x=1&y=2";

const INVITATION: Invitation<'static> = Invitation {
    id: "i1",
    title: "Approve an operation",
    text: "Ada asks for \"reset\".\nPick the number.",
    button: "Open",
    url: URL,
};

/// A platform that accepts every message, and its client.
async fn desk() -> (Platform, Wecom) {
    let platform = Platform::start().await;
    platform.always(SEND, Reply::Json(json!({ "errcode": 0, "errmsg": "ok", "invaliduser": "", "msgid": "m" })));
    let wecom = platform.client();
    (platform, wecom)
}

/// The contents of all messages.
fn sent(platform: &Platform) -> Vec<Value> {
    platform.calls(SEND).iter().map(|call| serde_json::from_str(&call.body).unwrap()).collect()
}

#[tokio::test]
async fn an_invitation_is_a_card_that_needs_no_callback() {
    let (platform, wecom) = desk().await;
    wecom.invite("User01", INVITATION).await.unwrap();
    let card = json!({
        "card_type": "text_notice",
        "main_title": { "title": "Approve an operation" },
        "sub_title_text": "Ada asks for \"reset\".\nPick the number.",
        "jump_list": [{ "type": 1, "title": "Open", "url": URL }],
        "card_action": { "type": 1, "url": URL },
    });
    let expected = json!({
        "touser": "User01",
        "msgtype": "template_card",
        "agentid": 1_000_002,
        "template_card": card,
        "enable_duplicate_check": 1,
        "duplicate_check_interval": 14_400,
    });
    assert_eq!(sent(&platform), [expected]);
}

#[tokio::test]
async fn long_texts_are_shortened_and_the_address_never() {
    let (platform, wecom) = desk().await;
    let (title, text) = ("题".repeat(50), "字".repeat(3_000));
    let invitation = Invitation { title: &title, text: &text, button: &title, ..INVITATION };
    wecom.invite("user01", invitation).await.unwrap();
    let card = sent(&platform)[0]["template_card"].take();
    let chars = |value: &Value| value.as_str().unwrap().chars().count();
    let lengths = [&card["main_title"]["title"], &card["sub_title_text"], &card["jump_list"][0]["title"]].map(chars);
    assert_eq!((lengths, &card["card_action"]["url"]), ([36, 160, 13], &json!(URL)));

    platform.next(SEND, [errcode(42045)]);
    wecom.invite("user01", invitation).await.unwrap();
    let content = sent(&platform)[2]["text"]["content"].take();
    let content = content.as_str().unwrap();
    assert!((2_040..=2_048).contains(&content.len()), "{}", content.len());
    assert!(content.starts_with(&format!("{title}\n字")) && content.ends_with(&format!(": {URL}")), "{content}");
}

#[tokio::test]
async fn where_a_card_is_not_accepted_a_text_is_sent() {
    let (platform, wecom) = desk().await;
    for code in [40008, 40058, 42014, 42028, 42045, 43012] {
        platform.next(SEND, [errcode(code)]);
        wecom.invite("user01", INVITATION).await.unwrap();
        let message = sent(&platform).pop().unwrap();
        assert_eq!((&message["msgtype"], &message["touser"]), (&json!("text"), &json!("user01")), "{code}");
        let expected = format!("{}\n{}\n{}: {URL}", INVITATION.title, INVITATION.text, INVITATION.button);
        assert_eq!(message["text"]["content"], expected.as_str(), "{code}");
    }
    assert_eq!(platform.count(SEND), 12);
}

/// The platform would show it as a link, and the names in a message are of people.
#[tokio::test]
async fn a_text_has_no_links_of_others() {
    let (platform, wecom) = desk().await;
    platform.next(SEND, [errcode(42045)]);
    let invitation = Invitation { text: "<a href=\"https://evil.example\">Arno</a> asks", ..INVITATION };
    wecom.invite("user01", invitation).await.unwrap();
    let content = sent(&platform).pop().unwrap()["text"]["content"].take();
    let content = content.as_str().unwrap();
    assert!(!content.contains(['<', '>']) && content.contains("Arno") && content.ends_with(URL), "{content}");
}

#[tokio::test]
async fn other_refusals_are_errors() {
    let (platform, wecom) = desk().await;
    for userid in ["@all", "a|b", ""] {
        let error = wecom.invite(userid, INVITATION).await.unwrap_err();
        assert_eq!((number(&error), error.meaning()), (Some(81013), Meaning::Rejected), "{userid}");
    }
    assert_eq!(platform.count(SEND), 0);
    for (code, meaning) in [(60020, Meaning::Administrator), (81013, Meaning::Rejected)] {
        platform.next(SEND, [errcode(code)]);
        assert_eq!(wecom.invite("user01", INVITATION).await.unwrap_err().meaning(), meaning);
    }
    platform.next(SEND, [Reply::Json(json!({ "errcode": 0, "invaliduser": "user01" }))]);
    assert_eq!(number(&wecom.invite("User01", INVITATION).await.unwrap_err()), Some(81013));
    assert_eq!(platform.count(SEND), 3, "none of them is about the card");
}

#[tokio::test]
async fn the_simulated_platform_delivers_an_invitation_once() {
    let simulated = Simulated::start().await;
    let wecom = simulated.client();
    // No callback is needed, unlike for a question.
    simulated.request("PUT /sim/switches", r#"{"no_callback":true}"#).await;
    for _ in 0..2 {
        wecom.invite("Agent01", INVITATION).await.unwrap();
    }
    let inbox = simulated.inbox().await;
    let [card] = inbox.as_slice() else { panic!("{inbox:?}") };
    assert_eq!((&card["touser"], &card["template_card"]["card_action"]["url"]), (&json!(["agent01"]), &json!(URL)));
}
