//! Who a code stands for: by way of a token of the user for codes of the login page, directly for codes of the script.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{BAD_PARAMETER, JsonFields, body, fields, text};
use crate::address_book::{AddressBook, Person};
use crate::call::ApiCall;
use crate::codes::CodeKind;
use crate::dingtalk::people;
use crate::dingtalk::refusal::Refused;
use crate::directory::PersonKind;
use crate::state::SimulatorState;
use crate::tokens::{TokenFailure, random_token};

const USER_TOKEN_LIFETIME: Duration = Duration::from_hours(2);
const TOKEN_HEADER: &str = "x-acs-dingtalk-access-token";
/// The code is unknown, used, expired, or of the other kind.
const NO_SUCH_CODE: i64 = 40078;
const NO_SUCH_CODE_WORD: &str = "invalidParameter.authCode.notFound";

/// Exchanges a code of the login page for a token of the user.
pub(super) fn user_token(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let body = body(call)?;
    let is = |name: &str, wanted: &str| text(&body, name) == Some(wanted);
    if !is("clientId", &call.config.client_id) || !is("clientSecret", &call.config.secret) {
        return Err("invalidClientIdOrSecret".into());
    }
    if !is("grantType", "authorization_code") {
        return Err("invalidParameter".into());
    }
    let code = text(&body, "code").unwrap_or_default();
    let who = redeem(code, CodeKind::Browser, call, state).ok_or_else(|| Refused::from(NO_SUCH_CODE_WORD))?;
    let busy = || Refused::from("unknownError");
    let token =
        state.user_tokens.issue("", who.clone(), USER_TOKEN_LIFETIME, call.now, call.entropy).map_err(|_| busy())?;
    let refresh_token = random_token("", call.entropy).map_err(|_| busy())?;
    let expires_in = USER_TOKEN_LIFETIME.as_secs();
    let answer = json!({ "accessToken": token, "refreshToken": refresh_token, "expireIn": expires_in });
    let mut answer = fields(answer);
    if state.dingtalk.tells_corp(code) {
        answer.insert("corpId".to_owned(), people::corp_id(call.config, &who).into());
    }
    Ok(answer)
}

/// The user of a token, under the name that users give themselves.
pub(super) fn me(call: &ApiCall<'_>, state: &SimulatorState) -> Result<JsonFields, Refused> {
    let token = call.headers.get(TOKEN_HEADER).and_then(|token| token.to_str().ok());
    let token = token.filter(|token| !token.is_empty());
    let who = state.user_tokens.check(token, call.now).map_err(|failure| match failure {
        TokenFailure::Missing => Refused::from("AuthenticationFailed.MissingParameter"),
        TokenFailure::Unknown => Refused::from("InvalidAuthentication"),
        TokenFailure::Expired => Refused::from("accesstoken.expired"),
    })?;
    Ok(fields(json!({
        "nick": people::nick(&who),
        "unionId": people::union_id(&who),
        "openId": people::open_id(&who),
        "stateCode": "86",
        "avatarUrl": "",
    })))
}

/// The corporation's id of a user: also of an external contact.
pub(super) fn by_union_id(call: &ApiCall<'_>, book: &AddressBook) -> Result<JsonFields, Refused> {
    let body = body(call)?;
    let union_id = text(&body, "unionid").ok_or(BAD_PARAMETER)?;
    let who = people::by_union_id(union_id, book).ok_or(60121)?;
    let contact_type = match who.kind {
        PersonKind::Member | PersonKind::Disabled | PersonKind::Hidden => 0,
        PersonKind::Outsider => 1,
        PersonKind::Left | PersonKind::Partner => return Err(60121.into()),
    };
    Ok(fields(json!({ "result": { "userid": who.id, "contact_type": contact_type } })))
}

/// Exchanges a code of the script for a member.
pub(super) fn user_info(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let body = body(call)?;
    let code = text(&body, "code").unwrap_or_default();
    let who = redeem(code, CodeKind::Script, call, state).ok_or(NO_SUCH_CODE)?;
    Ok(fields(json!({ "result": {
        "userid": who.id,
        "unionid": people::union_id(&who),
        "associated_unionid": people::union_id(&who),
        "name": who.name,
        "device_id": "simulated",
        "sys": false,
        "sys_level": 0,
    } })))
}

/// The user of a valid code of this kind. A code of the other kind stays valid.
fn redeem(code: &str, kind: CodeKind, call: &ApiCall<'_>, state: &mut SimulatorState) -> Option<Arc<Person>> {
    state.codes.find(code, call.now).ok().filter(|grant| grant.kind == kind)?;
    state.codes.redeem(code, call.now).ok().map(|grant| grant.who)
}
