//! Roles, as this platform calls tags: they are in groups, and only members have them.

use serde_json::json;

use super::{BAD_PARAMETER, JsonFields, body, fields, number};
use crate::address_book::AddressBook;
use crate::call::ApiCall;
use crate::dingtalk::refusal::Refused;

const DEFAULT_SIZE: usize = 20;
const MAX_ROLES: usize = 200;
const MAX_MEMBERS: usize = 100;

/// The roles, of which `offset` and `size` count single ones. A group without any of them is left out.
pub(super) fn list(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let (offset, size) = part(&body(call)?, MAX_ROLES)?;
    let tags = book.tags();
    let roles: Vec<_> =
        tags.iter().skip(offset).take(size).map(|tag| json!({ "id": tag.id, "name": tag.name })).collect();
    let more = offset.saturating_add(roles.len()) < tags.len();
    let groups = if roles.is_empty() { json!([]) } else { json!([{ "groupId": 1, "name": "Roles", "roles": roles }]) };
    Ok(fields(json!({ "result": { "hasMore": more, "list": groups } })))
}

/// The members with a role.
pub(super) fn members(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let body = body(call)?;
    let role = number(&body, "role_id").and_then(|id| u32::try_from(id).ok()).and_then(|id| book.tag(id));
    let people = book.tagged_at_all(role.ok_or(BAD_PARAMETER)?);
    let (offset, size) = part(&body, MAX_MEMBERS)?;
    let list: Vec<_> =
        people.iter().skip(offset).take(size).map(|who| json!({ "userid": who.id, "name": who.name })).collect();
    let next = offset.saturating_add(list.len());
    let mut result = fields(json!({ "hasMore": next < people.len(), "list": list }));
    if next < people.len() {
        result.insert("nextCursor".to_owned(), next.into());
    }
    Ok(fields(json!({ "result": result })))
}

/// The part of a list that a call wants.
fn part(body: &JsonFields, max_size: usize) -> Result<(usize, usize), Refused> {
    let value = |name: &str, default: usize| match number(body, name) {
        Some(value) => usize::try_from(value).map_err(|_| Refused::Number(BAD_PARAMETER)),
        None => Ok(default),
    };
    let (offset, size) = (value("offset", 0)?, value("size", DEFAULT_SIZE)?);
    if (1..=max_size).contains(&size) { Ok((offset, size)) } else { Err(BAD_PARAMETER.into()) }
}
