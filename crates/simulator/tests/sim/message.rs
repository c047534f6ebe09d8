//! Messages to members, and their delivery.

use serde_json::{Value, json};

use crate::harness::Sim;

fn text(to: &str) -> Value {
    json!({ "touser": to, "msgtype": "text", "agentid": 1_000_002, "text": { "content": "hello" } })
}

async fn inbox(sim: &Sim) -> Vec<Value> {
    sim.get("/inbox").await.json()["messages"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_message_arrives() {
    let sim = Sim::start().await;
    let sent = sim.post("message/send", &text("USER01|nobody|Hidden01|left01")).await.json();
    assert_eq!((&sent["errcode"], &sent["invaliduser"]), (&0.into(), &"nobody|hidden01|left01".into()));
    let arrived = inbox(&sim).await;
    assert_eq!((arrived.len(), &arrived[0]["msgid"]), (1, &sent["msgid"]));
    assert_eq!((&arrived[0]["touser"], &arrived[0]["text"]["content"]), (&json!(["user01"]), &"hello".into()));
    assert_eq!(arrived[0]["at"], 1_800_000_000_000_i64);
    let cleared = sim.send("DELETE", "/inbox", "").await.json();
    assert_eq!((cleared, inbox(&sim).await.len()), (json!({ "messages": [] }), 0));
}

#[tokio::test]
async fn cards_and_markdown_arrive_too() {
    let sim = Sim::start().await;
    let card = json!({ "title": "T".repeat(200), "description": "D", "url": "https://desk.example.com/" });
    let ask = json!({ "touser": "user01", "msgtype": "textcard", "agentid": 1_000_002, "textcard": card });
    assert_eq!(sim.post("message/send", &ask).await.errcode(), 0);
    let long = "啊".repeat(1_000);
    let ask =
        json!({ "touser": "user01", "msgtype": "markdown", "agentid": 1_000_002, "markdown": { "content": long } });
    assert_eq!(sim.post("message/send", &ask).await.errcode(), 0);
    let arrived = inbox(&sim).await;
    assert_eq!(arrived[0]["textcard"]["title"].as_str().unwrap().len(), 128);
    assert_eq!(arrived[0]["textcard"]["btntxt"], "详情");
    assert_eq!(arrived[1]["markdown"]["content"].as_str().unwrap().len(), 2_046);
}

#[tokio::test]
async fn everyone_and_departments_can_be_written_to() {
    let sim = Sim::start().await;
    assert_eq!(sim.post("message/send", &text("@all")).await.errcode(), 0);
    let mut ask = text("agent01");
    ask["toparty"] = json!("3|77");
    let sent = sim.post("message/send", &ask).await.json();
    assert_eq!((&sent["errcode"], &sent["invalidparty"]), (&0.into(), &"77".into()));
    let arrived = inbox(&sim).await;
    assert_eq!(arrived[0]["touser"].as_array().unwrap().len(), 6);
    assert_eq!(arrived[1]["touser"], json!(["agent01", "supervisor01"]));
}

#[tokio::test]
async fn the_number_of_the_app_may_be_a_text() {
    let sim = Sim::start().await;
    let mut ask = text("user01");
    ask["agentid"] = json!("1000002");
    assert_eq!(sim.post("message/send", &ask).await.errcode(), 0);
    assert_eq!(inbox(&sim).await.len(), 1);
}

#[tokio::test]
async fn invalid_messages_are_refused() {
    let sim = Sim::start().await;
    let with = |name: &str, value: Value| {
        let mut ask = text("user01");
        ask[name] = value;
        ask
    };
    for (ask, errcode) in [
        (with("agentid", json!(1_000_003)), 301_002),
        (with("agentid", json!("1000003")), 301_002),
        (with("agentid", json!(" 1000002")), 301_002),
        (with("agentid", json!("")), 40056),
        (with("agentid", json!("x")), 40056),
        (with("agentid", json!(1.5)), 40056),
        (with("agentid", json!([1_000_002])), 40056),
        (with("agentid", Value::Null), 41011),
        (with("touser", json!("")), 82001),
        (with("touser", json!("|")), 82001),
        (with("touser", json!("Nobody|outsider01|wwpartner/partner01")), 81013),
        (with("touser", json!(["user01"])), 40058),
        (with("msgtype", json!("image")), 40008),
        (with("msgtype", json!("markdown")), 44004),
        (with("text", json!({ "content": "" })), 44004),
        (with("msgtype", json!("textcard")), 44004),
        (json!([]), 40058),
    ] {
        assert_eq!(sim.post("message/send", &ask).await.errcode(), errcode, "{ask}");
    }
    let card = json!({ "title": "T", "description": "D", "url": "desk.example.com" });
    let ask = json!({ "touser": "user01", "msgtype": "textcard", "agentid": 1_000_002, "textcard": card });
    assert_eq!(sim.post("message/send", &ask).await.errcode(), 40058);
    let all_invalid = sim.post("message/send", &text("Nobody|outsider01")).await.json();
    assert_eq!(all_invalid["invaliduser"], "nobody|outsider01");
    assert!(inbox(&sim).await.is_empty());
}

#[tokio::test]
async fn a_duplicate_message_is_dropped_on_request() {
    let sim = Sim::start().await;
    let mut ask = text("user01");
    for _ in 0..2 {
        assert_eq!(sim.post("message/send", &ask).await.errcode(), 0);
    }
    assert_eq!(inbox(&sim).await.len(), 2);
    ask["enable_duplicate_check"] = json!(1);
    for _ in 0..2 {
        assert_eq!(sim.post("message/send", &ask).await.errcode(), 0);
    }
    assert_eq!(inbox(&sim).await.len(), 3);
    sim.advance(1_800);
    assert_eq!(sim.post("message/send", &ask).await.errcode(), 0);
    ask["text"]["content"] = json!("something else");
    assert_eq!(sim.post("message/send", &ask).await.errcode(), 0);
    assert_eq!(inbox(&sim).await.len(), 5);
}

#[tokio::test]
async fn the_inbox_keeps_the_newest() {
    let sim = Sim::start().await;
    for number in 0..205 {
        let mut ask = text("user01");
        ask["text"]["content"] = json!(number.to_string());
        assert_eq!(sim.post("message/send", &ask).await.errcode(), 0);
    }
    let kept = inbox(&sim).await;
    assert_eq!(
        (kept.len(), &kept[0]["text"]["content"], &kept[199]["text"]["content"]),
        (200, &"5".into(), &"204".into())
    );
}
