//! People who change, leave and come back; many of them; and their phones.

use deskpass_simulator::Kind;
use serde_json::{Value, json};

use crate::harness::Sim;
use crate::{dingtalk, feishu};

async fn put(sim: &Sim, person: &str, change: Value) -> Value {
    let answer = sim.send("PUT", &format!("/people/{person}"), &change.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

async fn wecom_list(sim: &Sim, department: &str) -> Vec<String> {
    let list = sim.call("user/list", &[("department_id", department)]).await.json();
    list["userlist"].as_array().unwrap().iter().map(|user| user["userid"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn wecom_answers_by_the_state_of_a_member() {
    let sim = Sim::start().await;
    let status = async || sim.call("user/get", &[("userid", "user01")]).await.json();
    for (state, errcode, number, listed) in
        [("disabled", 0, 2, true), ("left", 0, 5, true), ("hidden", 60011, 0, false), ("active", 0, 1, true)]
    {
        let answer = put(&sim, "user01", json!({ "state": state })).await;
        assert_eq!((&answer["person"]["state"], &answer["events"]), (&json!(state), &json!([])));
        let user = status().await;
        assert_eq!(
            (&user["errcode"], user["status"].as_i64().unwrap_or_default()),
            (&json!(errcode), number),
            "{state}"
        );
        assert_eq!(wecom_list(&sim, "4").await.contains(&"user01".to_owned()), listed, "{state}");
    }
    // An administrator may also delete members who leave.
    sim.send("PUT", "/switches", r#"{"left_are_deleted":true}"#).await;
    put(&sim, "user01", json!({ "state": "left" })).await;
    assert_eq!(status().await["errcode"], 60111);
    assert!(wecom_list(&sim, "4").await.is_empty());
}

#[tokio::test]
async fn the_other_platforms_answer_in_their_ways() {
    let sim = Sim::start_as(Kind::Dingtalk).await;
    for (state, errcode, active) in
        [("disabled", 0, json!(false)), ("left", 60121, json!(null)), ("hidden", 60011, json!(null))]
    {
        put(&sim, "user01", json!({ "state": state })).await;
        let user = dingtalk::call(&sim, "v2/user/get", &json!({ "userid": "user01" })).await.json();
        assert_eq!((&user["errcode"], &user["result"]["active"]), (&json!(errcode), &active), "{state}");
        let list =
            dingtalk::call(&sim, "v2/user/list", &json!({ "dept_id": 4, "cursor": 0, "size": 100 })).await.json();
        assert_eq!(list["result"]["list"].as_array().unwrap().len(), usize::from(state == "disabled"), "{state}");
    }
    let sim = Sim::start_as(Kind::Feishu).await;
    for (state, code, flag) in [("disabled", 0, "is_frozen"), ("left", 0, "is_resigned"), ("hidden", 41_050, "none")] {
        put(&sim, "user01", json!({ "state": state })).await;
        let path = "/open-apis/contact/v3/users/user01?user_id_type=user_id";
        let user = feishu::call(&sim, "GET", path, &json!({})).await.json();
        assert_eq!(user["code"], code, "{state}");
        assert_eq!(user["data"]["user"]["status"][flag] == json!(true), code == 0, "{state}: {user}");
    }
}

#[tokio::test]
async fn names_departments_and_ids_change() {
    let sim = Sim::start().await;
    let change = json!({ "name": "Una User", "department": "Night Shift", "tags": ["On Call"], "userid": "user02" });
    let person = put(&sim, "user01", change).await["person"].take();
    assert_eq!((&person["id"], &person["tags"]), (&json!("user02"), &json!(["On Call"])));
    assert_eq!(sim.call("user/get", &[("userid", "user01")]).await.errcode(), 60111);
    let user = sim.call("user/get", &[("userid", "user02")]).await.json();
    assert_eq!(user["name"], "Una User");
    let department = sim.call("department/get", &[("id", &user["main_department"].to_string())]).await.json();
    assert_eq!(
        (&department["department"]["name"], &department["department"]["parentid"]),
        (&json!("Night Shift"), &json!(1))
    );
    let shown = sim.get("/people/user02").await.json();
    assert_eq!(shown["person"], person);
}

#[tokio::test]
async fn wrong_changes_are_named() {
    let sim = Sim::start().await;
    for (person, change) in [
        ("nobody", json!({ "state": "left" })),
        ("user01", json!({ "state": "gone" })),
        ("user01", json!({ "mood": "bad" })),
        ("user01", json!({ "userid": "admin01" })),
        ("user01", json!({ "userid": "a b" })),
        ("outsider01", json!({ "state": "left" })),
        ("wwpartner/partner01", json!({ "state": "left" })),
        ("user01", json!([])),
    ] {
        let answer = sim.send("PUT", &format!("/people/{person}"), &change.to_string()).await;
        assert!(answer.status == 400 && answer.json()["error"].is_string(), "{person} {change}: {answer:?}");
    }
    assert_eq!(sim.get("/people/nobody").await.status, 400);
    for (body, status) in [(json!({ "members": 100_001 }), 400), (json!({ "members": -1 }), 400), (json!({}), 400)] {
        assert_eq!(sim.send("PUT", "/people", &body.to_string()).await.status, status, "{body}");
    }
    for (method, path, allowed) in
        [("DELETE", "/people", "GET, PUT"), ("POST", "/people/user01", "GET, PUT"), ("POST", "/phone", "GET")]
    {
        assert_eq!(sim.send(method, path, "{}").await.header("allow"), Some(allowed), "{method} {path}");
    }
}

#[tokio::test]
async fn a_directory_can_be_large() {
    let sim = Sim::start_as(Kind::Dingtalk).await;
    let shown = sim.send("PUT", "/people", r#"{"members":10000}"#).await.json();
    assert_eq!((&shown["members"], shown["people"].as_array().unwrap().len()), (&json!(10_000), 10));
    let teams = dingtalk::call(&sim, "v2/department/listsub", &json!({ "dept_id": 10_000 })).await.json();
    let teams = teams["result"].as_array().unwrap();
    assert_eq!((teams.len(), &teams[99]["name"]), (100, &json!("Team 100")));
    let ask = json!({ "dept_id": teams[99]["dept_id"], "cursor": 50, "size": 100 });
    let list = dingtalk::call(&sim, "v2/user/list", &ask).await.json();
    let list = list["result"]["list"].as_array().unwrap();
    assert_eq!((list.len(), &list[49]["userid"]), (50, &json!("member10000")));
    put(&sim, "member10000", json!({ "state": "left" })).await;
    let gone = dingtalk::call(&sim, "v2/user/get", &json!({ "userid": "member10000" })).await;
    assert_eq!(gone.errcode(), 60121);
}

#[tokio::test]
async fn calls_can_be_limited() {
    let sim = Sim::start().await;
    sim.send("PUT", "/switches", r#"{"calls_per_second":2}"#).await;
    let get = async || sim.call("user/get", &[("userid", "user01")]).await.errcode();
    assert_eq!((get().await, get().await, get().await), (0, 0, 45009));
    // Each API has its own limit.
    assert_eq!(sim.call("department/list", &[]).await.errcode(), 0);
    sim.advance(1);
    assert_eq!(get().await, 0);
    let sim = Sim::start_as(Kind::Dingtalk).await;
    sim.send("PUT", "/switches", r#"{"calls_per_second":0}"#).await;
    assert_eq!(dingtalk::call(&sim, "v2/user/get", &json!({ "userid": "user01" })).await.errcode(), 90018);
}

#[tokio::test]
async fn a_card_is_opened_on_the_phone() {
    let sim = Sim::start().await;
    let url = "http://localhost:8080/open?a=1#wechat_redirect";
    let card = json!({
        "card_type": "text_notice",
        "main_title": { "title": "Approve <it>?" },
        "sub_title_text": "Ada asks",
        "jump_list": [{ "type": 1, "title": "Open", "url": url }],
        "card_action": { "type": 1, "url": url },
    });
    let ask = json!({ "touser": "user01", "msgtype": "template_card", "agentid": 1_000_002, "template_card": card });
    let sent = sim.post("message/send", &ask).await;
    assert!(sent.errcode() == 0 && sent.json().get("response_code").is_none(), "{sent:?}");
    assert_eq!(sim.get("/inbox").await.json()["messages"][0]["url"], url);
    let page = sim.get("/phone?user=user01").await;
    let link = "href=\"http://localhost:8080/open?a=1&amp;sim_user=user01#wechat_redirect\"";
    assert!(page.body.contains(link) && page.body.contains("Approve &lt;it&gt;?"), "{}", page.body);
    assert!(sim.get("/phone?user=admin01").await.body.contains("No messages"));
    assert!(sim.get("/phone").await.body.contains("href=\"?user=user01\""));
}
