//! What each refusal says: the table of their codes.

use std::fmt;

use deskpass_auth::Refusal;
use deskpass_core::{OutOfStream, Role, Roles, Shut};
use hyper::StatusCode;
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use serde_json::{Value, json};

use super::{Telling, Telltale, limited, seconds, telling, words};
use crate::config::Language;

/// Asks for a one-time password, as RFC 9470 has it.
const CHALLENGE: &str = "Bearer error=\"insufficient_user_authentication\", \
    error_description=\"a fresh one-time password is needed in X-OTP-Code\", acr_values=\"otp\"";

/// When to look again at what only an administrator opens: a day, in seconds.
const UNTIL_UNLOCKED: u64 = 86_400;

pub(super) fn tell(refusal: &Refusal, by: Telltale<'_>) -> Telling {
    let say = |status, code, words| telling(status, code, by.say(words), Value::Null);
    let unauthorized = |code, words| say(StatusCode::UNAUTHORIZED, code, words);
    let forbidden = |code, words| say(StatusCode::FORBIDDEN, code, words);
    let conflict = |code, words| say(StatusCode::CONFLICT, code, words);
    let word = refusal.word();
    match refusal {
        Refusal::Token(problem) | Refusal::Revoked(problem) => unauthorized(1001, words::token(*problem)).because(word),
        Refusal::UnknownEmployee => forbidden(1003, words::UNKNOWN_EMPLOYEE),
        Refusal::Disabled => forbidden(1003, words::DISABLED).because(word),
        Refusal::NoRole => forbidden(1003, words::NO_ROLE).because(word),
        Refusal::RoleNotHeld(role) => forbidden(1003, words::ROLE_NOT_HELD).naming(role).because(word),
        Refusal::RoleTakenAway(role) => forbidden(1003, words::ROLE_TAKEN_AWAY).naming(role).because(word),
        Refusal::Denied => forbidden(1003, words::DENIED).because(word),
        Refusal::InvalidCode => forbidden(1003, words::INVALID_CODE).because(word),
        Refusal::SomebodyElse => forbidden(1003, words::SOMEBODY_ELSE).because(word),
        Refusal::NotAMember => forbidden(1003, words::NOT_A_MEMBER).because(word),
        Refusal::NotAnAgent => forbidden(1003, words::NOT_AN_AGENT).because(word),
        Refusal::NotPermitted => forbidden(1003, words::NOT_PERMITTED).because(word),
        Refusal::RoleNeeded(roles) => forbidden(1003, words::ROLE_NEEDED).naming(names(*roles)).because(word),
        Refusal::NotGranted => forbidden(1003, words::NOT_GRANTED).because(word),
        Refusal::ScopeNeeded(scope) => forbidden(1003, words::SCOPE_NEEDED).naming(scope.name()).because(word),
        Refusal::PasswordOff => forbidden(1003, words::PASSWORD_OFF).because(word),
        Refusal::PlatformWorks => forbidden(1003, words::PLATFORM_WORKS).because(word),
        Refusal::NotProven => forbidden(1003, words::NOT_PROVEN).because(word),
        Refusal::RecentSignInNeeded => forbidden(1003, words::RECENT_SIGN_IN_NEEDED).because(word),
        Refusal::DeviceNotProven => forbidden(1003, words::DEVICE_NOT_PROVEN).because(word),
        Refusal::SetupCodeWrong => forbidden(1003, words::SETUP_CODE).because(word),
        Refusal::NoSuchRole(role) => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_ROLE).naming(role),
        Refusal::NoSuchAgent => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_AGENT),
        Refusal::NoSuchEmployee => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_EMPLOYEE),
        Refusal::NoSuchSession => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_SESSION),
        Refusal::NoSuchSignIn => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_SIGN_IN),
        Refusal::NoSuchKey => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_KEY),
        Refusal::NoSuchLink => say(StatusCode::NOT_FOUND, 1004, words::NO_SUCH_LINK),
        Refusal::OutOfStream(place, why) => out_of_stream(*place, *why, by).because(word),
        Refusal::TooOften(wait) => limited(*wait, by),
        Refusal::Busy => say(StatusCode::TOO_MANY_REQUESTS, 1006, words::BUSY).after(1),
        Refusal::OtpNeeded => {
            forbidden(1007, words::OTP_NEEDED).with(WWW_AUTHENTICATE, HeaderValue::from_static(CHALLENGE))
        }
        Refusal::OtpWrong => unauthorized(1008, words::OTP_WRONG),
        Refusal::NoDevice => forbidden(1009, words::NO_DEVICE),
        Refusal::DeviceBound => conflict(1010, words::DEVICE_BOUND),
        Refusal::PasswordWrong => unauthorized(1011, words::PASSWORD_WRONG),
        Refusal::NoPassword => forbidden(1012, words::NO_PASSWORD),
        Refusal::Shut(shut) => self::shut(*shut, by),
        Refusal::Weak(weakness) => weak(words::weakness(*weakness), by),
        Refusal::SamePassword => weak(words::SAME_PASSWORD, by),
        Refusal::OldPasswordNeeded => say(StatusCode::BAD_REQUEST, 1015, words::OLD_PASSWORD_NEEDED),
        Refusal::OldPasswordWrong => forbidden(1016, words::OLD_PASSWORD_WRONG),
        Refusal::AddressNotAllowed(role) => forbidden(1017, words::ADDRESS_NOT_ALLOWED).naming(role).because(word),
        Refusal::LastAdmin => conflict(1019, words::LAST_ADMIN).because(word),
        Refusal::WouldShutYouOut(role) => conflict(1019, words::SHUTS_YOU_OUT).naming(role).because(word),
        Refusal::Cancelled => conflict(1019, words::CANCELLED).because(word),
        Refusal::Over => conflict(1019, words::OVER).because(word),
        Refusal::DeviceSetupOver => conflict(1019, words::SETUP_OVER).because(word),
        Refusal::Exists => conflict(1019, words::EXISTS),
    }
}

