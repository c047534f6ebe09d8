//! The directory: members and departments.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{BAD_PARAMETER, JsonFields, body, fields, number, text};
use crate::address_book::{AddressBook, Department, Person};
use crate::call::ApiCall;
use crate::dingtalk::people;
use crate::dingtalk::refusal::Refused;
use crate::directory::PersonKind;

const ROOT: u32 = 1;
const MAX_PAGE: usize = 100;

pub(super) fn user(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let body = body(call)?;
    let id = text(&body, "userid").ok_or(40003)?;
    let who = people::member(id, book).ok_or(60121)?;
    if who.kind == PersonKind::Hidden {
        return Err(60011.into());
    }
    Ok(fields(json!({ "result": details(&who) })))
}

fn details(who: &Person) -> Value {
    // One member has a picture, so that both cases occur.
    let avatar = if who.id == "admin01" { "https://avatars.example.com/admin01.png" } else { "" };
    json!({
        "userid": who.id,
        "unionid": people::union_id(who),
        "name": who.name,
        "avatar": avatar,
        "title": "",
        "job_number": "",
        "email": who.own_email(),
        "org_email": who.email,
        "dept_id_list": [who.department_id],
        // The platform has no other state for an account that cannot be used.
        "active": who.kind != PersonKind::Disabled,
        "admin": false,
        "boss": false,
    })
}

/// The members of a department, without those of its children.
pub(super) fn users(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let body = body(call)?;
    let department = wanted(&body, book)?.ok_or(BAD_PARAMETER)?;
    let size = number(&body, "size").and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
    if !(1..=MAX_PAGE).contains(&size) {
        return Err(BAD_PARAMETER.into());
    }
    let cursor = number(&body, "cursor").and_then(|cursor| usize::try_from(cursor).ok()).ok_or(BAD_PARAMETER)?;
    let is_there = |who: &&Arc<Person>| who.kind.is_in_range() && who.department_id == department.id;
    let members: Vec<_> = book.people().filter(is_there).collect();
    let list: Vec<_> = members.iter().skip(cursor).take(size).map(|who| details(who)).collect();
    let next = cursor.saturating_add(list.len());
    let mut result = fields(json!({ "has_more": next < members.len(), "list": list }));
    if next < members.len() {
        result.insert("next_cursor".to_owned(), next.into());
    }
    Ok(fields(json!({ "result": result })))
}

pub(super) fn department(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let found = wanted(&body(call)?, book)?.ok_or(BAD_PARAMETER)?;
    Ok(fields(json!({ "result": shape(found) })))
}

/// The children of a department, without theirs.
pub(super) fn departments(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let parent = wanted(&body(call)?, book)?.map_or(ROOT, |department| department.id);
    let children: Vec<_> =
        book.departments().iter().filter(|department| department.parent == parent).map(shape).collect();
    Ok(fields(json!({ "result": children })))
}

/// The department that a call names, if it names one.
fn wanted<'a>(body: &JsonFields, book: &'a AddressBook) -> Result<Option<&'a Department>, Refused> {
    let Some(id) = number(body, "dept_id") else { return Ok(None) };
    let found = u32::try_from(id).ok().and_then(|id| book.department(id));
    found.map(Some).ok_or(Refused::Number(60003))
}

fn shape(department: &Department) -> JsonFields {
    let Department { id, name, parent } = department;
    let mut shape = fields(json!({ "dept_id": id, "name": name, "auto_add_user": false, "create_dept_group": false }));
    if *id != ROOT {
        shape.insert("parent_id".to_owned(), (*parent).into());
    }
    shape
}
