//! The address book: members, departments, and members of connected corporations.

use serde_json::{Value, json};

use super::{JsonFields, fields};
use crate::call::ApiCall;
use crate::directory::{DEPARTMENTS, PEOPLE, PersonKind, SimulatedDepartment, SimulatedPerson, member};
use crate::wecom::errcode::Refused;

pub(super) fn user(call: &ApiCall<'_>) -> Result<JsonFields, Refused> {
    let id = call.query.non_empty("userid").ok_or(41009)?;
    let who = member(id).ok_or(60111)?;
    if who.kind == PersonKind::Hidden {
        return Err(60011.into());
    }
    let mut user = details(who);
    // Apps created since June 2022 get no pictures; one member has a picture nevertheless, so that both cases occur.
    if who.id == "admin01" {
        user.insert("avatar".to_owned(), "https://avatars.example.com/admin01.png".into());
        user.insert("thumb_avatar".to_owned(), "https://avatars.example.com/admin01.png".into());
    }
    Ok(user)
}

/// The visible members of a department, with their details.
pub(super) fn users(call: &ApiCall<'_>) -> Result<JsonFields, Refused> {
    let list: Vec<_> = members_of(call)?.into_iter().map(|who| Value::Object(details(who))).collect();
    Ok(fields(json!({ "userlist": list })))
}

pub(super) fn simple_users(call: &ApiCall<'_>) -> Result<JsonFields, Refused> {
    let shape =
        |who: &SimulatedPerson| json!({ "userid": who.id, "name": who.name, "department": [who.department_id()] });
    let list: Vec<_> = members_of(call)?.into_iter().map(shape).collect();
    Ok(fields(json!({ "userlist": list })))
}

/// The visible members of the requested department, and of those below it if the request says so.
fn members_of(call: &ApiCall<'_>) -> Result<Vec<&'static SimulatedPerson>, Refused> {
    let wanted = number(call.query.non_empty("department_id").ok_or(40058)?)?;
    SimulatedDepartment::by_id(wanted).ok_or(60003)?;
    let below = call.query.get("fetch_child") == Some("1");
    let belongs = |id: u32| {
        id == wanted || (below && SimulatedDepartment::by_id(id).is_some_and(|department| department.is_within(wanted)))
    };
    let visible = |who: &&SimulatedPerson| matches!(who.kind, PersonKind::Member | PersonKind::Left);
    Ok(PEOPLE.iter().filter(visible).filter(|who| belongs(who.department_id())).collect())
}

fn details(who: &SimulatedPerson) -> JsonFields {
    let status = if who.kind == PersonKind::Left { 5 } else { 1 };
    let department = who.department_id();
    fields(json!({
        "userid": who.id,
        "name": who.name,
        "department": [department],
        "order": [0],
        "position": "",
        "is_leader_in_dept": [0],
        "direct_leader": [],
        "telephone": "",
        "biz_mail": who.email,
        "alias": "",
        "extattr": { "attrs": [] },
        "main_department": department,
        "status": status,
    }))
}

pub(super) fn linked_user(call: &ApiCall<'_>) -> Result<JsonFields, Refused> {
    let ask: Value = serde_json::from_slice(call.body).map_err(|_| 40058)?;
    let id = ask.get("userid").and_then(Value::as_str).filter(|id| !id.is_empty()).ok_or(41009)?;
    let who = SimulatedPerson::by_id(id).filter(|who| who.kind == PersonKind::Partner).ok_or(60111)?;
    let (corp, user) = who.id.split_once('/').unwrap_or_default();
    Ok(fields(json!({ "user_info": {
        "userid": user,
        "name": who.name,
        "department": ["LINKED01/1"],
        "mobile": "",
        "telephone": "",
        "email": "",
        "position": who.department,
        "corpid": corp,
        "extattr": { "attrs": [] },
    } })))
}

pub(super) fn department(call: &ApiCall<'_>) -> Result<JsonFields, Refused> {
    let wanted = number(call.query.non_empty("id").ok_or(40058)?)?;
    let found = SimulatedDepartment::by_id(wanted).ok_or(60003)?;
    Ok(fields(json!({ "department": shape(found) })))
}

pub(super) fn departments(call: &ApiCall<'_>) -> Result<JsonFields, Refused> {
    let list: Vec<_> = departments_below(call)?.into_iter().map(shape).collect();
    Ok(fields(json!({ "department": list })))
}

pub(super) fn simple_departments(call: &ApiCall<'_>) -> Result<JsonFields, Refused> {
    let shape = |department: &SimulatedDepartment| {
        let SimulatedDepartment { id, parent, .. } = *department;
        json!({ "id": id, "parentid": parent, "order": order(department) })
    };
    let list: Vec<_> = departments_below(call)?.into_iter().map(shape).collect();
    Ok(fields(json!({ "department_id": list })))
}

/// The requested department and all departments below it, or all departments.
fn departments_below(call: &ApiCall<'_>) -> Result<Vec<&'static SimulatedDepartment>, Refused> {
    let top = call.query.non_empty("id").map(number).transpose()?;
    if let Some(top) = top {
        SimulatedDepartment::by_id(top).ok_or(60003)?;
    }
    let below = |department: &&SimulatedDepartment| top.is_none_or(|top| department.is_within(top));
    Ok(DEPARTMENTS.iter().filter(below).collect())
}

fn number(id: &str) -> Result<u32, Refused> {
    id.parse().map_err(|_| 40058.into())
}

fn order(department: &SimulatedDepartment) -> u32 {
    100_000_000 - department.id
}

fn shape(department: &SimulatedDepartment) -> Value {
    let SimulatedDepartment { id, name, parent } = *department;
    let order = order(department);
    json!({ "id": id, "name": name, "name_en": "", "department_leader": [], "parentid": parent, "order": order })
}
