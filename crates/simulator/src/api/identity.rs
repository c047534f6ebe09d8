//! `getuserinfo`: the user to whom a code belongs, with the new and the old field names.

use serde_json::json;

use super::{Call, JsonFields, fields};
use crate::directory::{PersonKind, SimulatedPerson};
use crate::errcode::Refused;
use crate::state::SimulatorState;

pub(super) fn auth_get_user_info(call: &Call<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let who = redeem(call, state)?;
    Ok(fields(match who.kind {
        PersonKind::Outsider => json!({ "openid": openid(who) }),
        _ => json!({ "userid": who.id }),
    }))
}

pub(super) fn user_get_user_info(call: &Call<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let who = redeem(call, state)?;
    Ok(fields(match who.kind {
        PersonKind::Outsider => json!({ "OpenId": openid(who), "DeviceId": "" }),
        _ => json!({ "UserId": who.id, "DeviceId": "" }),
    }))
}

fn redeem(call: &Call<'_>, state: &mut SimulatorState) -> Result<&'static SimulatedPerson, Refused> {
    let code = call.query.non_empty("code").ok_or(41008)?;
    state.codes.redeem(code, call.now).ok_or_else(|| 40029.into())
}

fn openid(who: &SimulatedPerson) -> String {
    format!("oSimulated_{}", who.id)
}
