//! `agent/get`: the app as its administrator configured it. `getcallbackip`: the addresses that call the app.

use serde_json::json;

use super::{JsonFields, fields};
use crate::address_book::AddressBook;
use crate::call::ApiCall;
use crate::wecom::errcode::Refused;

pub(super) fn get(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let agent_id = call.query.non_empty("agentid").ok_or(41011)?;
    let number: u64 = agent_id.parse().map_err(|_| 40056)?;
    if agent_id != call.config.agent_id {
        return Err(301_002.into());
    }
    // Generated members are in the range by their departments.
    let listed = book.listed();
    let members = listed.iter().filter(|who| who.kind.is_in_range());
    let users: Vec<_> = members.map(|who| json!({ "userid": who.id })).collect();
    let parties: Vec<_> = book.departments().iter().map(|department| department.id).collect();
    Ok(fields(json!({
        "agentid": number,
        "name": "Deskpass",
        "description": "",
        "square_logo_url": "",
        "allow_userinfos": { "user": users },
        "allow_partys": { "partyid": parties },
        "allow_tags": { "tagid": [] },
        "close": 0,
        "redirect_domain": call.config.domains.first(),
        "report_location_flag": 0,
        "isreportenter": 0,
        "home_url": "",
    })))
}

/// Callbacks come from this machine.
pub(super) fn callback_addresses() -> JsonFields {
    fields(json!({ "ip_list": ["127.0.0.1", "::1"] }))
}
