//! Lists of members and departments.

use deskpass_platform::{
    Department, Directory as _, DirectoryDepartment, DirectoryMember, InvalidResponse, Meaning, MemberStatus, Profile,
};
use serde_json::json;

use crate::platform::{Platform, Reply, errcode};
use crate::simulator::Simulated;

const MEMBERS: &str = "user/list";
const DEPARTMENTS: &str = "department/list";

#[tokio::test]
async fn members_are_listed_with_their_departments_and_status() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let list = json!([
        { "userid": "Ann", "name": "A\nnn", "department": [7, 8], "main_department": 8, "status": 2 },
        { "userid": "bo", "department": [], "avatar": "javascript:alert(1)" },
        { "userid": "not a user id" },
    ]);
    platform.always(MEMBERS, Reply::Json(json!({ "errcode": 0, "userlist": list })));
    let page = wecom.members("7", None).await.unwrap();
    let call = platform.calls(MEMBERS).pop().unwrap();
    assert_eq!(call.query[1..], [("department_id".to_owned(), "7".to_owned())]);
    let department = Department::Known { id: "8".into(), name: None };
    let ann = Profile { name: Some("Ann".into()), ..Profile::empty(department, MemberStatus::Suspended) };
    let bo = Profile::empty(Department::None, MemberStatus::Unknown);
    let expected = [("Ann", vec!["7", "8"], ann), ("bo", vec![], bo)].map(|(userid, departments, profile)| {
        let departments = departments.into_iter().map(Into::into).collect();
        DirectoryMember { userid: userid.into(), departments, profile }
    });
    assert_eq!((page.items.as_slice(), page.next), (expected.as_slice(), None));
}

#[tokio::test]
async fn a_long_list_is_read_and_a_bad_one_is_no_empty_one() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let many: Vec<_> =
        (0..3_000).map(|n| json!({ "userid": format!("user{n}"), "position": "x".repeat(200) })).collect();
    platform.next(MEMBERS, [Reply::Json(json!({ "errcode": 0, "userlist": many }))]);
    assert_eq!(wecom.members("7", None).await.unwrap().items.len(), 3_000);
    for bad in [json!({ "errcode": 0 }), json!({ "errcode": 0, "userlist": ["a"] })] {
        platform.next(MEMBERS, [Reply::Json(bad)]);
        assert_eq!(wecom.members("7", None).await, Err(InvalidResponse::MissingField("userlist").into()));
    }
    platform.next(DEPARTMENTS, [Reply::Json(json!({ "errcode": 0 }))]);
    assert_eq!(wecom.departments("7", None).await, Err(InvalidResponse::MissingField("department").into()));
    // Who is missing from a list may count as having left.
    platform.next(MEMBERS, [Reply::Json(json!({ "errcode": 0, "userlist": [{ "userid": "a" }, { "name": "b" }] }))]);
    assert_eq!(wecom.members("7", None).await, Err(InvalidResponse::MissingField("userid").into()));
    platform.next(DEPARTMENTS, [Reply::Json(json!({ "errcode": 0, "department": [{ "id": 7 }, { "name": "b" }] }))]);
    assert_eq!(wecom.departments("7", None).await, Err(InvalidResponse::MissingField("id").into()));
}

#[tokio::test]
async fn only_the_topmost_department_may_be_out_of_range() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    platform.always(MEMBERS, errcode(60011));
    assert_eq!(wecom.root_department(), "1");
    assert!(wecom.members("1", None).await.unwrap().items.is_empty());
    assert!(wecom.members("7", None).await.unwrap_err().is_refused_as(Meaning::OutOfRange));
    platform.always(MEMBERS, errcode(60020));
    assert!(wecom.members("1", None).await.is_err());
}

#[tokio::test]
async fn departments_have_the_parents_that_the_application_may_see() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    let list = json!([
        { "id": 7, "name": "IT", "parentid": 1 },
        { "id": 8, "parentid": 7 },
        { "id": "9", "name": "Sales\n", "parentid": "7" },
    ]);
    platform.always(DEPARTMENTS, Reply::Json(json!({ "errcode": 0, "department": list })));
    let department = |id: &str, parent: Option<&str>, name: &str| DirectoryDepartment {
        id: id.into(),
        parent: parent.map(Into::into),
        name: name.into(),
    };
    let (it, unnamed) = (department("7", None, "IT"), department("8", Some("7"), ""));
    let sales = department("9", Some("7"), "Sales");
    let all = wecom.departments("1", None).await.unwrap();
    assert_eq!((all.items, all.next), (vec![it, unnamed.clone(), sales.clone()], None));
    assert_eq!(platform.calls(DEPARTMENTS)[0].query.len(), 1, "all that the application may see");
    assert_eq!(wecom.departments("7", None).await.unwrap().items, [unnamed, sales]);
    assert_eq!(platform.calls(DEPARTMENTS)[1].query[1], ("id".into(), "7".into()));
}

#[tokio::test]
async fn the_simulated_corporation_is_listed() {
    let simulated = Simulated::start().await;
    let wecom = simulated.client();
    let departments = wecom.departments(wecom.root_department(), None).await.unwrap().items;
    assert!(departments.iter().any(|department| department.name == "Sales"), "{departments:?}");
    assert!(departments.iter().all(|department| department.parent.is_some()), "{departments:?}");
    let mut found = Vec::new();
    for department in &departments {
        found.extend(wecom.members(&department.id, None).await.unwrap().items);
    }
    let status = |userid: &str| found.iter().find(|member| member.userid == userid).map(|member| member.profile.status);
    assert_eq!((status("user01"), status("left01")), (Some(MemberStatus::Active), Some(MemberStatus::Left)));
    assert_eq!(status("hidden01"), None);
}
