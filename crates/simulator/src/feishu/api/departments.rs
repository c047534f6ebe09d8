//! Departments. The first one of the directory is the tenant itself, which the platform calls `0`.

use serde_json::{Value, json};

use super::{FeishuCall, pages, success};
use crate::directory::{DEPARTMENTS, SimulatedDepartment};
use crate::feishu::refusal::Refused;

const ROOT: u32 = 1;
/// The beginning of the ids that the platform makes, and of those that a corporation chose.
const OPEN_PREFIX: &str = "od-";
const CUSTOM_PREFIX: &str = "d";

pub(super) fn one(ask: &FeishuCall<'_>) -> Result<Value, Refused> {
    let found = find(ask, ask.id)?;
    Ok(success(&json!({ "department": record(ask, found)? })))
}

/// The children of a department, or with `fetch_child` all its descendants.
pub(super) fn children(ask: &FeishuCall<'_>) -> Result<Value, Refused> {
    let top = find(ask, ask.id)?.id;
    let all = ask.call.query.get("fetch_child") == Some("true");
    let below = |department: &&SimulatedDepartment| {
        department.parent == top || (all && department.id != top && department.is_within(top))
    };
    let items: Result<Vec<_>, _> = DEPARTMENTS.iter().filter(below).map(|found| record(ask, found)).collect();
    pages::page(ask, &items?)
}

/// The ids of the departments right below the tenant.
pub(super) fn topmost(ask: &FeishuCall<'_>) -> Result<Vec<String>, Refused> {
    DEPARTMENTS.iter().filter(|department| department.parent == ROOT).map(|found| id(ask, found.id)).collect()
}

/// The department with an id of the kind that the call names.
pub(super) fn find(ask: &FeishuCall<'_>, id: &str) -> Result<&'static SimulatedDepartment, Refused> {
    let number = match (id, prefix(ask)?) {
        ("0", _) => Some(ROOT),
        (id, prefix) => id.strip_prefix(prefix).and_then(|id| id.parse().ok()).filter(|id| *id != ROOT),
    };
    number.and_then(SimulatedDepartment::by_id).ok_or(40_004.into())
}

/// The id of a department, of the kind that the call names.
pub(super) fn id(ask: &FeishuCall<'_>, number: u32) -> Result<String, Refused> {
    Ok(of_kind(prefix(ask)?, number))
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

fn record(ask: &FeishuCall<'_>, department: &SimulatedDepartment) -> Result<Value, Refused> {
    let SimulatedDepartment { id: number, name, parent } = *department;
    let parent = id(ask, parent.max(ROOT))?;
    Ok(json!({
        "name": name,
        "i18n_name": { "zh_cn": name, "en_us": name },
        "department_id": of_kind(CUSTOM_PREFIX, number),
        "open_department_id": of_kind(OPEN_PREFIX, number),
        "parent_department_id": parent,
        "leader_user_id": "",
        "status": { "is_deleted": false },
    }))
}
