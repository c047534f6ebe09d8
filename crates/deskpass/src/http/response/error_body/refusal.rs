//! The response to each refusal: the table of error codes.

use std::fmt;

use deskpass_auth::Refusal;
use deskpass_core::{ChunkOutOfOrder, Lockout, Role, Roles};
use hyper::StatusCode;
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use serde_json::{Value, json};

use super::{ErrorBody, ErrorContext, error_body, limited, seconds, words};
use crate::config::Language;

/// The challenge for a one-time password, as RFC 9470 defines it.
const CHALLENGE: HeaderValue = HeaderValue::from_static(
    "Bearer error=\"insufficient_user_authentication\", \
     error_description=\"a fresh one-time password is needed in X-OTP-Code\", acr_values=\"otp\"",
);

/// `Retry-After` of a lockout that only an administrator ends: a day, in seconds.
const LOCKED_RETRY_SECONDS: u64 = 86_400;

pub(super) fn render(refusal: &Refusal, context: ErrorContext<'_>) -> ErrorBody {
    let say = |status, code, words| error_body(status, code, context.localize(words), Value::Null);
    let unauthorized = |code, words| say(StatusCode::UNAUTHORIZED, code, words);
    let forbidden = |code, words| say(StatusCode::FORBIDDEN, code, words);
    let conflict = |code, words| say(StatusCode::CONFLICT, code, words);
    let word = refusal.name();
    match refusal {
        Refusal::Token(problem) | Refusal::Revoked(problem) => {
            unauthorized(1001, words::token(*problem)).with_reason(word)
        }
        Refusal::UnknownEmployee => forbidden(1003, words::UNKNOWN_EMPLOYEE),
        Refusal::Disabled => forbidden(1003, words::DISABLED).with_reason(word),
        Refusal::NoRole => forbidden(1003, words::NO_ROLE).with_reason(word),
        Refusal::RoleNotHeld(role) => forbidden(1003, words::ROLE_NOT_HELD).with_name(role).with_reason(word),
        Refusal::RoleTakenAway(role) => forbidden(1003, words::ROLE_TAKEN_AWAY).with_name(role).with_reason(word),
        Refusal::Denied => forbidden(1003, words::DENIED).with_reason(word),
        Refusal::InvalidCode => forbidden(1003, words::INVALID_CODE).with_reason(word),
        Refusal::SomebodyElse => forbidden(1003, words::SOMEBODY_ELSE).with_reason(word),
        Refusal::NotAMember => forbidden(1003, words::NOT_A_MEMBER).with_reason(word),
        Refusal::NotAnAgent => forbidden(1003, words::NOT_AN_AGENT).with_reason(word),
        Refusal::NotPermitted => forbidden(1003, words::NOT_PERMITTED).with_reason(word),
        Refusal::RoleNeeded(roles) => forbidden(1003, words::ROLE_NEEDED).with_name(names(*roles)).with_reason(word),
        Refusal::NotGranted => forbidden(1003, words::NOT_GRANTED).with_reason(word),
        Refusal::ScopeNeeded(scope) => forbidden(1003, words::SCOPE_NEEDED).with_name(scope.name()).with_reason(word),
        Refusal::PasswordOff => forbidden(1003, words::PASSWORD_OFF).with_reason(word),
        Refusal::PlatformWorks => forbidden(1003, words::PLATFORM_WORKS).with_reason(word),
        Refusal::NotProven => forbidden(1003, words::NOT_PROVEN).with_reason(word),
        Refusal::RecentSignInNeeded => forbidden(1003, words::RECENT_SIGN_IN_NEEDED).with_reason(word),
        Refusal::DeviceNotProven => forbidden(1003, words::DEVICE_NOT_PROVEN).with_reason(word),
        Refusal::SetupCodeWrong => forbidden(1003, words::SETUP_CODE).with_reason(word),
        Refusal::NoSuchRole(role) => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_ROLE).with_name(role),
        Refusal::NoSuchAgent => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_AGENT),
        Refusal::NoSuchEmployee => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_EMPLOYEE),
        Refusal::NoSuchSession => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_SESSION),
        Refusal::NoSuchSignIn => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_SIGN_IN),
        Refusal::NoSuchKey => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_KEY),
        Refusal::NoSuchLink => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_LINK),
        Refusal::OutOfStream(place, why) => out_of_stream(*place, *why, context).with_reason(word),
        Refusal::TooOften(wait) => limited(*wait, context),
        Refusal::Busy => say(StatusCode::TOO_MANY_REQUESTS, 1006, words::BUSY).retry_after(1),
        Refusal::OtpNeeded => forbidden(1007, words::OTP_NEEDED).with_header(WWW_AUTHENTICATE, CHALLENGE),
        Refusal::OtpWrong => unauthorized(1008, words::OTP_WRONG),
        Refusal::NoDevice => forbidden(1009, words::NO_DEVICE),
        Refusal::DeviceBound => conflict(1010, words::DEVICE_BOUND),
        Refusal::PasswordWrong => unauthorized(1011, words::PASSWORD_WRONG),
        Refusal::NoPassword => forbidden(1012, words::NO_PASSWORD),
        Refusal::Shut(shut) => self::shut(*shut, context),
        Refusal::Weak(weakness) => weak(words::weakness(*weakness), context),
        Refusal::SamePassword => weak(words::SAME_PASSWORD, context),
        Refusal::OldPasswordNeeded => say(StatusCode::BAD_REQUEST, 1015, words::OLD_PASSWORD_NEEDED),
        Refusal::OldPasswordWrong => forbidden(1016, words::OLD_PASSWORD_WRONG),
        Refusal::AddressNotAllowed(role) => {
            forbidden(1017, words::ADDRESS_NOT_ALLOWED).with_name(role).with_reason(word)
        }
        Refusal::LastAdmin => conflict(1019, words::LAST_ADMIN).with_reason(word),
        Refusal::WouldShutYouOut(role) => conflict(1019, words::SHUTS_YOU_OUT).with_name(role).with_reason(word),
        Refusal::Cancelled => conflict(1019, words::CANCELLED).with_reason(word),
        Refusal::Over => conflict(1019, words::OVER).with_reason(word),
        Refusal::DeviceSetupOver => conflict(1019, words::SETUP_OVER).with_reason(word),
        Refusal::Exists => conflict(1019, words::EXISTS),
    }
}

