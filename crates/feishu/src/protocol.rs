//! What is particular to the API of Feishu.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use deskpass_platform::client::{Api, ApiCall, ApiPurpose, ApiResponse, PlatformRefusal, Protocol, ResponseHeaders};
use deskpass_platform::{ErrorCode, Explanation, InvalidResponse, Meaning};
use serde_json::json;

use crate::api::{self, TENANT_TOKEN, USER_INFO};
use crate::errcode::{self, RATE_LIMITED, USER_ID_MISSING};
use crate::user_token::{self, UserToken};
use crate::{FeishuSettings, UserIdKind, identity};

/// The pause after a limit, unless the platform asks for another: limits are per minute.
const LIMIT_PAUSE: Duration = Duration::from_mins(1);
/// The pause after wrong credentials: doubled with each repetition, up to a maximum.
const CREDENTIALS_PAUSE: Duration = Duration::from_mins(1);
const MAX_CREDENTIALS_PAUSE: Duration = Duration::from_mins(10);
/// The documented maximum lifetime of the access token.
const MAX_TOKEN_LIFETIME: Duration = Duration::from_hours(2);
/// The code and the token of the outage probe, which belong to no user.
const PROBE_CODE: &str = "deskpass-is-looking";

/// The protocol of Feishu.
#[derive(Debug)]
pub(crate) struct FeishuProtocol(pub(crate) Arc<FeishuSettings>);

impl Protocol for FeishuProtocol {
    fn token_call(&self) -> ApiCall {
        let FeishuSettings { app_id, secret, hosts, .. } = &*self.0;
        let body = json!({ "app_id": app_id, "app_secret": secret });
        ApiCall::post(TENANT_TOKEN, &hosts.api, &api::path(TENANT_TOKEN, ""), body)
            .secret(secret.as_str())
            .without_token()
    }

    fn read_token(&self, response: &ApiResponse) -> Result<(String, Duration), InvalidResponse> {
        let missing = InvalidResponse::MissingField;
        let token = response.text("tenant_access_token").ok_or(missing("tenant_access_token"))?;
        let seconds = response.number("expire").and_then(|seconds| u64::try_from(seconds).ok());
        let lifetime = Duration::from_secs(seconds.ok_or(missing("expire"))?);
        Ok((token.to_owned(), lifetime.min(MAX_TOKEN_LIFETIME)))
    }

    fn with_token(&self, call: ApiCall, token: &str) -> ApiCall {
        call.header("authorization", format!("Bearer {token}")).secret(token)
    }

    /// Most refusals come with status 200 or 400; a page of a gateway also has such a status, but is not JSON.
    fn is_answer(&self, status: u16) -> bool {
        status == 200 || status >= 400
    }

    fn refusal(
        &self,
        status: u16,
        headers: ResponseHeaders<'_>,
        response: &ApiResponse,
    ) -> Result<Option<PlatformRefusal>, InvalidResponse> {
        if let (400..500, Ok(0), Some(word @ ("invalid_grant" | "invalid_client"))) =
            (status, response.code("code"), response.text("error"))
        {
            return Ok(Some(PlatformRefusal::new(ErrorCode::word(word), message(response))));
        }
        let code = match (status, response.code("code")) {
            (429, _) => RATE_LIMITED,
            (200, code) => code?,
            (_, Ok(code)) if code != 0 && (status < 500 || errcode::is_busy(code)) => code,
            // Only a refusal has another status than 200, and only a known one is more than a failure of a gateway.
            _ => return Err(InvalidResponse::Status(status)),
        };
        let mut refusal = if code != 0 {
            PlatformRefusal::new(code, message(response))
        } else if self.lacks_user_id(response) {
            PlatformRefusal::new(ErrorCode::word(USER_ID_MISSING), "the profile has no user_id")
        } else {
            return Ok(None);
        };
        refusal.hint = headers("x-tt-logid").filter(|id| is_log_id(id));
        if code == RATE_LIMITED {
            refusal.retry_after = headers("x-ogw-ratelimit-reset").and_then(|seconds| reset(&seconds));
        }
        if code == errcode::UNTRUSTED_ADDRESS {
            refusal.from_ip = refusal.message.split_whitespace().find_map(|word| word.parse::<IpAddr>().ok());
        }
        Ok(Some(refusal))
    }

    fn refusal_without_json(&self, status: u16, _body: &[u8]) -> Option<PlatformRefusal> {
        (status == 429).then(|| PlatformRefusal::new(RATE_LIMITED, ""))
    }

    fn meaning(&self, api: Api, code: &ErrorCode) -> Meaning {
        errcode::meaning(api, code)
    }

    fn pause(&self, api: Api, code: &ErrorCode, repeats: u32) -> Option<Duration> {
        if errcode::meaning(api, code) == Meaning::Limited {
            return Some(LIMIT_PAUSE);
        }
        let wrong = api.purpose == ApiPurpose::Token && errcode::is_wrong_credential(code);
        wrong.then(|| (CREDENTIALS_PAUSE * 2_u32.pow(repeats.min(8))).min(MAX_CREDENTIALS_PAUSE))
    }

    fn explain(&self, code: &ErrorCode) -> Explanation {
        errcode::explain(code)
    }

    /// One for each host.
    fn probe_calls(&self) -> Vec<ApiCall> {
        let profile = ApiCall::get(USER_INFO, &self.0.hosts.api, &api::path(USER_INFO, ""));
        let profile = self.with_token(profile, PROBE_CODE).without_token();
        vec![user_token::exchange(&self.0, PROBE_CODE, None, None).once(), profile.once()]
    }

    fn read_probe(&self, api: Api, response: &ApiResponse) -> Result<(), InvalidResponse> {
        if api == USER_INFO { identity::read(response, &self.0).map(drop) } else { UserToken::read(response).map(drop) }
    }

    /// A sign-in takes the App Secret itself, and the token of the user.
    fn sign_in_needs_token(&self) -> bool {
        false
    }
}

impl FeishuProtocol {
    /// Whether this is the profile of a member without the identifier by which members are known here. The platform leaves it
    /// out for all members when the application lacks a permission, so it is a refusal of all sign-ins, not a malformed answer.
    fn lacks_user_id(&self, response: &ApiResponse) -> bool {
        let Some(profile) = response.object("data").filter(|_| self.0.user_id == UserIdKind::UserId) else {
            return false;
        };
        // Members of other tenants never have one.
        let own = profile.text("tenant_key") == Some(self.0.tenant_key.as_str());
        own && profile.text("open_id").is_some() && profile.text("user_id").is_none()
    }
}

fn message(response: &ApiResponse) -> &str {
    ["msg", "error_description", "error"].into_iter().find_map(|name| response.text(name)).unwrap_or_default()
}

/// Whether a header is the number of a log entry at the platform, and not something that must not be logged.
fn is_log_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The pause until a limit is reset.
fn reset(seconds: &str) -> Option<Duration> {
    seconds.trim().parse().ok().map(|seconds: u64| Duration::from_secs(seconds.max(1)))
}
