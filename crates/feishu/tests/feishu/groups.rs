//! User groups and their members.

use deskpass_platform::{Directory as _, DirectoryTag, InvalidResponse, TagMember};
use serde_json::json;

use crate::platform::{Platform, data};
use crate::scripted_server::Call;

const GROUPS: &str = "open-apis/contact/v3/group/simplelist";
const MEMBERS: &str = "open-apis/contact/v3/group/g1/member/simplelist";

fn value(call: &Call, name: &str) -> Option<String> {
    call.query.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone())
}

#[tokio::test]
async fn groups_are_listed_in_parts() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let list = json!([{ "id": "g1", "name": "On\u{202e} Call", "type": 1 }, { "id": "g2" }, { "id": "a/b" }]);
    platform.next(GROUPS, [data(&json!({ "has_more": true, "page_token": "AQ/+=", "grouplist": list }))]);
    platform.next(GROUPS, [data(&json!({ "has_more": false }))]);
    let page = feishu.tags(None).await.unwrap();
    let group = |id: &str, name: &str| DirectoryTag { id: id.into(), name: name.into() };
    assert_eq!((page.items, page.next.as_deref()), (vec![group("g1", "On Call"), group("g2", "")], Some("AQ/+=")));
    let page = feishu.tags(page.next.as_deref()).await.unwrap();
    assert!(page.items.is_empty() && page.next.is_none());
    let asked = platform.calls(GROUPS);
    assert_eq!((value(&asked[0], "page_size"), value(&asked[0], "page_token")), (Some("100".into()), None));
    assert_eq!(value(&asked[1], "page_token").as_deref(), Some("AQ/+="));
    assert_eq!(feishu.lookups_per_day(), None);
}

#[tokio::test]
async fn a_group_has_members_and_then_departments() {
    let platform = Platform::start().await;
    for (feishu, kind) in [(platform.client(), "user_id"), (platform.open_id_client(), "open_id")] {
        let before = platform.count(MEMBERS);
        let id = |id: &str, kind: &str| json!({ "member_id": id, "member_type": kind });
        let users = json!([id("user01", "user"), id("not an employee", "user")]);
        platform.next(MEMBERS, [data(&json!({ "has_more": true, "page_token": "p2", "memberlist": users }))]);
        platform.next(MEMBERS, [data(&json!({ "has_more": false, "memberlist": [id("user02", "user")] }))]);
        let departments = json!([id("od-1", "department"), id("a/b", "department")]);
        platform.next(MEMBERS, [data(&json!({ "has_more": false, "memberlist": departments }))]);
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = feishu.tag_members("g1", cursor.as_deref()).await.unwrap();
            found.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let member = |id: &str| TagMember::Member(id.into());
        assert_eq!(found, [member("user01"), member("user02"), TagMember::Department("od-1".into())]);
        let asked: Vec<_> = platform.calls(MEMBERS).split_off(before);
        let parameters = ["member_type", "member_id_type", "page_token", "page_size"];
        let asked: Vec<_> = asked.iter().map(|call| parameters.map(|name| value(call, name))).collect();
        let expected = [["user", kind, "", "100"], ["user", kind, "p2", "100"], ["department", "open_id", "", "100"]];
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        assert_eq!(asked, expected.map(|call| call.map(given)));
    }
}

#[tokio::test]
async fn unclear_lists_are_errors() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    for (answer, field) in [
        (json!({}), "has_more"),
        (json!({ "has_more": false, "memberlist": "none" }), "memberlist"),
        (json!({ "has_more": false, "memberlist": [{ "member_type": "user" }] }), "member_id"),
        (json!({ "has_more": true, "memberlist": [] }), "page_token"),
        (json!({ "has_more": true, "page_token": "p1", "memberlist": [] }), "page_token"),
    ] {
        platform.next(MEMBERS, [data(&answer)]);
        let missing = Err(InvalidResponse::MissingField(field).into());
        assert_eq!(feishu.tag_members("g1", Some("user:p1")).await, missing, "{answer}");
    }
    for (answer, field) in
        [(json!({ "has_more": false, "grouplist": [{ "name": "x" }] }), "id"), (json!({ "grouplist": [] }), "has_more")]
    {
        platform.next(GROUPS, [data(&answer)]);
        assert_eq!(feishu.tags(None).await, Err(InvalidResponse::MissingField(field).into()), "{answer}");
    }
    let calls = platform.total();
    for group in ["", "..", "a/b", "a b"] {
        assert_eq!(feishu.tag_members(group, None).await, Err(InvalidResponse::MissingField("group_id").into()));
    }
    for cursor in ["", "p1", "chat:p1"] {
        let missing = Err(InvalidResponse::MissingField("page_token").into());
        assert_eq!(feishu.tag_members("g1", Some(cursor)).await, missing, "{cursor}");
    }
    assert_eq!(platform.total(), calls);
}
