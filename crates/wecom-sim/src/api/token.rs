//! `gettoken`: the app proves itself with its secret.

use serde_json::json;

use super::{Call, Fields, fields};
use crate::errcode::Refused;
use crate::simulator::State;

pub(super) fn get(call: &Call<'_>, state: &mut State) -> Result<Fields, Refused> {
    let corp_id = call.query.given("corpid").ok_or(41002)?;
    let secret = call.query.given("corpsecret").ok_or(41004)?;
    if corp_id != call.world.corp_id {
        return Err(40013.into());
    }
    if secret != call.world.secret {
        return Err(40001.into());
    }
    let (token, expires_in) = state.tokens.hand_out(call.now, call.entropy).map_err(|_| -1)?;
    Ok(fields(json!({ "access_token": token, "expires_in": expires_in })))
}
