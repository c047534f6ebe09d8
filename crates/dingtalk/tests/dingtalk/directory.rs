//! Profiles, members and departments.

use std::time::Duration;

use deskpass_platform::{
    Department, Directory as _, DirectoryPage, Identity, InvalidResponse, MemberStatus, Messenger as _, Profile,
};
use serde_json::json;

use crate::platform::{Platform, TOKEN, USER, errcode, member, result, sub_code};
use crate::scripted_server::{Call, Reply};

const DEPARTMENT: &str = "topapi/v2/department/get";
const USERS: &str = "topapi/v2/user/list";
const DEPARTMENTS: &str = "topapi/v2/department/listsub";

#[tokio::test]
async fn a_profile_takes_one_call_and_the_department_one_an_hour() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(
        USER,
        result(&json!({
            "userid": "user01", "name": "Uma\u{202e} User", "avatar": "https://a.example.com/a b.png",
            "dept_id_list": [4, 2], "active": true, "org_email": "uma@example.com", "unionid": "union-1", "email": "uma@home.example",
        })),
    );
    platform.always(DEPARTMENT, result(&json!({ "dept_id": 4, "name": "Sales" })));
    let expected = Profile {
        name: Some("Uma User".into()),
        department: Department::Known { id: "4".into(), name: Some("Sales".into()) },
        avatar: Some("https://a.example.com/a%20b.png".into()),
        email: Some("uma@example.com".into()),
        holder_id: Some("union-1".into()),
        status: MemberStatus::Active,
    };
    for _ in 0..5 {
        assert_eq!(dingtalk.profile(&member("user01")).await, Ok(expected.clone()));
    }
    assert_eq!((platform.count(USER), platform.count(DEPARTMENT), platform.count(TOKEN)), (5, 1, 1));
    assert_eq!(platform.calls(USER)[0].json(), json!({ "userid": "user01" }));
    assert_eq!(platform.calls(DEPARTMENT)[0].json(), json!({ "dept_id": 4 }));
    platform.clock.advance(Duration::from_hours(1));
    dingtalk.profile(&member("user01")).await.unwrap();
    assert_eq!(platform.count(DEPARTMENT), 2);
}

#[tokio::test]
async fn a_profile_tells_who_left_and_who_is_hidden() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let bare = |status| Ok(Profile::empty(Department::Unspecified, status));
    for (reply, status) in [
        (errcode(60121), MemberStatus::Left),
        (errcode(33012), MemberStatus::Left),
        (errcode(40003), MemberStatus::Left),
        (errcode(60011), MemberStatus::OutOfRange),
        (errcode(50002), MemberStatus::OutOfRange),
        (result(&json!({ "active": false })), MemberStatus::NotActivated),
        (result(&json!({})), MemberStatus::Unknown),
    ] {
        platform.next(USER, [reply]);
        assert_eq!(dingtalk.profile(&member("user01")).await, bare(status), "{status:?}");
    }
    // A permission that an administrator took away says nothing about a person.
    for reply in [sub_code("60011"), errcode(60020), errcode(90020)] {
        platform.next(USER, [reply]);
        assert!(dingtalk.profile(&member("user01")).await.is_err());
    }
    assert_eq!(dingtalk.profile(&Identity::Outsider).await, bare(MemberStatus::Unknown));
}

#[tokio::test]
async fn a_department_without_a_name_is_still_known() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(USER, result(&json!({ "name": "Uma", "dept_id_list": [4] })));
    for (reply, name) in [(errcode(-3), None), (errcode(60003), Some("")), (errcode(60003), Some(""))] {
        platform.next(DEPARTMENT, [reply]);
        let profile = dingtalk.profile(&member("user01")).await.unwrap();
        assert_eq!(profile.department, Department::Known { id: "4".into(), name: name.map(Into::into) });
    }
    assert_eq!(platform.count(DEPARTMENT), 2, "that a department has no name is remembered too");
    platform.next(USER, [result(&json!({ "dept_id_list": [] })), result(&json!({ "dept_id_list": "4" }))]);
    for expected in [Department::None, Department::Unspecified] {
        assert_eq!(dingtalk.profile(&member("user01")).await.unwrap().department, expected);
    }
}

