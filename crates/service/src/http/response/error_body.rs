//! The body of an error response: status, code, and message in the client's language.

use deskpass_auth::{Refusal, whole_seconds};
use deskpass_core::Reference;
use deskpass_core::oidc::{OAuthError, OAuthErrorCode};
use deskpass_platform::PlatformKind;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, RETRY_AFTER, SEC_WEBSOCKET_VERSION, UPGRADE, WWW_AUTHENTICATE};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::config::Language;
use crate::http::error::{ApiError, BadRequest, ErrorInfo, FieldError, FieldErrors};
use crate::platform_name::with_platform_name;

/// The challenge for a one-time password, as RFC 9470 defines it.
const OTP_CHALLENGE: HeaderValue = HeaderValue::from_static(
    "Bearer error=\"insufficient_user_authentication\", \
     error_description=\"a fresh one-time password is needed in X-OTP-Code\", acr_values=\"otp\"",
);

/// The same for an approval of the phone, where nothing else counts.
const APPROVAL_CHALLENGE: HeaderValue = HeaderValue::from_static(
    "Bearer error=\"insufficient_user_authentication\", \
     error_description=\"an approval of the phone is needed in X-Approval\", acr_values=\"phone\"",
);

/// `Retry-After` of a lockout that only an administrator ends: a day, in seconds.
const LOCKED_RETRY_SECONDS: u64 = 86_400;

/// A rendered error.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorBody {
    #[serde(skip)]
    pub(crate) status: StatusCode,
    pub(crate) code: u16,
    pub(crate) message: String,
    pub(crate) data: Value,
    /// The headers that HTTP requires with it.
    #[serde(skip)]
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

/// The context that rendering an error needs: the client's language, the platform that messages name, the route's error title, the
/// reference in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorContext {
    pub(crate) language: Language,
    pub(crate) platform: PlatformKind,
    pub(crate) error_title: [&'static str; 2],
    pub(crate) reference: Reference,
}

impl ErrorContext {
    /// A text with the name of the platform filled in.
    fn named(self, text: String) -> String {
        with_platform_name(text, self.platform, self.language)
    }
}

impl ApiError {
    pub(crate) fn render(&self, context: ErrorContext) -> ErrorBody {
        let ErrorContext { language, error_title, reference, .. } = context;
        let ErrorInfo { status, code, reason, texts } = self.info();
        let text = language.of(texts);
        let message = match self {
            Self::Internal(..) | Self::NotReady(_) | Self::TooManyConnections | Self::TooManyBodies => {
                let [english, chinese] = error_title;
                language.of([
                    format!("{english}: {text} (ref {reference})"),
                    format!("{chinese}：{text}（参考编号 {reference}）"),
                ])
            }
            _ => text.into_owned(),
        };
        let reason = reason.map(|reason| json!({ "reason": reason }));
        let data = self.data(context).or(reason).unwrap_or(Value::Null);
        ErrorBody { status, code, message: context.named(message), data, headers: self.headers(status) }
    }

    /// The data that programs get instead of a reason.
    fn data(&self, context: ErrorContext) -> Option<Value> {
        let field = |name: &str, problem| json!({ "fields": { name: context.language.of::<&str>(problem) } });
        match self {
            Self::NotReady(state) => Some(json!(state)),
            Self::Refused(refusal) => refusal.password_problem().map(|problem| field("password", problem)),
            Self::BadRequest(BadRequest::Fields(problems)) => Some(json!({ "fields": fields(problems, context) })),
            Self::BadRequest(BadRequest::HandshakeKey) => Some(field(
                "sec-websocket-key",
                ["must be 16 bytes in base64, once", "必须是 16 字节的 base64，且只出现一次"],
            )),
            Self::BadRequest(BadRequest::RepeatedAuthorization) => {
                Some(field("authorization", ["must be sent once", "只能出现一次"]))
            }
            _ => None,
        }
    }

    fn headers(&self, status: StatusCode) -> Vec<(HeaderName, HeaderValue)> {
        let retry_after = |seconds: u64| vec![(RETRY_AFTER, seconds.into())];
        match self {
            Self::Refused(Refusal::OtpNeeded) => vec![(WWW_AUTHENTICATE, OTP_CHALLENGE)],
            Self::Refused(Refusal::ApprovalNeeded) => vec![(WWW_AUTHENTICATE, APPROVAL_CHALLENGE)],
            Self::Refused(
                Refusal::RateLimited(wait) | Refusal::TooManyFailures(wait) | Refusal::ApprovalsPaused(wait),
            ) => retry_after(whole_seconds(*wait)),
            Self::Refused(Refusal::Locked) => retry_after(LOCKED_RETRY_SECONDS),
            Self::TooManyConnections | Self::TooManyBodies => retry_after(1),
            Self::BadRequest(BadRequest::NotAHandshake) => vec![
                (UPGRADE, HeaderValue::from_static("websocket")),
                (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
            ],
            Self::OAuth(error) => challenge(error),
            // RFC 9110 requires a challenge with every 401.
            _ if status == StatusCode::UNAUTHORIZED => vec![(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))],
            // The API promises it with every 429.
            _ if status == StatusCode::TOO_MANY_REQUESTS => retry_after(1),
            _ => Vec::new(),
        }
    }
}

/// The challenge for a client below /oidc that could not be authenticated, or whose access token is not valid (RFC 6749, RFC 6750).
fn challenge(error: &OAuthError) -> Vec<(HeaderName, HeaderValue)> {
    match error.code {
        OAuthErrorCode::InvalidClient => vec![(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"oidc\""))],
        OAuthErrorCode::InvalidToken => {
            vec![(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer error=\"invalid_token\""))]
        }
        _ => Vec::new(),
    }
}

fn fields(problems: &FieldErrors, context: ErrorContext) -> Map<String, Value> {
    let text = |problem: &FieldError| context.named(problem.text(context.language));
    problems.iter().map(|(name, problem)| (name.clone().into_owned(), text(problem).into())).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests;
