//! Every refusal, as clients see it.

use std::time::Duration;

use deskpass_auth::TokenError;
use deskpass_core::{Role, Roles, ServiceScope, Weakness};

use super::*;
use crate::http::error::ErrorCause;

/// A refusal with its status, its code, its reason, and its header.
type Row = (Refusal, u16, u16, Option<&'static str>, Option<(&'static str, &'static str)>);

const BEARER: Option<(&str, &str)> = Some(("www-authenticate", "Bearer"));
const STEP_UP: Option<(&str, &str)> = Some((
    "www-authenticate",
    "Bearer error=\"insufficient_user_authentication\", \
     error_description=\"a fresh one-time password is needed in X-OTP-Code\", acr_values=\"otp\"",
));

const PHONE_STEP_UP: Option<(&str, &str)> = Some((
    "www-authenticate",
    "Bearer error=\"insufficient_user_authentication\", \
     error_description=\"an approval of the phone is needed in X-Approval\", acr_values=\"phone\"",
));

/// The refusals of signing in and of what a person may do.
fn permission_rows() -> Vec<Row> {
    vec![
        (Refusal::UnknownEmployee, 403, 1003, None, None),
        (Refusal::Disabled, 403, 1003, Some("disabled"), None),
        (Refusal::LeftPlatform, 403, 1003, Some("disabled"), None),
        (Refusal::HolderUnconfirmed, 403, 1003, Some("holder_unconfirmed"), None),
        (Refusal::NoRole, 403, 1003, Some("no_role"), None),
        (Refusal::RoleNotHeld("x".into()), 403, 1003, Some("role_not_held"), None),
        (Refusal::RoleTakenAway(Role::Agent), 403, 1003, Some("role_taken_away"), None),
        (Refusal::Denied, 403, 1003, Some("denied"), None),
        (Refusal::InvalidCode, 403, 1003, Some("invalid_code"), None),
        (Refusal::CodeOfAnotherPerson, 403, 1003, Some("somebody_else"), None),
        (Refusal::NoSuchAgent, 404, 1004, None, None),
        (Refusal::NotAMember, 403, 1003, Some("not_a_member"), None),
        (Refusal::NotAnAgent, 403, 1003, Some("not_an_agent"), None),
        (Refusal::DeviceNotAllowed, 403, 1003, Some("device_not_allowed"), None),
        (Refusal::NotPermitted, 403, 1003, Some("role_needed"), None),
        (Refusal::ScopeNeeded(ServiceScope::Messages), 403, 1003, Some("scope_needed"), None),
        (Refusal::RoleNeeded(Roles::NONE.with(Role::Agent)), 403, 1003, Some("role_needed"), None),
        (Refusal::NotGranted, 403, 1003, Some("not_permitted"), None),
        (Refusal::PasswordOff, 403, 1003, Some("password_off"), None),
        (Refusal::PlatformWorks, 403, 1003, Some("platform_works"), None),
        (Refusal::NotProven, 403, 1003, Some("not_proven"), None),
        (Refusal::RecentSignInNeeded, 403, 1003, Some("recent_sign_in_needed"), None),
        (Refusal::NewSignInNeeded, 403, 1003, Some("recent_sign_in_needed"), None),
        (Refusal::AnotherUserNeeded, 403, 1003, Some("another_user_needed"), None),
        (Refusal::ClientNotAllowed("zammad".into()), 403, 1003, Some("client_not_allowed"), None),
        (Refusal::DeviceNotProven, 403, 1003, Some("device_not_proven"), None),
        (Refusal::SetupCodeWrong, 403, 1003, Some("setup_code"), None),
        (Refusal::NotAsked, 403, 1003, Some("not_asked"), None),
        (Refusal::PhoneNeeded, 403, 1003, Some("phone_needed"), None),
        (Refusal::WrongNumber, 403, 1003, Some("wrong_number"), None),
        (Refusal::CallerNotVerified, 403, 1003, Some("caller_not_verified"), None),
        (Refusal::CannotAsk, 403, 1003, Some("cannot_ask"), None),
        (Refusal::ApprovalsOff, 403, 1003, Some("approvals_off"), None),
        (Refusal::TemporaryRole, 403, 1003, Some("temporary_role"), None),
    ]
}

/// The others, in the order of the codes. Refusals with code 1014 have fields instead of a reason.
fn other_rows() -> Vec<Row> {
    let retry = |seconds| Some(("retry-after", seconds));
    vec![
        (Refusal::ApprovalsPaused(Duration::from_mins(10)), 403, 1003, Some("approvals_paused"), retry("600")),
        (Refusal::NoSuchRole("x".into()), 404, 1004, None, None),
        (Refusal::NoSuchEmployee, 404, 1004, None, None),
        (Refusal::NoSuchSession, 404, 1004, None, None),
        (Refusal::NoSuchSignIn, 404, 1004, None, None),
        (Refusal::NoSuchKey, 404, 1004, None, None),
        (Refusal::NoSuchLink, 404, 1004, None, None),
        (Refusal::NoSuchOidcClient, 404, 1004, None, None),
        (Refusal::RateLimited(Duration::from_millis(1_001)), 429, 1006, None, retry("2")),
        (Refusal::Busy, 429, 1006, None, retry("1")),
        (Refusal::CodesLimited, 429, 1006, None, retry("1")),
        (Refusal::OtpNeeded, 403, 1007, Some("otp_needed"), STEP_UP),
        (Refusal::OtpWrong, 401, 1008, Some("otp_wrong"), BEARER),
        (Refusal::ApprovalInvalid, 401, 1008, Some("approval_invalid"), BEARER),
        (Refusal::NoDevice, 403, 1009, None, None),
        (Refusal::ApprovalNeeded, 403, 1007, Some("approval_needed"), PHONE_STEP_UP),
        (Refusal::DeviceBound, 409, 1010, None, None),
        (Refusal::PasswordWrong, 401, 1011, None, BEARER),
        (Refusal::NoPassword, 403, 1012, None, None),
        (Refusal::TooManyFailures(Duration::from_mins(15)), 429, 1013, Some("too_many_failures"), retry("900")),
        (Refusal::TooManyFailures(Duration::from_micros(1)), 429, 1013, Some("too_many_failures"), retry("1")),
        (Refusal::TooManyFailures(Duration::from_millis(60_001)), 429, 1013, Some("too_many_failures"), retry("61")),
        (Refusal::Locked, 429, 1013, Some("locked"), retry("86400")),
        (Refusal::WeakPassword(Weakness::TooShort), 400, 1014, None, None),
        (Refusal::WeakPassword(Weakness::TooLong), 400, 1014, None, None),
        (Refusal::WeakPassword(Weakness::Common), 400, 1014, None, None),
        (Refusal::WeakPassword(Weakness::Personal), 400, 1014, None, None),
        (Refusal::WeakPassword(Weakness::Monotonous), 400, 1014, None, None),
        (Refusal::SamePassword, 400, 1014, None, None),
        (Refusal::OldPasswordNeeded, 400, 1015, None, None),
        (Refusal::OldPasswordWrong, 403, 1016, None, None),
        (Refusal::AddressNotAllowed(Role::Admin), 403, 1017, Some("address_not_allowed"), None),
        (Refusal::LastAdmin, 409, 1019, Some("last_admin"), None),
        (Refusal::RoleFromRule(Role::Agent), 409, 1019, Some("role_from_rule"), None),
        (Refusal::HolderChanged, 409, 1019, Some("holder_changed"), None),
        (Refusal::WouldLockYouOut(Role::Admin), 409, 1019, Some("would_shut_you_out"), None),
        (Refusal::Cancelled, 409, 1019, Some("cancelled"), None),
        (Refusal::OidcRequestGone, 409, 1019, Some("oidc_request_gone"), None),
        (Refusal::SignInOver, 409, 1019, Some("over"), None),
        (Refusal::QuestionOver, 409, 1019, Some("question_over"), None),
        (Refusal::DeviceSetupOver, 409, 1019, Some("setup_over"), None),
        (Refusal::Exists, 409, 1019, None, None),
        (Refusal::OidcClientFromFile, 409, 1019, Some("oidc_client_from_file"), None),
        (Refusal::OidcClientWithoutSecret, 409, 1019, Some("oidc_client_without_secret"), None),
        (Refusal::StreamGap(1, 7), 409, 1019, Some("out_of_stream"), None),
        (Refusal::StreamEnded(1), 409, 1019, Some("out_of_stream"), None),
    ]
}

fn token_rows() -> impl Iterator<Item = Row> {
    let problems = [
        (TokenError::Missing, "missing"),
        (TokenError::Malformed, "malformed"),
        (TokenError::Unknown, "unknown"),
        (TokenError::Expired, "expired"),
        (TokenError::SignedOut, "signed_out"),
        (TokenError::Kicked, "kicked"),
        (TokenError::Left, "left"),
        (TokenError::Disabled, "disabled"),
        (TokenError::HalfAuthenticated, "half_authenticated"),
    ];
    problems.into_iter().map(|(problem, word)| (Refusal::Token(problem), 401, 1001, Some(word), BEARER))
}

fn rows() -> impl Iterator<Item = Row> {
    permission_rows().into_iter().chain(other_rows())
}

fn told(refusal: &Refusal, language: Language) -> ErrorBody {
    let (platform, error_title) = (PlatformKind::Wecom, ["Request failed", "请求失败"]);
    let reference = Reference::new(0);
    ApiError::Refused(refusal.clone()).render(ErrorContext { language, platform, error_title, reference })
}

#[test]
fn every_refusal_has_its_status_code_reason_and_head() {
    for (refusal, status, code, reason, header) in rows().chain(token_rows()) {
        for language in [Language::En, Language::Zh] {
            let error_body = told(&refusal, language);
            assert_eq!((error_body.status.as_u16(), error_body.code), (status, code), "{refusal:?}");
            let head = error_body.headers.first().and_then(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
            assert_eq!(head, header, "{refusal:?}");
            match (code, reason) {
                (1014, None) => {
                    assert!(error_body.message.ends_with(error_body.data["fields"]["password"].as_str().unwrap()));
                }
                (_, None) => assert_eq!(error_body.data, Value::Null, "{refusal:?}"),
                (_, Some(word)) => assert_eq!(error_body.data, json!({ "reason": word }), "{refusal:?}"),
            }
        }
    }
}

#[test]
fn every_refusal_is_told_in_either_language_and_in_words_of_its_own() {
    let mut seen = std::collections::HashMap::new();
    for (refusal, ..) in rows().chain(token_rows()) {
        let [english, chinese] = [Language::En, Language::Zh].map(|language| told(&refusal, language).message);
        assert!(english.is_ascii() && english.len() > 10, "{english}");
        assert!(chinese.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter)), "{chinese}");
        // A disabled employee gets the same message with a token as at a sign-in.
        if refusal != Refusal::Token(TokenError::Disabled) {
            for words in [english, chinese] {
                assert_eq!(seen.insert(words.clone(), refusal.clone()), None, "{words}");
            }
        }
    }
}

