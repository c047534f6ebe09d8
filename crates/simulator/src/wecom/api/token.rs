//! `gettoken`: the app authenticates with its secret.

use std::time::Duration;

use serde_json::json;

use super::{JsonFields, fields};
use crate::call::ApiCall;
use crate::state::SimulatorState;
use crate::tokens::{Renewal, TokenRule};
use crate::wecom::errcode::Refused;

/// The same token until it expires.
const RULE: TokenRule = TokenRule { prefix: "", lifetime: Duration::from_hours(2), renewal: Renewal::Same };

pub(super) fn get(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let corp_id = call.query.non_empty("corpid").ok_or(41002)?;
    let secret = call.query.non_empty("corpsecret").ok_or(41004)?;
    if corp_id != call.config.corp_id {
        return Err(40013.into());
    }
    if secret != call.config.secret {
        return Err(40001.into());
    }
    let (token, expires_in) = state.tokens.issue(RULE, call.now, call.entropy).map_err(|_| -1)?;
    Ok(fields(json!({ "access_token": token, "expires_in": expires_in })))
}
