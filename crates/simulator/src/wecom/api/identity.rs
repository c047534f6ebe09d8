//! `getuserinfo`: the user to whom a code belongs, with the new and the old field names. `convert_to_openid`: the identifier of a
//! member for payments.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{JsonFields, contacts, fields};
use crate::address_book::Person;
use crate::call::ApiCall;
use crate::directory::PersonKind;
use crate::state::SimulatorState;
use crate::wecom::errcode::Refused;

pub(super) fn auth_get_user_info(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let who = redeem(call, state)?;
    Ok(fields(match who.kind {
        PersonKind::Outsider => json!({ "openid": openid(&who) }),
        _ => json!({ "userid": who.id }),
    }))
}

pub(super) fn user_get_user_info(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let who = redeem(call, state)?;
    Ok(fields(match who.kind {
        PersonKind::Outsider => json!({ "OpenId": openid(&who), "DeviceId": "" }),
        _ => json!({ "UserId": who.id, "DeviceId": "" }),
    }))
}

pub(super) fn convert_to_openid(call: &ApiCall<'_>, state: &SimulatorState) -> Result<JsonFields, Refused> {
    let ask: Value = serde_json::from_slice(call.body).map_err(|_| 40058)?;
    let id = ask.get("userid").and_then(Value::as_str).filter(|id| !id.is_empty()).ok_or(41009)?;
    let who = contacts::find(id, state)?;
    Ok(fields(json!({ "openid": openid(&who) })))
}

fn redeem(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<Arc<Person>, Refused> {
    let code = call.query.non_empty("code").ok_or(41008)?;
    state.codes.redeem(code, call.now).map(|grant| grant.who).map_err(|_| 40029.into())
}

fn openid(who: &Person) -> String {
    format!("oSimulated_{}", who.first_id)
}
