//! Departments. The first one of the directory is the tenant itself, which the platform calls `0`.

use serde_json::{Value, json};

use super::{FeishuCall, pages, success};
use crate::address_book::{AddressBook, Department};
use crate::feishu::refusal::Refused;

const ROOT: u32 = 1;
/// The beginning of the ids that the platform makes, and of those that a corporation chose.
const OPEN_PREFIX: &str = "od-";
const CUSTOM_PREFIX: &str = "d";

pub(super) fn one(ask: &FeishuCall<'_>, book: &AddressBook) -> Result<Value, Refused> {
    let found = find(ask, book, ask.id)?;
    Ok(success(&json!({ "department": record(ask, found)? })))
}

/// The children of a department, or with `fetch_child` all its descendants.
pub(super) fn children(ask: &FeishuCall<'_>, book: &AddressBook) -> Result<Value, Refused> {
    let top = find(ask, book, ask.id)?.id;
    let all = ask.call.query.get("fetch_child") == Some("true");
    let below = |department: &&Department| {
        department.parent == top || (all && department.id != top && book.is_within(department.id, top))
    };
    let items: Result<Vec<_>, _> = book.departments().iter().filter(below).map(|found| record(ask, found)).collect();
    pages::page(ask, &items?)
}

/// The ids of the departments right below the tenant.
pub(super) fn topmost(ask: &FeishuCall<'_>, book: &AddressBook) -> Result<Vec<String>, Refused> {
    let topmost = book.departments().iter().filter(|department| department.parent == ROOT);
    topmost.map(|found| id(ask, found.id)).collect()
}

/// The department with an id of the kind that the call names.
pub(super) fn find<'a>(ask: &FeishuCall<'_>, book: &'a AddressBook, id: &str) -> Result<&'a Department, Refused> {
    let number = match (id, prefix(ask)?) {
        ("0", _) => Some(ROOT),
        (id, prefix) => id.strip_prefix(prefix).and_then(|id| id.parse().ok()).filter(|id| *id != ROOT),
    };
    number.and_then(|number| book.department(number)).ok_or(40_004.into())
}

/// The id of a department, of the kind that the call names.
pub(super) fn id(ask: &FeishuCall<'_>, number: u32) -> Result<String, Refused> {
    Ok(of_kind(prefix(ask)?, number))
}

/// The id that the platform made.
pub(super) fn open_id(number: u32) -> String {
    of_kind(OPEN_PREFIX, number)
}

/// The id that the corporation chose.
pub(super) fn custom_id(number: u32) -> String {
    of_kind(CUSTOM_PREFIX, number)
}

fn of_kind(prefix: &str, number: u32) -> String {
    if number == ROOT { "0".to_owned() } else { format!("{prefix}{number}") }
}

fn prefix(ask: &FeishuCall<'_>) -> Result<&'static str, Refused> {
    match ask.call.query.non_empty("department_id_type") {
        None | Some("open_department_id") => Ok(OPEN_PREFIX),
        Some("department_id") => Ok(CUSTOM_PREFIX),
        Some(_) => Err(40_001.into()),
    }
}

fn record(ask: &FeishuCall<'_>, department: &Department) -> Result<Value, Refused> {
    let Department { id: number, name, parent } = department;
    let (number, parent) = (*number, id(ask, (*parent).max(ROOT))?);
    Ok(json!({
        "name": name,
        "i18n_name": { "zh_cn": name, "en_us": name },
        "department_id": custom_id(number),
        "open_department_id": open_id(number),
        "parent_department_id": parent,
        "leader_user_id": "",
        "status": { "is_deleted": false },
    }))
}