impl Telling {
    /// With the word that programs go by.
    fn because(self, reason: &str) -> Self {
        Self { data: json!({ "reason": reason }), ..self }
    }

    /// With the name of what it is about.
    fn naming(self, name: impl fmt::Display) -> Self {
        Self { message: format!("{} {name}", self.message), ..self }
    }
}

fn names(roles: Roles) -> String {
    roles.iter().map(Role::name).collect::<Vec<_>>().join(", ")
}

fn out_of_stream(place: usize, why: OutOfStream, by: Telltale<'_>) -> Telling {
    let message = match (why, by.language) {
        (OutOfStream::Gap(next), Language::En) => {
            format!("messages[{place}] does not follow in its stream; the next seq is {next}")
        }
        (OutOfStream::Gap(next), Language::Zh) => format!("messages[{place}] 与其流不连续，下一个 seq 应为 {next}"),
        (OutOfStream::Done, Language::En) => {
            format!("messages[{place}] comes after the end of its stream; begin another stream_id")
        }
        (OutOfStream::Done, Language::Zh) => format!("messages[{place}] 所属的流已结束，请使用新的 stream_id"),
    };
    telling(StatusCode::CONFLICT, 1019, message, Value::Null)
}

fn shut(shut: Shut, by: Telltale<'_>) -> Telling {
    let told = |message: String| telling(StatusCode::TOO_MANY_REQUESTS, 1013, message, Value::Null);
    match shut {
        Shut::UntilUnlocked => told(by.say(words::LOCKED).into()).after(UNTIL_UNLOCKED).because("locked"),
        Shut::For(wait) => {
            let seconds = seconds(wait);
            let message = match (by.language, seconds.div_ceil(60)) {
                (Language::En, 1) => "too many wrong attempts; try again in a minute".to_owned(),
                (Language::En, minutes) => format!("too many wrong attempts; try again in {minutes} minutes"),
                (Language::Zh, minutes) => format!("错误次数过多，请在 {minutes} 分钟后重试"),
            };
            told(message).after(seconds).because("too_many_failures")
        }
    }
}

fn weak(why: [&str; 2], by: Telltale<'_>) -> Telling {
    let why = by.say(why);
    let message = match by.language {
        Language::En => format!("choose another password; this one {why}"),
        Language::Zh => format!("请换一个密码：{why}"),
    };
    telling(StatusCode::BAD_REQUEST, 1014, message, json!({ "fields": { "password": why } }))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests;
