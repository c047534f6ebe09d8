//! Profiles, members and departments.

use std::time::Duration;

use deskpass_platform::{
    Department, Directory as _, DirectoryDepartment, Error, ErrorCode, Identity, InvalidResponse, Meaning,
    MemberStatus, Profile,
};
use serde_json::{Value, json};

use crate::platform::{Platform, USER, data, member, refused};

const MEMBERS: &str = "open-apis/contact/v3/users/find_by_department";
const CHILDREN: &str = "open-apis/contact/v3/departments/0/children";
const DEPARTMENT: &str = "open-apis/contact/v3/departments/od-1";

fn user(extra: &Value) -> Value {
    let mut user = json!({ "user_id": "user01", "open_id": "ou_1", "name": "Uma\u{202e}" });
    user.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({ "user": user })
}

fn known(id: &str, name: Option<&str>) -> Department {
    Department::Known { id: id.into(), name: name.map(str::to_owned) }
}

#[tokio::test]
async fn a_profile_is_what_the_record_says() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    platform.always(DEPARTMENT, data(&json!({ "department": { "name": "IT", "open_department_id": "od-1" } })));
    let order = |id: &str, main: bool| json!({ "department_id": id, "is_primary_dept": main });
    let record = user(&json!({
        "department_ids": ["od-2", "od-1"],
        "orders": [order("od-2", false), order("od-1", true)],
        "avatar": { "avatar_72": "https://a.example.com/72", "avatar_240": "https://a.example.com/240" },
        "status": { "is_activated": true, "is_frozen": false },
        "enterprise_email": "", "email": "uma@home.example",
    }));
    platform.always(USER, data(&record));
    let expected = Profile {
        name: Some("Uma".into()),
        department: known("od-1", Some("IT")),
        avatar: Some("https://a.example.com/240".into()),
        email: Some(String::new()),
        holder_id: Some("ou_1".into()),
        status: MemberStatus::Active,
    };
    for _ in 0..3 {
        assert_eq!(feishu.profile(&member("user01")).await, Ok(expected.clone()));
    }
    // The name of the department is remembered.
    assert_eq!((platform.count(USER), platform.count(DEPARTMENT)), (3, 1));
    let asked = &platform.calls(USER)[0];
    let query = [("user_id_type", "user_id"), ("department_id_type", "open_department_id")];
    assert_eq!(asked.query, query.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(asked.method, "GET");
}

#[tokio::test]
async fn the_flags_of_an_account_are_its_status() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    for (flags, status) in [
        (json!({ "is_activated": true }), MemberStatus::Active),
        (json!({ "is_activated": false }), MemberStatus::NotActivated),
        (json!({ "is_activated": true, "is_unjoin": true }), MemberStatus::NotActivated),
        (json!({ "is_activated": true, "is_frozen": true }), MemberStatus::Suspended),
        (json!({ "is_activated": true, "is_exited": true }), MemberStatus::Left),
        (json!({ "is_activated": false, "is_frozen": true, "is_resigned": true }), MemberStatus::Left),
        (json!({}), MemberStatus::Unknown),
        (json!("active"), MemberStatus::Unknown),
        (json!({ "is_activated": "true" }), MemberStatus::Unknown),
    ] {
        platform.next(USER, [data(&user(&json!({ "status": flags })))]);
        assert_eq!(feishu.profile(&member("user01")).await.unwrap().status, status, "{flags}");
    }
}

#[tokio::test]
async fn departments_are_known_as_far_as_the_application_may_see() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    for (extra, department) in [
        (json!({}), Department::Unspecified),
        (json!({ "department_ids": [] }), Department::None),
        (json!({ "department_ids": [7] }), Department::Unspecified),
        (json!({ "department_ids": ["a/b"] }), Department::Unspecified),
        // Neither answered nor remembered.
        (json!({ "department_ids": ["od-1"] }), known("od-1", None)),
        // An order that the record contradicts.
        (
            json!({ "department_ids": ["od-1"], "orders": [{ "department_id": "od-9", "is_primary_dept": true }] }),
            known("od-1", None),
        ),
    ] {
        platform.next(USER, [data(&user(&extra))]);
        assert_eq!(feishu.profile(&member("user01")).await.unwrap().department, department, "{extra}");
    }
    platform.next(DEPARTMENT, [refused(40_004)]);
    platform.always(USER, data(&user(&json!({ "department_ids": ["od-1"] }))));
    let before = platform.count(DEPARTMENT);
    for _ in 0..2 {
        let profile = feishu.profile(&member("user01")).await.unwrap();
        assert_eq!(profile.department, known("od-1", Some("")));
    }
    assert_eq!(platform.count(DEPARTMENT), before + 1);
    // Neither does a missing permission cost a call at every sign-in.
    platform.clock.advance(Duration::from_hours(1));
    platform.next(DEPARTMENT, [refused(99_991_672)]);
    for _ in 0..2 {
        let profile = feishu.profile(&member("user01")).await.unwrap();
        assert_eq!(profile.department, known("od-1", Some("")));
    }
    assert_eq!(platform.count(DEPARTMENT), before + 2);
}

