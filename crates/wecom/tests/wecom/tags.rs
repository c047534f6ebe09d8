//! Lists of tags and of their members.

use deskpass_platform::{Directory as _, DirectoryTag, InvalidResponse, Meaning, TagMember};
use serde_json::{Value, json};

use crate::platform::{Platform, Reply, errcode};
use crate::simulator::Simulated;

const TAGS: &str = "tag/list";
const TAG: &str = "tag/get";

fn reply(mut fields: Value) -> Reply {
    fields["errcode"] = json!(0);
    Reply::Json(fields)
}

fn member(userid: &str) -> TagMember {
    TagMember::Member(userid.into())
}

#[tokio::test]
async fn tags_are_listed_with_their_names() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let list = json!([{ "tagid": 1, "tagname": "On\nCall" }, { "tagid": "2" }]);
    platform.always(TAGS, reply(json!({ "taglist": list })));
    let page = wecom.tags(None).await.unwrap();
    let tag = |id: &str, name: &str| DirectoryTag { id: id.into(), name: name.into() };
    assert_eq!((page.items, page.next), (vec![tag("1", "OnCall"), tag("2", "")], None));
    assert_eq!(platform.calls(TAGS)[0].query.len(), 1, "nothing but the token");
    assert_eq!(wecom.lookups_per_day(), None);
}

#[tokio::test]
async fn a_tag_has_members_and_departments() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let users = json!([{ "userid": "Ann", "name": "Ann" }, { "userid": "not a user id" }]);
    platform.next(TAG, [reply(json!({ "tagname": "x", "userlist": users, "partylist": [2, "7"] }))]);
    platform.next(TAG, [reply(json!({ "userlist": [] }))]);
    let page = wecom.tag_members("12", None).await.unwrap();
    let departments = ["2", "7"].map(|id| TagMember::Department(id.into()));
    assert_eq!((page.items, page.next), ([vec![member("Ann")], departments.to_vec()].concat(), None));
    assert_eq!(platform.calls(TAG)[0].query[1..], [("tagid".to_owned(), "12".to_owned())]);
    assert!(wecom.tag_members("12", None).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn unclear_lists_are_errors() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    // Who is missing from a list may lose a role.
    for (answer, field) in [
        (json!({}), "userlist"),
        (json!({ "userlist": ["a"] }), "userlist"),
        (json!({ "userlist": [{ "name": "a" }] }), "userid"),
        (json!({ "userlist": [], "partylist": ["x"] }), "partylist"),
    ] {
        platform.next(TAG, [reply(answer.clone())]);
        assert_eq!(wecom.tag_members("1", None).await, Err(InvalidResponse::MissingField(field).into()), "{answer}");
    }
    for (answer, field) in [(json!({}), "taglist"), (json!({ "taglist": [{ "tagname": "a" }] }), "tagid")] {
        platform.next(TAGS, [reply(answer.clone())]);
        assert_eq!(wecom.tags(None).await, Err(InvalidResponse::MissingField(field).into()), "{answer}");
    }
    for (code, meaning) in [(40068, Meaning::OutOfRange), (60011, Meaning::OutOfRange), (60020, Meaning::Administrator)]
    {
        platform.next(TAG, [errcode(code)]);
        assert!(wecom.tag_members("1", None).await.unwrap_err().is_refused_as(meaning), "{code}");
    }
}

#[tokio::test]
async fn the_simulated_tags_are_listed() {
    let simulated = Simulated::start().await;
    let wecom = simulated.client();
    let tags = wecom.tags(None).await.unwrap().items;
    let id = |name: &str| tags.iter().find(|tag| tag.name == name).map(|tag| tag.id.clone()).unwrap();
    let mut on_call = wecom.tag_members(&id("On Call"), None).await.unwrap().items;
    on_call.sort_by_key(|member| format!("{member:?}"));
    assert_eq!(on_call, [member("agent01"), member("security01")]);
    let desk = wecom.tag_members(&id("Service Desk"), None).await.unwrap().items;
    assert_eq!(desk, [TagMember::Department("3".into())]);
    assert!(wecom.tag_members("999", None).await.unwrap_err().is_refused_as(Meaning::OutOfRange));
}
