//! Cards with buttons, and their changes.

use serde_json::{Value, json};

use crate::harness::Sim;

fn card(task: &str) -> Value {
    let buttons = [json!({ "text": "37", "style": 1, "key": "a" }), json!({ "text": "82", "style": 1, "key": "b" })];
    let card = json!({
        "card_type": "button_interaction",
        "task_id": task,
        "main_title": { "title": "Is it you?", "desc": "Choose the number that the browser shows." },
        "horizontal_content_list": [{ "keyname": "Where", "value": "Firefox" }],
        "button_list": buttons,
    });
    json!({ "touser": "user01|agent01", "msgtype": "template_card", "agentid": 1_000_002, "template_card": card })
}

/// Sends a card; returns its response code.
async fn sent(sim: &Sim, task: &str) -> String {
    let answer = sim.post("message/send", &card(task)).await;
    assert_eq!(answer.errcode(), 0, "{answer:?}");
    answer.json()["response_code"].as_str().unwrap().to_owned()
}

fn greyed(code: &str, users: &[&str]) -> Value {
    json!({ "userids": users, "agentid": 1_000_002, "response_code": code, "button": { "replace_name": "Confirmed" } })
}

async fn update(sim: &Sim, ask: &Value) -> i64 {
    sim.post("message/update_template_card", ask).await.errcode()
}

async fn message(sim: &Sim) -> Value {
    sim.get("/inbox").await.json()["messages"][0].clone()
}

#[tokio::test]
async fn a_card_arrives_and_changes_once() {
    let sim = Sim::start().await;
    let code = sent(&sim, "task-1").await;
    let arrived = message(&sim).await;
    assert_eq!(arrived["touser"], json!(["agent01", "user01"]));
    assert_eq!(arrived["template_card"]["button_list"][1]["key"], "b");
    let answer = sim.post("message/update_template_card", &greyed(&code, &["USER01", "Norole01"])).await;
    assert_eq!((answer.errcode(), &answer.json()["invaliduser"]), (0, &json!(["norole01"])));
    let change = message(&sim).await["updates"][0].clone();
    assert_eq!((&change["touser"], &change["at"]), (&json!(["user01"]), &1_800_000_000_000_i64.into()));
    assert_eq!(change["change"]["button"]["replace_name"], "Confirmed");
    assert_eq!(update(&sim, &greyed(&code, &["agent01"])).await, 42022);
}

#[tokio::test]
async fn a_card_can_become_another_one() {
    let sim = Sim::start().await;
    let code = sent(&sim, "task-1").await;
    let action = json!({ "type": 1, "url": "https://desk.example.com/" });
    let notice = json!({ "card_type": "text_notice", "main_title": { "title": "Done" }, "card_action": action });
    let ask = json!({ "atall": 1, "agentid": "1000002", "response_code": code, "template_card": notice });
    assert_eq!(update(&sim, &ask).await, 0);
    let change = message(&sim).await["updates"][0].clone();
    assert_eq!(change["touser"], json!(["agent01", "user01"]));
    assert_eq!(change["change"]["template_card"]["main_title"]["title"], "Done");
}

#[tokio::test]
async fn a_card_can_be_changed_for_three_days() {
    let sim = Sim::start().await;
    let (early, late) = (sent(&sim, "task-1").await, sent(&sim, "task-2").await);
    sim.advance(72 * 3_600 - 1);
    assert_eq!(update(&sim, &greyed(&early, &["user01"])).await, 0);
    sim.advance(1);
    assert_eq!(update(&sim, &greyed(&late, &["user01"])).await, 42003);
}