#[tokio::test]
async fn a_member_out_of_range_has_a_profile_without_anything() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    platform.next(USER, [refused(41_050)]);
    let out = Profile::empty(Department::None, MemberStatus::OutOfRange);
    assert_eq!(feishu.profile(&member("user01")).await, Ok(out));
    // An identifier that the platform does not know may be of the wrong kind: nobody left.
    platform.next(USER, [refused(41_012)]);
    let unknown = Error::refused(41_012_i64, Meaning::Administrator);
    assert_eq!(feishu.profile(&member("user01")).await, Err(unknown.clone()));
    let calls = platform.total();
    for id in ["..", "a/b", ""] {
        assert_eq!(feishu.profile(&member(id)).await, Err(unknown.clone()), "{id}");
    }
    let nobody = Profile::empty(Department::Unspecified, MemberStatus::Unknown);
    assert_eq!(feishu.profile(&Identity::Outsider).await, Ok(nobody));
    assert_eq!(platform.total(), calls);
}

#[tokio::test]
async fn the_record_of_another_member_is_no_profile() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let missing = |field| Err(Error::from(InvalidResponse::MissingField(field)));
    for (answer, expected) in [
        (user(&json!({ "user_id": "admin01" })), missing("user_id")),
        (json!({ "user": [] }), missing("user")),
        (json!({}), missing("user")),
    ] {
        platform.next(USER, [data(&answer)]);
        assert_eq!(feishu.profile(&member("user01")).await, expected, "{answer}");
    }
    // Without a permission the record has no user id.
    platform.next(USER, [data(&user(&json!({ "user_id": null })))]);
    assert!(feishu.profile(&member("user01")).await.is_ok());
}

#[tokio::test]
async fn members_are_listed_in_parts() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let first = json!({ "has_more": true, "page_token": "p2", "items": [
        { "user_id": "user01", "name": "Uma", "department_ids": ["od-1", "a/b"] },
        { "user_id": "not an employee" },
    ] });
    platform.next(MEMBERS, [data(&first), data(&json!({ "has_more": false }))]);
    let page = feishu.members("od-1", None).await.unwrap();
    let [listed] = page.items.as_slice() else { panic!("{page:?}") };
    assert_eq!((listed.userid.as_str(), listed.departments.as_slice()), ("user01", ["od-1".to_owned()].as_slice()));
    assert_eq!((&listed.profile.department, page.next.as_deref()), (&known("od-1", None), Some("p2")));
    let page = feishu.members("od-1", page.next.as_deref()).await.unwrap();
    assert!(page.items.is_empty() && page.next.is_none());
    let asked = platform.calls(MEMBERS);
    let value = |call: usize, name: &str| {
        asked[call].query.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone())
    };
    assert_eq!((value(0, "department_id"), value(0, "page_size")), (Some("od-1".into()), Some("50".into())));
    assert_eq!((value(0, "page_token"), value(1, "page_token")), (None, Some("p2".into())));
}

#[tokio::test]
async fn unclear_lists_are_errors() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    for (answer, field) in [
        (json!({}), "has_more"),
        (json!({ "items": [] }), "has_more"),
        (json!({ "has_more": false, "items": "none" }), "items"),
        (json!({ "has_more": false, "items": [7] }), "items"),
        (json!({ "has_more": true, "items": [] }), "page_token"),
        (json!({ "has_more": true, "page_token": "p1", "items": [] }), "page_token"),
        (json!({ "has_more": true, "page_token": "p 2", "items": [] }), "page_token"),
        (json!({ "has_more": true, "page_token": "p\n", "items": [] }), "page_token"),
        (json!({ "has_more": true, "page_token": "x".repeat(513), "items": [] }), "page_token"),
    ] {
        platform.next(MEMBERS, [data(&answer)]);
        let missing = Err(InvalidResponse::MissingField(field).into());
        assert_eq!(feishu.members("0", Some("p1")).await, missing, "{answer}");
    }
    // Lists without user ids would look like lists without members.
    platform.next(MEMBERS, [data(&json!({ "has_more": false, "items": [{ "open_id": "ou_1" }] }))]);
    let missing = Error::refused(ErrorCode::word("user_id_missing"), Meaning::Administrator);
    assert_eq!(feishu.members("0", None).await, Err(missing));
    let outside = Error::refused(40_004_i64, Meaning::OutOfRange);
    for id in ["", "../x", "a b"] {
        assert_eq!(feishu.members(id, None).await, Err(outside.clone()));
        assert_eq!(feishu.departments(id, None).await, Err(outside.clone()));
    }
}

#[tokio::test]
async fn departments_are_listed_below_their_parent() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    assert_eq!(feishu.root_department(), "0");
    let items = json!([
        { "open_department_id": "od-1", "parent_department_id": "0", "name": "IT" },
        { "open_department_id": "od-2" },
        { "open_department_id": "a/b", "name": "x" },
    ]);
    platform.next(CHILDREN, [data(&json!({ "has_more": false, "items": items }))]);
    platform.next(CHILDREN, [data(&json!({ "has_more": false, "items": [{ "name": "x" }] }))]);
    let page = feishu.departments("0", None).await.unwrap();
    let nameless = feishu.departments("0", None).await;
    assert_eq!(nameless, Err(InvalidResponse::MissingField("open_department_id").into()));
    let expected = [
        DirectoryDepartment { id: "od-1".into(), parent: Some("0".into()), name: "IT".into() },
        DirectoryDepartment { id: "od-2".into(), parent: None, name: String::new() },
    ];
    assert_eq!((page.items.as_slice(), page.next), (expected.as_slice(), None));
}
