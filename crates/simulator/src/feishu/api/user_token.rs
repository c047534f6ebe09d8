//! The exchange of a code for a token of the user, in all versions, and the profile of that user.

use std::time::Duration;

use deskpass_core::Digest;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{FeishuCall, SERVER_ERROR, insert, success, with_user_id};
use crate::address_book::Person;
use crate::codes::{CodeFailure, CodeGrant};
use crate::directory::PersonKind;
use crate::feishu::endpoint::Endpoint;
use crate::feishu::people;
use crate::feishu::refusal::Refused;
use crate::feishu::switches::FeishuSwitches;
use crate::state::SimulatorState;

const LIFETIME: Duration = Duration::from_hours(2);
/// The length of the signed part of a token. Tokens are long: a client that expects short ones must fail here, too.
const PAYLOAD_CHARS: usize = 1_400;

/// The newer versions: the app proves itself in the same call, and the answer is flat.
pub(super) fn flat(ask: &FeishuCall<'_>, state: &mut SimulatorState) -> Result<Value, Refused> {
    let (call, fields) = (ask.call, ask.fields);
    check_grant_type(ask)?;
    let client_id = fields.non_empty("client_id").ok_or(20_001)?;
    let secret = fields.non_empty("client_secret").ok_or(20_001)?;
    if client_id != call.config.client_id {
        return Err(20_048.into());
    }
    if secret != call.config.secret {
        return Err(20_002.into());
    }
    let grant = find(ask, state)?;
    if grant.redirect_uri.is_some() && grant.redirect_uri.as_deref() != fields.non_empty("redirect_uri") {
        return Err(20_071.into());
    }
    // Only the newest version refuses a verifier where the link had no challenge.
    let strict = ask.api == Endpoint::UserTokenV3;
    check_pkce(&grant, fields.non_empty("code_verifier"), strict)?;
    let token = issue(ask, state, &grant, &format!("eyJ{}.", "x".repeat(PAYLOAD_CHARS)))?;
    let seconds = LIFETIME.as_secs();
    Ok(json!({ "code": 0, "access_token": token, "expires_in": seconds, "token_type": "Bearer", "scope": "" }))
}

/// The older versions: the app proves itself by its token, and the answer is nested. The oldest one includes the profile.
pub(super) fn nested(ask: &FeishuCall<'_>, state: &mut SimulatorState) -> Result<Value, Refused> {
    check_grant_type(ask)?;
    let grant = find(ask, state)?;
    check_pkce(&grant, None, false)?;
    let token = issue(ask, state, &grant, "u-")?;
    let mut data = match ask.api {
        Endpoint::UserTokenV1 => profile(ask, &grant.who, &state.switches.feishu),
        _ => json!({}),
    };
    if let Value::Object(fields) = &mut data {
        insert(fields, "access_token", &token);
        insert(fields, "token_type", "Bearer");
        fields.insert("expires_in".to_owned(), LIFETIME.as_secs().into());
    }
    Ok(success(&data))
}

/// The profile of the user of a token.
pub(super) fn info(ask: &FeishuCall<'_>, who: &Person, switches: &FeishuSwitches) -> Value {
    success(&profile(ask, who, switches))
}

fn profile(ask: &FeishuCall<'_>, who: &Person, switches: &FeishuSwitches) -> Value {
    let picture = format!("https://avatars.example.com/{}.png", people::user_id(who));
    let profile = json!({
        "name": who.name,
        "en_name": who.name,
        "avatar_url": picture,
        "avatar_thumb": picture,
        "avatar_middle": picture,
        "avatar_big": picture,
        "open_id": people::open_id(who),
        "union_id": people::union_id(who),
        "tenant_key": people::tenant_key(who, ask.call.config),
    });
    with_user_id(profile, who, switches.no_user_id || who.kind == PersonKind::Outsider)
}

fn check_grant_type(ask: &FeishuCall<'_>) -> Result<(), Refused> {
    match ask.fields.non_empty("grant_type") {
        Some("authorization_code") => Ok(()),
        Some(_) => Err(20_036.into()),
        None => Err(20_001.into()),
    }
}

fn find(ask: &FeishuCall<'_>, state: &SimulatorState) -> Result<CodeGrant, Refused> {
    let code = ask.fields.non_empty("code").ok_or(20_001)?;
    state.codes.find(code, ask.call.now).cloned().map_err(code_refusal)
}

fn code_refusal(failure: CodeFailure) -> Refused {
    match failure {
        CodeFailure::Unknown => 20_003,
        CodeFailure::Used => 20_065,
        CodeFailure::Expired => 20_004,
    }
    .into()
}

fn check_pkce(grant: &CodeGrant, verifier: Option<&str>, strict: bool) -> Result<(), Refused> {
    let fits = match (&grant.challenge, verifier) {
        (Some(challenge), Some(verifier)) => challenge_of(verifier) == *challenge,
        (Some(_), None) => false,
        (None, Some(_)) => !strict,
        (None, None) => true,
    };
    if fits { Ok(()) } else { Err(20_049.into()) }
}

/// The challenge of a verifier by the method S256 (RFC 7636).
fn challenge_of(verifier: &str) -> String {
    Digest::from_bytes(Sha256::digest(verifier.as_bytes()).into()).to_text()
}

/// Uses the code up, and issues a token to a user who may use the app.
fn issue(ask: &FeishuCall<'_>, state: &mut SimulatorState, grant: &CodeGrant, prefix: &str) -> Result<String, Refused> {
    let (call, code) = (ask.call, ask.fields.non_empty("code").unwrap_or_default());
    state.codes.redeem(code, call.now).map_err(code_refusal)?;
    if grant.who.kind == PersonKind::Hidden && state.switches.feishu.limited_availability {
        return Err(20_010.into());
    }
    let issued = state.user_tokens.issue(prefix, grant.who.clone(), LIFETIME, call.now, call.entropy);
    issued.map_err(|_| SERVER_ERROR.into())
}
