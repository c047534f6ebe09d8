//! The platform's protocol: how calls carry the access token, how refusals are worded, what they mean.

use std::fmt;
use std::time::Duration;

use deskpass_platform::client::{
    Api, ApiCall, ApiResponse, PlatformRefusal, Protocol, ResponseHeaders, is_visible_ascii,
};
use deskpass_platform::{ErrorCode, Explanation, InvalidResponse, Meaning};
use serde_json::Value;
use url::Url;

use crate::api::{TOKEN, USER_INFO};
use crate::{errcode, error_message, identity};

/// A code that belongs to no user.
const PROBE_CODE: &str = "deskpass-is-looking";

/// The API of one corporation's application.
pub(crate) struct WecomProtocol {
    pub(crate) api: Url,
    pub(crate) corp_id: String,
    pub(crate) secret: String,
}

impl WecomProtocol {
    pub(crate) fn get(&self, api: Api) -> ApiCall {
        ApiCall::get(api, &self.api, &path(api))
    }

    pub(crate) fn post(&self, api: Api, body: Value) -> ApiCall {
        ApiCall::post(api, &self.api, &path(api), body)
    }
}

fn path(api: Api) -> String {
    format!("cgi-bin/{}", api.name)
}

impl Protocol for WecomProtocol {
    fn token_call(&self) -> ApiCall {
        let call = self.get(TOKEN).query("corpid", &self.corp_id).query("corpsecret", &self.secret);
        call.secret(self.secret.as_str()).without_token()
    }

    fn read_token(&self, response: &ApiResponse) -> Result<(String, Duration), InvalidResponse> {
        let value = response.text("access_token").filter(|value| is_visible_ascii(value));
        let value = value.ok_or(InvalidResponse::MissingField("access_token"))?.to_owned();
        let seconds = response.number("expires_in").and_then(|seconds| u64::try_from(seconds).ok());
        let life = seconds.filter(|seconds| *seconds > 0).ok_or(InvalidResponse::MissingField("expires_in"))?;
        Ok((value, Duration::from_secs(life)))
    }

    fn with_token(&self, call: ApiCall, token: &str) -> ApiCall {
        call.query_first("access_token", token).secret(token)
    }

    fn refusal(
        &self,
        _status: u16,
        _headers: ResponseHeaders<'_>,
        response: &ApiResponse,
    ) -> Result<Option<PlatformRefusal>, InvalidResponse> {
        let code = response.code("errcode")?;
        if code == 0 {
            return Ok(None);
        }
        let text = response.text("errmsg").unwrap_or_default();
        let (hint, from_ip) = (error_message::hint(text), error_message::address(text));
        Ok(Some(PlatformRefusal { hint, from_ip, ..PlatformRefusal::new(code, text) }))
    }

    fn meaning(&self, api: Api, code: &ErrorCode) -> Meaning {
        // The platform has no codes that are words.
        code.number().map_or(Meaning::Administrator, |code| errcode::meaning(api, code))
    }

    fn pause(&self, api: Api, code: &ErrorCode, repeats: u32) -> Option<Duration> {
        errcode::pause(api, code.number()?, repeats)
    }

    fn explain(&self, code: &ErrorCode) -> Explanation {
        errcode::explain(code.number().unwrap_or_default())
    }

    fn probe_calls(&self) -> Vec<ApiCall> {
        vec![self.get(USER_INFO).query("code", PROBE_CODE)]
    }

    /// Only this service asks for tokens, so no client can cause a limit on them.
    fn is_every_token_refusal_an_outage(&self) -> bool {
        true
    }

    fn read_probe(&self, _api: Api, response: &ApiResponse) -> Result<(), InvalidResponse> {
        identity::read(response).map(drop)
    }
}

impl fmt::Debug for WecomProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WecomProtocol").field("corp_id", &self.corp_id).finish_non_exhaustive()
    }
}
