//! What is particular to the API of the platform.

use std::fmt;
use std::time::Duration;

use deskpass_platform::client::{Api, ApiCall, ApiResponse, PlatformRefusal, Protocol, ResponseHeaders};
use deskpass_platform::{ErrorCode, Explanation, InvalidResponse, Meaning};
use serde_json::json;
use url::Url;

use crate::{api, errcode, refusal};

/// A unionId that belongs to no user, and a code.
const NO_UNION_ID: &str = "deskpass-probe";
const NO_CODE: &str = "deskpass-probe";

/// How the platform is called.
pub(crate) struct DingtalkProtocol {
    pub(crate) corp_id: String,
    pub(crate) client_id: String,
    pub(crate) secret: String,
    pub(crate) api: Url,
    pub(crate) legacy_api: Url,
}

impl fmt::Debug for DingtalkProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DingtalkProtocol").field("corp_id", &self.corp_id).finish_non_exhaustive()
    }
}

/// The call that looks up a unionId, with one that belongs to no user: it fails wherever a sign-in would fail.
pub(crate) fn probe(legacy_api: &Url) -> ApiCall {
    ApiCall::post(api::BY_UNION_ID, legacy_api, api::BY_UNION_ID.name, json!({ "unionid": NO_UNION_ID }))
}

impl Protocol for DingtalkProtocol {
    fn token_call(&self) -> ApiCall {
        let body = json!({
            "client_id": self.client_id,
            "client_secret": self.secret,
            "grant_type": "client_credentials",
        });
        let path = format!("v1.0/oauth2/{}/token", self.corp_id);
        ApiCall::post(api::TOKEN, &self.api, &path, body).without_token().secret(&self.secret)
    }

    fn read_token(&self, response: &ApiResponse) -> Result<(String, Duration), InvalidResponse> {
        let token = response.text("access_token").ok_or(InvalidResponse::MissingField("access_token"))?;
        let lifetime = response.number("expires_in").and_then(|seconds| u64::try_from(seconds).ok());
        let lifetime = lifetime.ok_or(InvalidResponse::MissingField("expires_in"))?;
        Ok((token.to_owned(), Duration::from_secs(lifetime)))
    }

    /// All calls with this token go to the older API, which takes it from the query. The newer one takes it from a header.
    fn with_token(&self, call: ApiCall, token: &str) -> ApiCall {
        call.query("access_token", token).secret(token)
    }

    fn refusal(
        &self,
        _status: u16,
        _headers: ResponseHeaders<'_>,
        response: &ApiResponse,
    ) -> Result<Option<PlatformRefusal>, InvalidResponse> {
        refusal::in_success(response)
    }

    fn refusal_without_json(&self, status: u16, body: &[u8]) -> Option<PlatformRefusal> {
        refusal::in_failure(status, body)
    }

    fn meaning(&self, api: Api, code: &ErrorCode) -> Meaning {
        errcode::meaning(api, code)
    }

    fn pause(&self, api: Api, code: &ErrorCode, repeats: u32) -> Option<Duration> {
        errcode::pause(api, code, repeats)
    }

    fn explain(&self, code: &ErrorCode) -> Explanation {
        errcode::explain(code)
    }

    /// The organization has a number of calls for each month.
    fn is_metered(&self) -> bool {
        true
    }

    /// One for each host. The older API comes first: it also shows that the access token is accepted.
    fn probe_calls(&self) -> Vec<ApiCall> {
        let body = json!({
            "clientId": self.client_id,
            "clientSecret": self.secret,
            "code": NO_CODE,
            "grantType": "authorization_code",
        });
        let newer = ApiCall::post(api::USER_TOKEN, &self.api, api::USER_TOKEN.name, body);
        vec![probe(&self.legacy_api).once(), newer.without_token().secret(&self.secret).once()]
    }
}
