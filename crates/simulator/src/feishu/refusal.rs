//! Refusals of the platform: a number in every case, with the words of OAuth where it follows OAuth.

use std::net::IpAddr;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::json;

use super::endpoint::Endpoint;
use crate::reply;

const LIMIT: HeaderName = HeaderName::from_static("x-ogw-ratelimit-limit");
const RESET: HeaderName = HeaderName::from_static("x-ogw-ratelimit-reset");

const RATE_LIMITED: i64 = 99_991_400;
/// The seconds until a limit ends, unless a switch says so.
const DEFAULT_RESET: u64 = 30;

/// A refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    code: i64,
    /// The seconds until a limit ends.
    reset: u64,
}

impl Refused {
    /// There were too many calls.
    pub(super) fn limited(reset: u64) -> Self {
        Self { code: RATE_LIMITED, reset }
    }
}

impl From<i64> for Refused {
    fn from(code: i64) -> Self {
        Self { code, reset: DEFAULT_RESET }
    }
}

/// The answer with which an API refuses.
pub(super) fn render(api: Endpoint, refused: Refused, peer: IpAddr) -> Response<Bytes> {
    let Refused { code, reset } = refused;
    tracing::debug!(api = api.name(), code, "the simulated platform refuses a call");
    let text = message(code, peer);
    let body = if api.speaks_oauth() {
        json!({ "code": code, "error": oauth_error(code), "error_description": text })
    } else {
        json!({ "code": code, "msg": text })
    };
    let mut response = reply::json(status(code), &body);
    if code == RATE_LIMITED {
        response.headers_mut().insert(LIMIT, HeaderValue::from_static("50"));
        response.headers_mut().insert(RESET, HeaderValue::from(reset));
    }
    response
}

fn status(code: i64) -> StatusCode {
    match code {
        // The call for the app's token refuses with a success.
        10_003 | 10_014 | 10_015 => StatusCode::OK,
        RATE_LIMITED => StatusCode::TOO_MANY_REQUESTS,
        20_050 => StatusCode::INTERNAL_SERVER_ERROR,
        20_072 => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}

fn oauth_error(code: i64) -> &'static str {
    match code {
        20_002 | 20_048 => "invalid_client",
        20_003 | 20_004 | 20_024 | 20_049 | 20_065 | 20_071 => "invalid_grant",
        20_010 => "access_denied",
        20_036 => "unsupported_grant_type",
        20_050 => "server_error",
        20_072 => "temporarily_unavailable",
        _ => "invalid_request",
    }
}

fn message(code: i64, peer: IpAddr) -> String {
    let text = match code {
        10_003 => "invalid param",
        10_014 => "app secret invalid",
        10_015 => "wrong app secret",
        20_001 => "The request is missing a required parameter.",
        20_002 => "The client secret is invalid.",
        20_003 => "The authorization code is not found. Please note that an authorization code can only be used once.",
        20_004 => "The authorization code has expired.",
        20_010 => "The user does not have permission to use this app.",
        20_024 => "The provided authorization code or refresh token does not match the provided client ID.",
        20_036 => "The specified grant_type is not supported.",
        20_048 => "The specified app does not exist.",
        20_049 => "PKCE code challenge failed.",
        20_050 => "An unexpected server error occurred. Please retry your request.",
        20_065 => "The authorization code has been used. Please note that an authorization code can only be used once.",
        20_071 => "The provided redirect URI does not match the one used during authorization.",
        20_072 => "The server is temporarily unavailable. Please retry your request.",
        40_001 => "invalid parameter",
        40_004 => "no dept authority error",
        40_011 => "page size is invalid",
        40_012 => "page token is invalid error",
        41_012 => "user id invalid error",
        41_050 => "no user authority",
        230_001 => "Your request contains an invalid request parameter.",
        230_006 => "Bot ability is not activated.",
        230_013 => "Bot has NO availability to this user.",
        230_025 => "The length of the message content reaches its limit.",
        230_031 => "Message can only be modified within 14 days after sending.",
        230_034 => "The receive_id is invalid.",
        230_099 => "Failed to create card content.",
        RATE_LIMITED => "request trigger frequency limit",
        99_991_401 => return format!("ip {peer} is denied by app setting"),
        99_991_661 => "Missing access token for authorization. Please make a request with token attached.",
        99_991_663 | 99_991_668 => "Invalid access token for authorization. Please make a request with token attached.",
        99_991_671 => "Invalid token: must start with t-/u-",
        99_991_672 => "Access denied. One of the following scopes is required: [contact:user.employee_id:readonly]",
        99_991_677 => "token expire",
        99_992_354 => "these ids not existed",
        _ => "unknown error",
    };
    text.to_owned()
}
