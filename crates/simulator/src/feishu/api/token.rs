//! The token of the app in its tenant, by two calls: an app of one tenant has the same token for itself.

use std::time::Duration;

use serde_json::{Value, json};

use super::{FeishuCall, SERVER_ERROR};
use crate::feishu::endpoint::Endpoint;
use crate::feishu::refusal::Refused;
use crate::state::SimulatorState;
use crate::tokens::{Renewal, TokenRule};

/// The same token until half an hour before its end; then a new one, and both are valid.
const RULE: TokenRule =
    TokenRule { prefix: "t-", lifetime: Duration::from_hours(2), renewal: Renewal::Overlap(Duration::from_mins(30)) };

pub(super) fn get(ask: &FeishuCall<'_>, state: &mut SimulatorState) -> Result<Value, Refused> {
    let (call, fields) = (ask.call, ask.fields);
    let app_id = fields.non_empty("app_id").ok_or(10_003)?;
    let secret = fields.non_empty("app_secret").ok_or(10_003)?;
    if app_id != call.config.client_id {
        return Err(10_003.into());
    }
    if secret != call.config.secret {
        return Err(10_014.into());
    }
    let issued = state.tokens.issue(RULE, call.now, call.entropy);
    let (token, seconds) = issued.map_err(|_| SERVER_ERROR)?;
    let mut answer = json!({ "code": 0, "msg": "ok", "tenant_access_token": token, "expire": seconds });
    if let (Value::Object(fields), Endpoint::AppToken) = (&mut answer, ask.api) {
        fields.insert("app_access_token".to_owned(), token.into());
    }
    Ok(answer)
}
