//! Members, and what the app may see of the directory.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{FeishuCall, departments, pages, success, with_user_id};
use crate::address_book::{AddressBook, Person};
use crate::directory::PersonKind;
use crate::feishu::people;
use crate::feishu::refusal::Refused;
use crate::feishu::switches::FeishuSwitches;

/// The record of a member. One who left can still be read.
pub(super) fn user(ask: &FeishuCall<'_>, book: &AddressBook, switches: &FeishuSwitches) -> Result<Value, Refused> {
    let kind = user_id_kind(ask, switches)?;
    let who = people::find(kind, ask.id, book).filter(|who| who.kind.is_own()).ok_or(41_012)?;
    // The contact scope is a setting of its own: the user may use the app all the same.
    if who.kind == PersonKind::Hidden {
        return Err(41_050.into());
    }
    Ok(success(&json!({ "user": record(ask, &who, switches)? })))
}

/// The members of a department, without those of its children.
pub(super) fn members(ask: &FeishuCall<'_>, book: &AddressBook, switches: &FeishuSwitches) -> Result<Value, Refused> {
    user_id_kind(ask, switches)?;
    let department = departments::find(ask, book, ask.call.query.non_empty("department_id").ok_or(40_001)?)?.id;
    let is_in = |who: &&Arc<Person>| who.kind.is_in_range() && who.department_id == department;
    let items: Result<Vec<_>, _> = book.people().filter(is_in).map(|who| record(ask, who, switches)).collect();
    pages::page(ask, &items?)
}

/// What the app may see: with all members in its scope, what is right below the tenant.
pub(super) fn scopes(ask: &FeishuCall<'_>, book: &AddressBook, switches: &FeishuSwitches) -> Result<Value, Refused> {
    user_id_kind(ask, switches)?;
    let departments = departments::topmost(ask, book)?;
    Ok(success(&json!({ "department_ids": departments, "user_ids": [], "group_ids": [], "has_more": false })))
}

/// The kind of identifiers that the call names. Without the permission to read user ids there is no naming them either; with
/// which error the platform says so is not documented.
fn user_id_kind<'a>(ask: &FeishuCall<'a>, switches: &FeishuSwitches) -> Result<&'a str, Refused> {
    let kind = ask.call.query.non_empty("user_id_type").unwrap_or("open_id");
    check_user_id_kind(kind, switches).map(|()| kind)
}

pub(super) fn check_user_id_kind(kind: &str, switches: &FeishuSwitches) -> Result<(), Refused> {
    match kind {
        "user_id" if switches.no_user_id => Err(99_991_672.into()),
        "open_id" | "union_id" | "user_id" => Ok(()),
        _ => Err(40_001.into()),
    }
}

fn record(ask: &FeishuCall<'_>, who: &Person, switches: &FeishuSwitches) -> Result<Value, Refused> {
    let picture = format!("https://avatars.example.com/{}.png", who.id);
    let department = departments::id(ask, who.department_id)?;
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
            "is_frozen": who.kind == PersonKind::Disabled,
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
