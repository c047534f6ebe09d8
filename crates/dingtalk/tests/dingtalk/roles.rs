//! Roles, and who has them.

use deskpass_platform::{Directory as _, DirectoryTag, InvalidResponse, TagMember};
use serde_json::{Value, json};

use crate::platform::{Platform, result};
use crate::scripted_server::Call;

const ROLES: &str = "topapi/role/list";
const MEMBERS: &str = "topapi/role/simplelist";

fn role(id: &str, name: &str) -> DirectoryTag {
    DirectoryTag { id: id.into(), name: name.into() }
}

#[tokio::test]
async fn the_roles_of_all_groups_are_one_list() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let group = |roles: Value| json!({ "groupId": 1, "name": "group", "roles": roles });
    let first = json!({ "hasMore": true, "list": [
        group(json!([{ "id": 7, "name": "On\u{202e} Call" }, { "id": "8" }])),
        group(json!([{ "id": 9, "name": "主管" }])),
    ] });
    platform.next(ROLES, [result(&first), result(&json!({ "hasMore": false, "list": [] }))]);
    let page = dingtalk.tags(None).await.unwrap();
    assert_eq!(page.items, [role("7", "On Call"), role("8", ""), role("9", "主管")]);
    assert_eq!(page.next.as_deref(), Some("200"));
    let page = dingtalk.tags(page.next.as_deref()).await.unwrap();
    assert!(page.items.is_empty() && page.next.is_none());
    let asked: Vec<_> = platform.calls(ROLES).iter().map(Call::json).collect();
    assert_eq!(asked, [json!({ "size": 200, "offset": 0 }), json!({ "size": 200, "offset": 200 })]);
    assert_eq!(dingtalk.lookups_per_day(), Some(100));
}

#[tokio::test]
async fn the_members_of_a_role_come_in_pages() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let user = |id: &str| json!({ "userid": id, "name": id });
    platform.next(
        MEMBERS,
        [
            result(&json!({ "hasMore": true, "nextCursor": 100, "list": [user("a"), user("b c")] })),
            result(&json!({ "hasMore": false, "list": [user("d")] })),
        ],
    );
    let page = dingtalk.tag_members("7", None).await.unwrap();
    assert_eq!((page.items, page.next.as_deref()), (vec![TagMember::Member("a".into())], Some("100")));
    let page = dingtalk.tag_members("7", Some("100")).await.unwrap();
    assert_eq!((page.items, page.next), (vec![TagMember::Member("d".into())], None));
    let asked: Vec<_> = platform.calls(MEMBERS).iter().map(Call::json).collect();
    assert_eq!(asked[0], json!({ "role_id": 7, "size": 100, "offset": 0 }));
    assert_eq!(asked[1]["offset"], 100);
}

#[tokio::test]
async fn a_list_that_is_incomplete_or_never_ends_is_an_error() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    for (answer, field) in [
        (json!({ "list": [] }), "hasMore"),
        (json!({ "hasMore": false }), "list"),
        (json!({ "hasMore": false, "list": ["x"] }), "list"),
        (json!({ "hasMore": false, "list": [{ "name": "x" }] }), "userid"),
        (json!({ "hasMore": true, "nextCursor": 100, "list": [] }), "nextCursor"),
        (json!({ "hasMore": true, "nextCursor": "x", "list": [] }), "nextCursor"),
    ] {
        platform.next(MEMBERS, [result(&answer)]);
        let outcome = dingtalk.tag_members("7", Some("100")).await;
        assert_eq!(outcome, Err(InvalidResponse::MissingField(field).into()), "{answer}");
    }
    for (answer, field) in [
        (json!({ "list": [] }), "hasMore"),
        (json!({ "hasMore": false, "list": [{ "name": "x" }] }), "roles"),
        (json!({ "hasMore": false, "list": [{ "roles": [{ "name": "x" }] }] }), "id"),
    ] {
        platform.next(ROLES, [result(&answer)]);
        assert_eq!(dingtalk.tags(None).await, Err(InvalidResponse::MissingField(field).into()), "{answer}");
    }
    assert!(dingtalk.tag_members("x", None).await.is_err());
    assert!(dingtalk.tag_members("7", Some("x")).await.is_err());
    assert!(dingtalk.tags(Some("x")).await.is_err());
    assert_eq!((platform.count(MEMBERS), platform.count(ROLES)), (6, 3));
}
