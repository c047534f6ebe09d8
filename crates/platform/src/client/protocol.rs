//! What is particular to the API of a platform.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use super::api::{Api, ApiCall};
use super::response::ApiResponse;
use crate::{ErrorCode, Explanation, InvalidResponse, Meaning};

/// A refusal as the platform words it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformRefusal {
    /// The error code.
    pub code: ErrorCode,
    /// The platform's text: it is logged and never used for a decision.
    pub message: String,
    /// The reference that the platform's support asks for.
    pub hint: Option<String>,
    /// The address from which the platform saw the call come.
    pub from_ip: Option<IpAddr>,
    /// How long the platform asks to wait.
    pub retry_after: Option<Duration>,
}

impl PlatformRefusal {
    /// A refusal with a code and a text.
    #[must_use]
    pub fn new(code: impl Into<ErrorCode>, message: &str) -> Self {
        Self { code: code.into(), message: message.to_owned(), hint: None, from_ip: None, retry_after: None }
    }
}

/// The headers of a response, by lower-case name.
pub type ResponseHeaders<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What is particular to the API of a platform: how calls carry the access token, how refusals are worded, what they mean.
pub trait Protocol: fmt::Debug + Send + Sync {
    /// The call that exchanges the credentials for an access token.
    fn token_call(&self) -> ApiCall;

    /// The access token in a response, and its lifetime.
    fn read_token(&self, response: &ApiResponse) -> Result<(String, Duration), InvalidResponse>;

    /// Adds the access token to a call, and names it as a secret of the call.
    fn with_token(&self, call: ApiCall, token: &str) -> ApiCall;

    /// Whether a response with this HTTP status may be an answer of the API.
    fn is_answer(&self, status: u16) -> bool {
        status == 200
    }

    /// The refusal in a response, if it is one. Checked first: a refusal may contain the fields of a success.
    fn refusal(
        &self,
        status: u16,
        headers: ResponseHeaders<'_>,
        response: &ApiResponse,
    ) -> Result<Option<PlatformRefusal>, InvalidResponse>;

    /// The refusal in a response that is not a JSON object, such as a page that blocks this machine.
    fn refusal_without_json(&self, _status: u16, _body: &[u8]) -> Option<PlatformRefusal> {
        None
    }

    /// What an error code of an API means.
    fn meaning(&self, api: Api, code: &ErrorCode) -> Meaning;

    /// How long calls to an API pause after a refusal with this code, which was also the result of the last `repeats` calls.
    fn pause(&self, api: Api, code: &ErrorCode, repeats: u32) -> Option<Duration>;

    /// Explains an error code.
    fn explain(&self, code: &ErrorCode) -> Explanation;

    /// Calls that a sign-in makes, with parameters that belong to no user: one for each host that a sign-in needs.
    fn probe_calls(&self) -> Vec<ApiCall>;

    /// Whether a response to a probe of this API can be read.
    fn read_probe(&self, _api: Api, _response: &ApiResponse) -> Result<(), InvalidResponse> {
        Ok(())
    }

    /// Whether the organization pays for calls, or has a number of them: then fewer probes are made.
    fn is_metered(&self) -> bool {
        false
    }

    /// Whether a sign-in needs the access token of the application.
    fn sign_in_needs_token(&self) -> bool {
        true
    }

    /// Whether users cannot sign in after any refusal of an access token, even a limit.
    fn is_every_token_refusal_an_outage(&self) -> bool {
        false
    }
}
