//! Profiles of users, and their departments.

use std::time::Duration;

use deskpass_platform::{Department, Directory as _, Identity, InvalidResponse, MemberStatus, Messenger as _, Profile};
use deskpass_wecom::Wecom;
use serde_json::{Value, json};

use crate::platform::{Platform, Reply, errcode, number};

const USER: &str = "user/get";
const DEPARTMENT: &str = "department/get";

fn member() -> Identity {
    Identity::member("user01")
}

fn record(extra: &Value) -> Reply {
    let mut record = json!({ "errcode": 0, "userid": "user01", "name": "Ann", "department": [7, 8], "status": 1 });
    record.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    Reply::Json(record)
}

fn department(name: &str) -> Reply {
    Reply::Json(json!({ "errcode": 0, "department": { "id": 7, "name": name } }))
}

fn known(id: &str, name: &str) -> Department {
    Department::Known { id: id.to_owned(), name: Some(name.to_owned()) }
}

async fn profile(wecom: &Wecom, platform: &Platform, extra: &Value) -> Profile {
    platform.next(USER, [record(extra)]);
    wecom.profile(&member()).await.unwrap()
}

#[tokio::test]
async fn a_members_record_is_completed_by_the_departments_name() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always(DEPARTMENT, department("IT"));
    let extra = json!({
        "avatar": "https://a.example.com/ann.png", "biz_mail": "Ann@Example.com", "email": "ann@home.example",
    });
    let ann = profile(&wecom, &platform, &extra).await;
    let (avatar, email) = (Some("https://a.example.com/ann.png".into()), Some("ann@example.com".into()));
    assert_eq!(
        ann,
        Profile { name: Some("Ann".into()), avatar, email, ..Profile::empty(known("7", "IT"), MemberStatus::Active) }
    );
    assert_eq!(platform.calls(USER)[0].query[1], ("userid".into(), "user01".into()));
    assert_eq!(platform.calls(DEPARTMENT)[0].query[1], ("id".into(), "7".into()));
    profile(&wecom, &platform, &json!({ "main_department": 9 })).await;
    assert_eq!(platform.calls(DEPARTMENT)[1].query[1], ("id".into(), "9".into()));
}

#[tokio::test]
async fn names_of_departments_are_kept_for_an_hour() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always(DEPARTMENT, department("IT"));
    profile(&wecom, &platform, &json!({})).await;
    platform.always(DEPARTMENT, department("Sales"));
    platform.clock.advance(Duration::from_secs(3_599));
    assert_eq!(profile(&wecom, &platform, &json!({})).await.department, known("7", "IT"));
    platform.clock.advance(Duration::from_secs(1));
    assert_eq!(profile(&wecom, &platform, &json!({})).await.department, known("7", "Sales"));
    assert_eq!(platform.count(DEPARTMENT), 2);
}

#[tokio::test]
async fn an_invisible_department_is_requested_once_and_a_failed_request_is_repeated() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let unnamed = || Some(String::new());
    let cases = [(errcode(60011), 1, unnamed()), (errcode(48002), 1, unnamed()), (Reply::Reset, 2, None)];
    for (reply, calls, name) in cases {
        platform.clock.advance(Duration::from_hours(1));
        let before = platform.count(DEPARTMENT);
        platform.always(DEPARTMENT, reply);
        for _ in 0..2 {
            let ann = profile(&wecom, &platform, &json!({})).await;
            let department = Department::Known { id: "7".to_owned(), name: name.clone() };
            assert_eq!(
                (ann.name.as_deref(), ann.department),
                (Some("Ann"), department),
                "its id is known all the same"
            );
        }
        assert_eq!(platform.count(DEPARTMENT) - before, calls);
    }
}

#[tokio::test]
async fn a_profile_without_a_department_has_no_visible_department() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    for none in [json!([]), json!(null), json!(["x"])] {
        assert_eq!(profile(&wecom, &platform, &json!({ "department": none })).await.department, Department::None);
    }
    let linked = Identity::Linked { corp_id: "wwPartner".into(), userid: "bo".into() };
    for (list, department) in [
        (json!([]), Department::None),
        (json!(null), Department::Unspecified),
        (json!([7]), Department::Unspecified),
        (json!(["name:x"]), Department::Unspecified),
    ] {
        let user_info = json!({ "userid": "bo", "name": "Bo", "department": list });
        platform.next("linkedcorp/user/get", [Reply::Json(json!({ "errcode": 0, "user_info": user_info }))]);
        assert_eq!(wecom.profile(&linked).await.unwrap().department, department, "{list}");
    }
    assert_eq!(platform.count(DEPARTMENT), 0);
}

