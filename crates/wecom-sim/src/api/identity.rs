//! `getuserinfo`: whom a code stands for, in the new spelling and in the old.

use serde_json::json;

use super::{Call, Fields, fields};
use crate::directory::{Kind, Somebody};
use crate::errcode::Refused;
use crate::simulator::State;

pub(super) fn new_spelling(call: &Call<'_>, state: &mut State) -> Result<Fields, Refused> {
    let who = redeem(call, state)?;
    Ok(fields(match who.kind {
        Kind::Outsider => json!({ "openid": openid(who) }),
        _ => json!({ "userid": who.id }),
    }))
}

pub(super) fn old_spelling(call: &Call<'_>, state: &mut State) -> Result<Fields, Refused> {
    let who = redeem(call, state)?;
    Ok(fields(match who.kind {
        Kind::Outsider => json!({ "OpenId": openid(who), "DeviceId": "" }),
        _ => json!({ "UserId": who.id, "DeviceId": "" }),
    }))
}

fn redeem(call: &Call<'_>, state: &mut State) -> Result<&'static Somebody, Refused> {
    let code = call.query.given("code").ok_or(41008)?;
    state.codes.redeem(code, call.now).ok_or_else(|| 40029.into())
}

fn openid(who: &Somebody) -> String {
    format!("oSimulated_{}", who.id)
}
