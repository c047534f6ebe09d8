//! `gettoken`: the app authenticates with its secret.

use serde_json::json;

use super::{Call, JsonFields, fields};
use crate::errcode::Refused;
use crate::state::SimulatorState;

pub(super) fn get(call: &Call<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let corp_id = call.query.non_empty("corpid").ok_or(41002)?;
    let secret = call.query.non_empty("corpsecret").ok_or(41004)?;
    if corp_id != call.config.corp_id {
        return Err(40013.into());
    }
    if secret != call.config.secret {
        return Err(40001.into());
    }
    let (token, expires_in) = state.tokens.issue(call.now, call.entropy).map_err(|_| -1)?;
    Ok(fields(json!({ "access_token": token, "expires_in": expires_in })))
}
