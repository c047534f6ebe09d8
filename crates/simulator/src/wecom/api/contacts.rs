//! The address book: members, departments, and members of connected corporations.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{JsonFields, fields};
use crate::address_book::{AddressBook, Department, Person};
use crate::call::ApiCall;
use crate::directory::PersonKind;
use crate::state::SimulatorState;
use crate::wecom::errcode::Refused;

pub(super) fn user(call: &ApiCall<'_>, state: &SimulatorState) -> Result<JsonFields, Refused> {
    let id = call.query.non_empty("userid").ok_or(41009)?;
    let who = find(id, state)?;
    let mut user = details(&who);
    // Apps created since June 2022 get no pictures; one member has a picture nevertheless, so that both cases occur.
    if who.id == "admin01" {
        user.insert("avatar".to_owned(), "https://avatars.example.com/admin01.png".into());
        user.insert("thumb_avatar".to_owned(), "https://avatars.example.com/admin01.png".into());
    }
    Ok(user)
}

/// A member whom the app may see.
pub(super) fn find(id: &str, state: &SimulatorState) -> Result<Arc<Person>, Refused> {
    let who = state.book.member(id).ok_or(60111)?;
    match who.kind {
        PersonKind::Hidden => Err(60011.into()),
        PersonKind::Left if state.switches.left_are_deleted => Err(60111.into()),
        _ => Ok(who),
    }
}

/// The visible members of a department, with their details.
pub(super) fn users(call: &ApiCall<'_>, state: &SimulatorState) -> Result<JsonFields, Refused> {
    let list: Vec<_> = members_of(call, state)?.into_iter().map(|who| Value::Object(details(&who))).collect();
    Ok(fields(json!({ "userlist": list })))
}

pub(super) fn simple_users(call: &ApiCall<'_>, state: &SimulatorState) -> Result<JsonFields, Refused> {
    let shape = |who: Arc<Person>| json!({ "userid": who.id, "name": who.name, "department": [who.department_id] });
    let list: Vec<_> = members_of(call, state)?.into_iter().map(shape).collect();
    Ok(fields(json!({ "userlist": list })))
}

/// The visible members of the requested department, and of those below it if the request says so.
fn members_of(call: &ApiCall<'_>, state: &SimulatorState) -> Result<Vec<Arc<Person>>, Refused> {
    let (wanted, book) = (number(call.query.non_empty("department_id").ok_or(40058)?)?, &state.book);
    book.department(wanted).ok_or(60003)?;
    let below = call.query.get("fetch_child") == Some("1");
    let belongs = |id: u32| id == wanted || (below && book.is_within(id, wanted));
    let lists_left = !state.switches.left_are_deleted;
    let visible = |who: &&Arc<Person>| who.kind.is_in_range() || (who.kind == PersonKind::Left && lists_left);
    Ok(book.people().filter(visible).filter(|who| belongs(who.department_id)).cloned().collect())
}

fn details(who: &Person) -> JsonFields {
    let status = match who.kind {
        PersonKind::Left => 5,
        PersonKind::Disabled => 2,
        _ => 1,
    };
    let department = who.department_id;
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

pub(super) fn linked_user(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let ask: Value = serde_json::from_slice(call.body).map_err(|_| 40058)?;
    let id = ask.get("userid").and_then(Value::as_str).filter(|id| !id.is_empty()).ok_or(41009)?;
    let who = book.by_id(id).filter(|who| who.kind == PersonKind::Partner).ok_or(60111)?;
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

pub(super) fn department(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let wanted = number(call.query.non_empty("id").ok_or(40058)?)?;
    let found = book.department(wanted).ok_or(60003)?;
    Ok(fields(json!({ "department": shape(found) })))
}

pub(super) fn departments(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let list: Vec<_> = departments_below(call, book)?.into_iter().map(shape).collect();
    Ok(fields(json!({ "department": list })))
}

pub(super) fn simple_departments(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let shape = |department: &Department| {
        let Department { id, parent, .. } = *department;
        json!({ "id": id, "parentid": parent, "order": order(department) })
    };
    let list: Vec<_> = departments_below(call, book)?.into_iter().map(shape).collect();
    Ok(fields(json!({ "department_id": list })))
}

/// The requested department and all departments below it, or all departments.
fn departments_below<'a>(call: &ApiCall<'_>, book: &'a AddressBook) -> Result<Vec<&'a Department>, Refused> {
    let top = call.query.non_empty("id").map(number).transpose()?;
    if let Some(top) = top {
        book.department(top).ok_or(60003)?;
    }
    let below = |department: &&Department| top.is_none_or(|top| book.is_within(department.id, top));
    Ok(book.departments().iter().filter(below).collect())
}

fn number(id: &str) -> Result<u32, Refused> {
    id.parse().map_err(|_| 40058.into())
}

fn order(department: &Department) -> u32 {
    100_000_000 - department.id
}

fn shape(department: &Department) -> Value {
    let Department { id, name, parent } = department;
    let order = order(department);
    json!({ "id": id, "name": name, "name_en": "", "department_leader": [], "parentid": parent, "order": order })
}