#[test]
fn a_wait_is_told_in_minutes_and_a_lock_by_who_opens_it() {
    let message = |seconds, language| told(&Refusal::TooManyFailures(Duration::from_secs(seconds)), language).message;
    assert_eq!(message(900, Language::En), "too many wrong attempts; try again in 15 minutes");
    assert_eq!(message(61, Language::En), "too many wrong attempts; try again in 2 minutes");
    assert_eq!(message(60, Language::En), "too many wrong attempts; try again in a minute");
    assert_eq!(message(0, Language::En), "too many wrong attempts; try again in a minute");
    assert_eq!(message(900, Language::Zh), "错误次数过多，请在 15 分钟后重试");
    assert!(told(&Refusal::Locked, Language::En).message.contains("ask an administrator"));
}

#[test]
fn a_failure_in_chinese_has_chinese_punctuation() {
    let platform = PlatformKind::Dingtalk;
    let told = |cause| {
        let language = Language::Zh;
        let (error_title, reference) = (["Failed", "请求失败"], Reference::new(0x1a2b_3c4d));
        let context = ErrorContext { language, platform, error_title, reference };
        ApiError::Internal(cause, String::new()).render(context).message
    };
    assert_eq!(told(ErrorCause::BackendRefused(403)), "请求失败：服务台后端未接受（状态码 403）（参考编号 1a2b3c4d）");
    let [_, name] = platform.title();
    assert_eq!(
        told(ErrorCause::PlatformRefused(42_i64.into())),
        format!("请求失败：{name}拒绝了请求（errcode 42）（参考编号 1a2b3c4d）")
    );
}
