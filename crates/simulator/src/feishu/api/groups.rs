//! User groups, as this platform calls tags.

use serde_json::{Value, json};

use super::{FeishuCall, contacts, departments, pages};
use crate::address_book::{AddressBook, Person, Tag};
use crate::feishu::people;
use crate::feishu::refusal::Refused;
use crate::feishu::switches::FeishuSwitches;

const MAX_SIZE: usize = 100;
/// With which error the platform refuses a group that does not exist is not documented.
const NO_SUCH_GROUP: i64 = 40_001;

pub(super) fn list(ask: &FeishuCall<'_>, book: &AddressBook) -> Result<Value, Refused> {
    let shape = |tag: &Tag| {
        let users = book.tagged(tag.id).len();
        json!({
            "id": group_id(tag),
            "name": tag.name,
            "description": "",
            "member_user_count": users,
            "member_department_count": tag.departments.len(),
            "type": 1,
        })
    };
    let groups: Vec<_> = book.tags().iter().map(shape).collect();
    pages::named_page(ask, "grouplist", MAX_SIZE, &groups)
}

/// The users or the departments of a group: a call lists one kind.
pub(super) fn members(ask: &FeishuCall<'_>, book: &AddressBook, switches: &FeishuSwitches) -> Result<Value, Refused> {
    let tag = book.tags().iter().find(|tag| group_id(tag) == ask.id).ok_or(NO_SUCH_GROUP)?;
    let query = ask.call.query;
    let kind = query.non_empty("member_type").unwrap_or("user");
    let id_kind = query.non_empty("member_id_type").unwrap_or("open_id");
    let ids: Vec<String> = match kind {
        "user" => {
            contacts::check_user_id_kind(id_kind, switches)?;
            book.tagged(tag.id).iter().map(|who| user_id(who, id_kind)).collect()
        }
        "department" => tag.departments.iter().map(|id| department_id(*id, id_kind)).collect::<Result<_, _>>()?,
        _ => return Err(40_001.into()),
    };
    let shape = |id: &String| json!({ "member_id": id, "member_type": kind, "member_id_type": id_kind });
    let members: Vec<_> = ids.iter().map(shape).collect();
    pages::named_page(ask, "memberlist", MAX_SIZE, &members)
}

fn group_id(tag: &Tag) -> String {
    format!("g{}", tag.id)
}

fn user_id(who: &Person, kind: &str) -> String {
    match kind {
        "user_id" => people::user_id(who).to_owned(),
        "union_id" => people::union_id(who),
        _ => people::open_id(who),
    }
}

/// For departments, the open id is the one that the platform made.
fn department_id(id: u32, kind: &str) -> Result<String, Refused> {
    match kind {
        "open_id" | "open_department_id" => Ok(departments::open_id(id)),
        "department_id" => Ok(departments::custom_id(id)),
        _ => Err(40_001.into()),
    }
}
