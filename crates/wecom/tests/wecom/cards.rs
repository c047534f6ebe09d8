//! Questions with buttons.

use deskpass_platform::{CardHandle, Choice, Error, Meaning, Notify as _, Question};
use deskpass_wecom::{EventSettings, Wecom, WecomSettings};
use serde_json::{Value, json};

use crate::platform::{Platform, Reply, errcode, number};
use crate::simulator::Simulated;

const SEND: &str = "message/send";
const UPDATE: &str = "message/update_template_card";

const CHOICES: [Choice<'static>; 2] = [Choice { key: "k1", label: "37" }, Choice { key: "k2", label: "不是我" }];

fn question(id: &str) -> Question<'_> {
    Question { id, title: "Is it you?", text: "Choose the number.", choices: &CHOICES }
}

/// A client that receives events.
fn client(platform: &Platform, agent_id: Option<&str>) -> Wecom {
    let events = Some(EventSettings { token: "token".into(), aes_key: "k".repeat(43) });
    let settings = WecomSettings { events, agent_id: agent_id.map(Into::into), ..platform.settings() };
    Wecom::new(settings, platform.clock.clone()).unwrap()
}

fn body(platform: &Platform, api: &str) -> Value {
    serde_json::from_str(&platform.calls(api).pop().unwrap().body).unwrap()
}

#[tokio::test]
async fn a_question_is_a_card_in_the_documented_form() {
    let platform = Platform::start().await;
    let wecom = client(&platform, Some("1000002"));
    platform.always(SEND, Reply::Json(json!({ "errcode": 0, "invaliduser": "", "response_code": "r1" })));
    assert_eq!(wecom.ask("User01", question("task-1")).await, Ok(Some(CardHandle("r1".into()))));
    let card = json!({
        "card_type": "button_interaction",
        "main_title": { "title": "Is it you?" },
        "sub_title_text": "Choose the number.",
        "task_id": "task-1",
        "button_list": [{ "text": "37", "style": 1, "key": "k1" }, { "text": "不是我", "style": 1, "key": "k2" }],
    });
    let sent = json!({ "touser": "User01", "msgtype": "template_card", "agentid": 1_000_002, "template_card": card });
    assert_eq!(body(&platform, SEND), sent);

    platform.always(UPDATE, Reply::Json(json!({ "errcode": 0, "invaliduser": [] })));
    wecom.settle(&CardHandle("r1".into()), "已确认").await.unwrap();
    let button = json!({ "replace_name": "已确认" });
    let settled = json!({ "atall": 1, "agentid": 1_000_002, "response_code": "r1", "button": button });
    assert_eq!(body(&platform, UPDATE), settled);
}

#[tokio::test]
async fn where_no_answer_can_arrive_nothing_is_asked() {
    let platform = Platform::start().await;
    // Without an agent id, and without a way to read events.
    for wecom in [client(&platform, None), platform.client()] {
        assert_eq!(wecom.ask("user01", question("task-1")).await, Ok(None));
    }
    assert_eq!(platform.count("gettoken"), 0);
    platform.always(SEND, errcode(43012));
    assert_eq!(client(&platform, Some("1000002")).ask("user01", question("task-1")).await, Ok(None));
    assert_eq!(platform.count(SEND), 1);
}

#[tokio::test]
async fn a_question_that_is_refused_is_an_error() {
    let platform = Platform::start().await;
    let wecom = client(&platform, Some("1000002"));
    for userid in ["@all", "a|b", ""] {
        let error = wecom.ask(userid, question("task-1")).await.unwrap_err();
        assert_eq!((number(&error), error.meaning()), (Some(81013), Meaning::Rejected), "{userid}");
    }
    assert_eq!(platform.count(SEND), 0);
    platform.always(SEND, Reply::Json(json!({ "errcode": 0, "invaliduser": "user01" })));
    assert_eq!(number(&wecom.ask("User01", question("task-1")).await.unwrap_err()), Some(81013));
    platform.always(SEND, errcode(60020));
    assert!(wecom.ask("user01", question("task-1")).await.unwrap_err().is_refused_as(Meaning::Administrator));
}

#[tokio::test]
async fn a_card_without_a_code_stays_as_it_is() {
    let platform = Platform::start().await;
    let wecom = client(&platform, Some("1000002"));
    platform.always(SEND, Reply::Json(json!({ "errcode": 0 })));
    let handle = wecom.ask("user01", question("task-1")).await.unwrap().unwrap();
    wecom.settle(&handle, "done").await.unwrap();
    assert_eq!(platform.count(UPDATE), 0);
}

#[tokio::test]
async fn the_simulated_platform_shows_the_question_and_its_outcome() {
    let simulated = Simulated::start().await;
    let wecom = simulated.client();
    let handle = wecom.ask("Agent01", question("task-1")).await.unwrap().unwrap();
    let card = simulated.inbox().await.pop().unwrap();
    assert_eq!((&card["touser"], &card["template_card"]["task_id"]), (&json!(["agent01"]), &json!("task-1")));
    wecom.settle(&handle, "Confirmed").await.unwrap();
    let updates = simulated.inbox().await.pop().unwrap()["updates"].take();
    assert_eq!(updates[0]["change"], json!({ "button": { "replace_name": "Confirmed" } }));
    // A code can be used once, and so can the id of a question.
    let errors: [Error; 2] = [
        wecom.settle(&handle, "Again").await.unwrap_err(),
        wecom.ask("agent01", question("task-1")).await.unwrap_err(),
    ];
    assert!(errors.iter().all(|error| error.is_refused_as(Meaning::Rejected)), "{errors:?}");
    simulated.request("PUT /sim/switches", r#"{"no_callback":true}"#).await;
    assert_eq!(wecom.ask("agent01", question("task-2")).await, Ok(None));
}