#[tokio::test]
async fn invalid_changes_are_refused_and_do_not_use_up_the_code() {
    let sim = Sim::start().await;
    let code = sent(&sim, "task-1").await;
    let with = |name: &str, value: Value| {
        let mut ask = greyed(&code, &["user01"]);
        ask[name] = value;
        ask
    };
    for (ask, errcode) in [
        (with("response_code", json!("made-up")), 40058),
        (with("response_code", json!("")), 40058),
        (with("agentid", json!(1_000_003)), 301_002),
        (with("agentid", Value::Null), 41011),
        (with("userids", json!([])), 82001),
        (with("userids", json!("user01")), 40058),
        (with("userids", json!(["norole01"])), 81013),
        (with("button", Value::Null), 40058),
        (with("button", json!({ "replace_name": "" })), 40058),
        (with("template_card", json!({ "card_type": "text_notice" })), 40058),
    ] {
        assert_eq!(update(&sim, &ask).await, errcode, "{ask}");
    }
    let button = json!({ "replace_name": "Confirmed" });
    let party = json!({ "partyids": [4], "agentid": 1_000_002, "response_code": code, "button": button });
    assert_eq!(update(&sim, &party).await, 0);
    assert_eq!(message(&sim).await["updates"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn invalid_cards_are_refused() {
    let sim = Sim::start().await;
    sent(&sim, "used").await;
    let with = |name: &str, value: Value| {
        let mut ask = card("task-1");
        ask["template_card"][name] = value;
        ask
    };
    let button = |key: &str| json!({ "text": "A", "key": key });
    let buttons = |count: usize| (0..count).map(|number| button(&number.to_string())).collect::<Vec<_>>();
    let rows = vec![json!({ "keyname": "K", "value": "V" }); 7];
    for (ask, errcode) in [
        (with("card_type", json!("made_up")), 42031),
        (with("task_id", json!("used")), 42014),
        (with("task_id", json!("")), 42014),
        (with("task_id", json!("a b")), 42014),
        (with("task_id", json!("a".repeat(129))), 42014),
        (with("task_id", Value::Null), 42014),
        (with("main_title", json!({})), 42033),
        (with("button_list", json!(buttons(0))), 40058),
        (with("button_list", json!(buttons(7))), 40058),
        (with("button_list", json!("a")), 40058),
        (with("button_list", json!([{ "key": "a" }])), 42038),
        (with("button_list", json!([{ "text": "A" }])), 42039),
        (with("button_list", json!([button("a"), button("a")])), 42039),
        (with("button_list", json!([button(&"a".repeat(1_025))])), 42039),
        (with("button_list", json!([{ "text": "A", "type": 1 }])), 42028),
        (with("horizontal_content_list", json!(rows)), 42035),
        (with("horizontal_content_list", json!([{ "value": "V" }])), 42027),
        (with("horizontal_content_list", json!([{ "keyname": "K", "type": 3 }])), 42050),
        (with("action_menu", json!({ "action_list": [button("a"), button("a")] })), 42051),
        (with("card_type", json!("text_notice")), 42045),
    ] {
        assert_eq!(sim.post("message/send", &ask).await.errcode(), errcode, "{ask}");
    }
    let mut none = card("task-1");
    none["template_card"] = Value::Null;
    assert_eq!(sim.post("message/send", &none).await.errcode(), 44004);
    // A refused card does not take its task id.
    assert_eq!(sim.post("message/send", &with("button_list", json!(buttons(6)))).await.errcode(), 0);
    assert_eq!(sim.get("/inbox").await.json()["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_app_without_a_callback_address_sends_no_buttons() {
    let sim = Sim::start().await;
    let on = sim.send("PUT", "/switches", r#"{"no_callback":true}"#).await;
    assert_eq!((on.status, &on.json()["no_callback"]), (200, &true.into()));
    assert_eq!(sim.post("message/send", &card("task-1")).await.errcode(), 43012);
    let action = json!({ "type": 1, "url": "https://desk.example.com/" });
    let mut notice = card("task-1");
    notice["template_card"] = json!({ "card_type": "text_notice", "card_action": action });
    let answer = sim.post("message/send", &notice).await;
    assert_eq!((answer.errcode(), answer.json().get("response_code")), (0, None));
    sim.send("PUT", "/switches", "{}").await;
    assert_eq!(sim.post("message/send", &card("task-1")).await.errcode(), 0);
}