#[tokio::test]
async fn a_missing_permission_costs_one_call_an_hour() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    platform.always(USER, result(&json!({ "name": "Uma", "dept_id_list": [4] })));
    platform.always(DEPARTMENT, sub_code("60011"));
    for _ in 0..3 {
        let profile = dingtalk.profile(&member("user01")).await.unwrap();
        assert_eq!(profile.department, Department::Known { id: "4".into(), name: Some(String::new()) });
    }
    assert_eq!(platform.count(DEPARTMENT), 1);
    platform.clock.advance(Duration::from_hours(1));
    dingtalk.profile(&member("user01")).await.unwrap();
    assert_eq!(platform.count(DEPARTMENT), 2);
}

#[tokio::test]
async fn members_come_in_pages() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let user = |id: &str| json!({ "userid": id, "name": id, "dept_id_list": [4, 2], "active": true });
    platform.next(
        USERS,
        [
            result(&json!({ "has_more": true, "next_cursor": 100, "list": [user("a"), user("b c")] })),
            result(&json!({ "has_more": false, "list": [user("d")] })),
        ],
    );
    let first = dingtalk.members("4", None).await.unwrap();
    // An identifier that could not sign in is left out.
    assert_eq!((first.items.len(), first.next.as_deref()), (1, Some("100")));
    assert_eq!(
        (first.items[0].userid.as_str(), &first.items[0].departments),
        ("a", &vec!["4".to_owned(), "2".to_owned()])
    );
    assert_eq!(first.items[0].profile.department, Department::Known { id: "4".into(), name: None });
    let last = dingtalk.members("4", first.next.as_deref()).await.unwrap();
    assert_eq!((last.items[0].userid.as_str(), last.next), ("d", None));
    let asked: Vec<_> = platform.calls(USERS).iter().map(Call::json).collect();
    assert_eq!(asked[0], json!({ "dept_id": 4, "cursor": 0, "size": 100 }));
    assert_eq!(asked[1]["cursor"], 100);
}

#[tokio::test]
async fn a_list_that_is_incomplete_or_never_ends_is_an_error() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    for (answer, field) in [
        (json!({ "has_more": false }), "list"),
        (json!({ "list": [] }), "next_cursor"),
        (json!({ "has_more": true, "list": [] }), "next_cursor"),
        (json!({ "has_more": true, "next_cursor": 100, "list": [] }), "next_cursor"),
        (json!({ "has_more": false, "list": [{ "name": "x" }] }), "userid"),
        (json!({ "has_more": false, "list": ["x"] }), "list"),
    ] {
        platform.next(USERS, [result(&answer)]);
        let outcome = dingtalk.members("4", Some("100")).await;
        assert_eq!(outcome, Err(InvalidResponse::MissingField(field).into()), "{answer}");
    }
    assert!(dingtalk.members("x", None).await.is_err());
    assert!(dingtalk.members("4", Some("x")).await.is_err());
    assert_eq!(platform.count(USERS), 6);
}

#[tokio::test]
async fn departments_are_read_level_by_level() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    assert_eq!(dingtalk.root_department(), "1");
    let answer = json!([{ "dept_id": 2, "name": "IT", "parent_id": 1 }, { "dept_id": "3", "parent_id": 1 }]);
    platform.next(DEPARTMENTS, [result(&answer), result(&json!([])), result(&json!({}))]);
    let page = dingtalk.departments("1", None).await.unwrap();
    let seen: Vec<_> =
        page.items.iter().map(|item| (item.id.as_str(), item.parent.as_deref(), item.name.as_str())).collect();
    assert_eq!((seen, page.next), (vec![("2", Some("1"), "IT"), ("3", Some("1"), "")], None));
    assert_eq!(dingtalk.departments("2", None).await, Ok(DirectoryPage { items: Vec::new(), next: None }));
    assert!(dingtalk.departments("3", None).await.is_err());
}

#[tokio::test]
async fn every_call_is_announced_for_metrics() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = std::sync::Arc::clone(&seen);
    dingtalk.observe_calls(Box::new(move |report| listener.lock().unwrap().push(report.api)));
    platform.always(USER, result(&json!({ "name": "Uma", "dept_id_list": [4] })));
    platform.always(DEPARTMENT, result(&json!({ "name": "Sales" })));
    platform.always(USERS, Reply::Reset);
    crate::platform::by_page(&dingtalk).await.unwrap();
    crate::platform::by_script(&dingtalk).await.unwrap();
    dingtalk.profile(&member("user01")).await.unwrap();
    assert!(dingtalk.members("1", None).await.is_err() && dingtalk.departments("1", None).await.is_err());
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 9, "{seen:?}");
    assert!(seen.iter().all(|api| dingtalk.apis().contains(api)), "{seen:?}");
}
