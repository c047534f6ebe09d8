//! Members, and what the app may see of the directory.

use serde_json::{Value, json};

use super::{FeishuCall, departments, pages, success, with_user_id};
use crate::directory::{PEOPLE, PersonKind, SimulatedPerson};
use crate::feishu::people;
use crate::feishu::refusal::Refused;
use crate::feishu::switches::FeishuSwitches;

/// The record of a member. One who left can still be read.
pub(super) fn user(ask: &FeishuCall<'_>, switches: &FeishuSwitches) -> Result<Value, Refused> {
    let kind = user_id_kind(ask, switches)?;
    let who = people::find(kind, ask.id).filter(|who| people::is_own(who)).ok_or(41_012)?;
    // The contact scope is a setting of its own: the user may use the app all the same.
    if who.kind == PersonKind::Hidden {
        return Err(41_050.into());
    }
    Ok(success(&json!({ "user": record(ask, who, switches)? })))
}

/// The members of a department, without those of its children.
pub(super) fn members(ask: &FeishuCall<'_>, switches: &FeishuSwitches) -> Result<Value, Refused> {
    user_id_kind(ask, switches)?;
    let department = departments::find(ask, ask.call.query.non_empty("department_id").ok_or(40_001)?)?.id;
    let is_in = |who: &&SimulatedPerson| who.kind == PersonKind::Member && who.department_id() == department;
    let items: Result<Vec<_>, _> = PEOPLE.iter().filter(is_in).map(|who| record(ask, who, switches)).collect();
    pages::page(ask, &items?)
}

/// What the app may see: with all members in its scope, what is right below the tenant.
pub(super) fn scopes(ask: &FeishuCall<'_>, switches: &FeishuSwitches) -> Result<Value, Refused> {
    user_id_kind(ask, switches)?;
    let departments = departments::topmost(ask)?;
    Ok(success(&json!({ "department_ids": departments, "user_ids": [], "group_ids": [], "has_more": false })))
}

/// The kind of identifiers that the call names. Without the permission to read user ids there is no naming them either; with
/// which error the platform says so is not documented.
fn user_id_kind<'a>(ask: &FeishuCall<'a>, switches: &FeishuSwitches) -> Result<&'a str, Refused> {
    match ask.call.query.non_empty("user_id_type").unwrap_or("open_id") {
        "user_id" if switches.no_user_id => Err(99_991_672.into()),
        kind @ ("open_id" | "union_id" | "user_id") => Ok(kind),
        _ => Err(40_001.into()),
    }
}

fn record(ask: &FeishuCall<'_>, who: &SimulatedPerson, switches: &FeishuSwitches) -> Result<Value, Refused> {
    let picture = format!("https://avatars.example.com/{}.png", who.id);
    let department = departments::id(ask, who.department_id())?;
    let has_left = who.kind == PersonKind::Left;
    let record = json!({
        "open_id": people::open_id(who),
        "union_id": people::union_id(who),
        "name": who.name,
        "en_name": who.name,
        "nickname": "",
        "avatar": {
            "avatar_72": picture,
            "avatar_240": picture,
            "avatar_640": picture,
            "avatar_origin": picture,
        },
        "status": {
            "is_frozen": false,
            "is_resigned": has_left,
            "is_activated": !has_left,
            "is_exited": false,
            "is_unjoin": false,
        },
        "department_ids": [department],
        "orders": [{ "department_id": department, "user_order": 0, "department_order": 1, "is_primary_dept": true }],
        "leader_user_id": "",
        "employee_type": 1,
        "job_title": "",
        "email": who.own_email(),
        "enterprise_email": who.email,
    });
    Ok(with_user_id(record, who, switches.no_user_id))
}
