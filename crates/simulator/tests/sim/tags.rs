//! Tags, under the name that each platform has for them.

use deskpass_simulator::Kind;
use serde_json::json;

use crate::harness::Sim;
use crate::{dingtalk, feishu};

#[tokio::test]
async fn wecom_has_tags() {
    let sim = Sim::start().await;
    let list = sim.call("tag/list", &[]).await.json();
    assert_eq!(
        list["taglist"],
        json!([{ "tagid": 1, "tagname": "On Call" }, { "tagid": 2, "tagname": "Service Desk" }])
    );
    let tag = sim.call("tag/get", &[("tagid", "1")]).await.json();
    let users =
        json!([{ "userid": "agent01", "name": "Arno Agent" }, { "userid": "security01", "name": "Selma Security" }]);
    assert_eq!((&tag["tagname"], &tag["userlist"], &tag["partylist"]), (&json!("On Call"), &users, &json!([])));
    assert_eq!(sim.call("tag/get", &[("tagid", "2")]).await.json()["partylist"], json!([3]));
    for id in ["9", "x", ""] {
        assert_eq!(sim.call("tag/get", &[("tagid", id)]).await.errcode(), 40068, "{id}");
    }
    // Members who left have no tags.
    sim.send("PUT", "/people/agent01", r#"{"state":"left"}"#).await;
    assert_eq!(sim.call("tag/get", &[("tagid", "1")]).await.json()["userlist"].as_array().unwrap().len(), 1);
    let ask = json!({ "totag": "1|9", "msgtype": "text", "agentid": 1_000_002, "text": { "content": "x" } });
    let sent = sim.post("message/send", &ask).await.json();
    assert_eq!((&sent["errcode"], &sent["invalidtag"]), (&json!(0), &json!("9")));
}

#[tokio::test]
async fn dingtalk_has_roles() {
    let sim = Sim::start_as(Kind::Dingtalk).await;
    let list = dingtalk::call(&sim, "role/list", &json!({ "size": 1, "offset": 1 })).await.json();
    assert_eq!(
        (&list["result"]["hasMore"], &list["result"]["list"][0]["roles"]),
        (&json!(false), &json!([{ "id": 2, "name": "Service Desk" }]))
    );
    let members = async |offset: u32, size: u32| {
        let ask = json!({ "role_id": 2, "offset": offset, "size": size });
        dingtalk::call(&sim, "role/simplelist", &ask).await.json()["result"].take()
    };
    let first = members(0, 1).await;
    assert_eq!((&first["hasMore"], &first["nextCursor"]), (&json!(true), &json!(1)));
    assert_eq!(first["list"], json!([{ "userid": "agent01", "name": "Arno Agent" }]));
    let second = members(1, 100).await;
    assert_eq!((&second["hasMore"], &second["list"][0]["userid"]), (&json!(false), &json!("supervisor01")));
    for ask in [json!({ "role_id": 9 }), json!({}), json!({ "role_id": 2, "size": 101 })] {
        assert_eq!(dingtalk::call(&sim, "role/simplelist", &ask).await.errcode(), 40035, "{ask}");
    }
}

#[tokio::test]
async fn feishu_has_groups() {
    let sim = Sim::start_as(Kind::Feishu).await;
    let get = async |path: &str| {
        feishu::call(&sim, "GET", &format!("/open-apis/contact/v3/group/{path}"), &json!({})).await.json()
    };
    let groups = get("simplelist?page_size=1").await;
    assert_eq!((&groups["data"]["grouplist"][0]["id"], &groups["data"]["has_more"]), (&json!("g1"), &json!(true)));
    let next = groups["data"]["page_token"].as_str().unwrap();
    let groups = get(&format!("simplelist?page_size=100&page_token={next}")).await;
    assert_eq!(
        (&groups["data"]["grouplist"][0]["name"], &groups["data"]["has_more"]),
        (&json!("Service Desk"), &json!(false))
    );
    let users = get("g1/member/simplelist?page_size=100&member_id_type=user_id&member_type=user").await;
    assert_eq!(
        users["data"]["memberlist"][0],
        json!({ "member_id": "agent01", "member_type": "user", "member_id_type": "user_id" })
    );
    let departments = get("g2/member/simplelist?page_size=100&member_id_type=open_id&member_type=department").await;
    assert_eq!(departments["data"]["memberlist"][0]["member_id"], "od-3");
    let none = get("g2/member/simplelist?page_size=100&member_id_type=open_id&member_type=user").await;
    assert_eq!((&none["code"], none["data"].get("memberlist")), (&json!(0), None));
    assert_eq!(get("g9/member/simplelist?page_size=100").await["code"], 40_001);
}