impl ErrorBody {
    /// Adds the reason, for programs.
    fn with_reason(self, reason: &str) -> Self {
        Self { data: json!({ "reason": reason }), ..self }
    }

    /// Appends the name of the object.
    fn with_name(self, name: impl fmt::Display) -> Self {
        Self { message: format!("{} {name}", self.message), ..self }
    }
}

fn names(roles: Roles) -> String {
    roles.iter().map(Role::name).collect::<Vec<_>>().join(", ")
}

fn out_of_stream(place: usize, why: ChunkOutOfOrder, context: ErrorContext<'_>) -> ErrorBody {
    let message = match (why, context.language) {
        (ChunkOutOfOrder::Gap(next), Language::En) => {
            format!("messages[{place}] does not follow in its stream; the next seq is {next}")
        }
        (ChunkOutOfOrder::Gap(next), Language::Zh) => format!("messages[{place}] 与其流不连续，下一个 seq 应为 {next}"),
        (ChunkOutOfOrder::Done, Language::En) => {
            format!("messages[{place}] comes after the end of its stream; begin another stream_id")
        }
        (ChunkOutOfOrder::Done, Language::Zh) => format!("messages[{place}] 所属的流已结束，请使用新的 stream_id"),
    };
    error_body(StatusCode::CONFLICT, 1019, message, Value::Null)
}

fn shut(shut: Lockout, context: ErrorContext<'_>) -> ErrorBody {
    let told = |message: String| error_body(StatusCode::TOO_MANY_REQUESTS, 1013, message, Value::Null);
    match shut {
        Lockout::UntilUnlocked => {
            told(context.localize(words::LOCKED).into()).retry_after(LOCKED_RETRY_SECONDS).with_reason("locked")
        }
        Lockout::For(wait) => {
            let seconds = seconds(wait);
            let message = match (context.language, seconds.div_ceil(60)) {
                (Language::En, 1) => "too many wrong attempts; try again in a minute".to_owned(),
                (Language::En, minutes) => format!("too many wrong attempts; try again in {minutes} minutes"),
                (Language::Zh, minutes) => format!("错误次数过多，请在 {minutes} 分钟后重试"),
            };
            told(message).retry_after(seconds).with_reason("too_many_failures")
        }
    }
}

fn weak(why: [&str; 2], context: ErrorContext<'_>) -> ErrorBody {
    let why = context.localize(why);
    let message = match context.language {
        Language::En => format!("choose another password; this one {why}"),
        Language::Zh => format!("请换一个密码：{why}"),
    };
    error_body(StatusCode::BAD_REQUEST, 1014, message, json!({ "fields": { "password": why } }))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests;
