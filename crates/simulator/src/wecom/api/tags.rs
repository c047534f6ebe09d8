//! Tags, which members and departments have.

use serde_json::json;

use super::{JsonFields, fields};
use crate::address_book::AddressBook;
use crate::call::ApiCall;
use crate::wecom::errcode::Refused;

pub(super) fn list(book: &AddressBook) -> JsonFields {
    let list: Vec<_> = book.tags().iter().map(|tag| json!({ "tagid": tag.id, "tagname": tag.name })).collect();
    fields(json!({ "taglist": list }))
}

/// The visible members of a tag, and its departments.
pub(super) fn get(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let id = call.query.non_empty("tagid").and_then(|id| id.parse().ok());
    let tag = id.and_then(|id| book.tag(id)).ok_or(40068)?;
    let users: Vec<_> = book.tagged(tag.id).iter().map(|who| json!({ "userid": who.id, "name": who.name })).collect();
    Ok(fields(json!({ "tagname": tag.name, "userlist": users, "partylist": tag.departments })))
}
