//! The app authenticates with its secret: the call that is recommended today, and its two predecessors.

use std::time::Duration;

use serde_json::json;

use super::{JsonFields, body, fields, text};
use crate::call::ApiCall;
use crate::dingtalk::endpoint;
use crate::dingtalk::refusal::Refused;
use crate::state::SimulatorState;
use crate::tokens::{Renewal, TokenRule};

/// The same token, which every call makes valid for two hours again.
const RULE: TokenRule = TokenRule { prefix: "", lifetime: Duration::from_hours(2), renewal: Renewal::Extend };

pub(super) fn of_corp(call: &ApiCall<'_>, path: &str, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    // The platform's answer to another corporation's id does not name the cause.
    if endpoint::corp_id(path) != Some(call.config.corp_id.as_str()) {
        return Err("unknownError".into());
    }
    let body = body(call)?;
    let is = |name: &str, wanted: &str| text(&body, name) == Some(wanted);
    if !is("client_id", &call.config.client_id) || !is("client_secret", &call.config.secret) {
        return Err("invalid.client".into());
    }
    if !is("grant_type", "client_credentials") {
        return Err("invalidParameter".into());
    }
    let (token, expires_in) = issue(call, state).ok_or_else(|| Refused::from("unknownError"))?;
    Ok(fields(json!({ "access_token": token, "expires_in": expires_in })))
}

pub(super) fn of_app(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let body = body(call)?;
    let is = |name: &str, wanted: &str| text(&body, name) == Some(wanted);
    if !is("appKey", &call.config.client_id) || !is("appSecret", &call.config.secret) {
        return Err("invalidClientIdOrSecret".into());
    }
    let (token, expires_in) = issue(call, state).ok_or_else(|| Refused::from("unknownError"))?;
    Ok(fields(json!({ "accessToken": token, "expireIn": expires_in })))
}

pub(super) fn older(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    if call.query.non_empty("appkey") != Some(call.config.client_id.as_str()) {
        return Err(40096.into());
    }
    if call.query.non_empty("appsecret") != Some(call.config.secret.as_str()) {
        return Err(40089.into());
    }
    let (token, expires_in) = issue(call, state).ok_or(Refused::Number(-1))?;
    Ok(fields(json!({ "access_token": token, "expires_in": expires_in })))
}

fn issue(call: &ApiCall<'_>, state: &mut SimulatorState) -> Option<(String, u64)> {
    state.tokens.issue(RULE, call.now, call.entropy).ok()
}