#[tokio::test]
async fn texts_are_short_and_printable_and_pictures_have_web_addresses() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always(DEPARTMENT, department(&format!("I\nT{}", "部".repeat(999))));
    let ann = profile(&wecom, &platform, &json!({ "name": "A\u{0}n\u{1b}[1mn\r\n" })).await;
    assert_eq!(ann.name.as_deref(), Some("An[1mn"));
    assert_eq!(ann.department, known("7", &format!("IT{}", "部".repeat(126))));
    for name in [json!(""), json!("\n"), json!(7), json!(null)] {
        assert_eq!(profile(&wecom, &platform, &json!({ "name": name })).await.name, None, "{name}");
    }
    let long = format!("https://a.example.com/{}", "x".repeat(512));
    let swollen = format!("https://a.example.com/{}", "字".repeat(100));
    let bad = [
        "",
        "javascript:alert(1)",
        "data:image/png,x",
        "//a.example.com/x",
        "ftp://a.example.com/",
        "https://",
        &long,
        &swollen,
    ];
    for avatar in bad {
        assert_eq!(profile(&wecom, &platform, &json!({ "avatar": avatar })).await.avatar, None, "{avatar}");
    }
    let quoted = profile(&wecom, &platform, &json!({ "avatar": "http://a.example.com/\"><script>" })).await.avatar;
    assert_eq!(quoted.as_deref(), Some("http://a.example.com/%22%3E%3Cscript%3E"));
}

#[tokio::test]
async fn the_platforms_status_is_reported() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always(DEPARTMENT, department("IT"));
    let cases = [
        (json!(1), MemberStatus::Active),
        (json!("1"), MemberStatus::Active),
        (json!(2), MemberStatus::Suspended),
        (json!(4), MemberStatus::NotActivated),
        (json!(5), MemberStatus::Left),
        (json!(3), MemberStatus::Unknown),
        (json!(null), MemberStatus::Unknown),
        (json!(true), MemberStatus::Unknown),
    ];
    for (status, standing) in cases {
        assert_eq!(profile(&wecom, &platform, &json!({ "status": status })).await.status, standing, "{status}");
    }
}

#[tokio::test]
async fn a_member_outside_the_visible_range_has_an_empty_profile() {
    let platform = Platform::start().await;
    for code in [60011, 60111] {
        platform.always(USER, errcode(code));
        let hidden = Profile::empty(Department::None, MemberStatus::OutOfRange);
        assert_eq!(platform.client().profile(&member()).await, Ok(hidden), "{code}");
    }
    for code in [40003, 60020, 48002] {
        platform.always(USER, errcode(code));
        assert_eq!(number(&platform.client().profile(&member()).await.unwrap_err()), Some(code));
    }
}

/// The platform reports no status for users of connected corporations: users who left are not found. A member who is not found
/// may be outside the application's visible range.
#[tokio::test]
async fn a_linked_member_who_is_not_found_has_left() {
    let platform = Platform::start().await;
    let bo = Identity::Linked { corp_id: "wwPartner".into(), userid: "bo".into() };
    platform.always("linkedcorp/user/get", errcode(60111));
    let left = Profile::empty(Department::Unspecified, MemberStatus::Left);
    assert_eq!(platform.client().profile(&bo).await, Ok(left));
    platform.always("linkedcorp/user/get", errcode(60011));
    assert_eq!(number(&platform.client().profile(&bo).await.unwrap_err()), Some(60011));
}

#[tokio::test]
async fn a_linked_member_is_read_by_another_call() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let bo = Identity::Linked { corp_id: "wwPartner".into(), userid: "bo".into() };
    let user_info = json!({ "userid": "bo", "name": "Bo", "department": ["LINK/1"], "corpid": "wwPartner" });
    platform.next("linkedcorp/user/get", [Reply::Json(json!({ "errcode": 0, "user_info": user_info }))]);
    let department = Department::Known { id: "LINK/1".into(), name: None };
    let expected = Profile { name: Some("Bo".into()), ..Profile::empty(department, MemberStatus::Unknown) };
    assert_eq!(wecom.profile(&bo).await, Ok(expected));
    let call = &platform.calls("linkedcorp/user/get")[0];
    assert_eq!((call.method.as_str(), call.body.as_str()), ("POST", r#"{"userid":"wwPartner/bo"}"#));
    assert_eq!(call.query, [("access_token".into(), "canary-token-1".into())]);
    platform.next("linkedcorp/user/get", [Reply::Json(json!({ "errcode": 0, "user_info": [] }))]);
    assert_eq!(wecom.profile(&bo).await, Err(InvalidResponse::MissingField("user_info").into()));
}

#[tokio::test]
async fn an_outsider_has_no_profile() {
    let platform = Platform::start().await;
    let nothing = Profile::empty(Department::Unspecified, MemberStatus::Unknown);
    assert_eq!(platform.client().profile(&Identity::Outsider).await, Ok(nothing));
    assert_eq!(platform.count("gettoken"), 0);
}

#[tokio::test]
async fn the_date_costs_no_token() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    assert_eq!(wecom.date().await, Ok(None));
    platform.always("/sim/", Reply::Body(b"anything".to_vec()));
    assert_eq!(wecom.date().await.unwrap().as_deref(), Some("Tue, 14 Nov 2023 22:13:20 GMT"));
    let calls = platform.calls("/sim/");
    assert!(calls.len() == 2 && calls.iter().all(|call| call.query.is_empty()));
    assert_eq!(platform.count("gettoken"), 0);
}
