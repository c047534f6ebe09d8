//! The error codes of the platform: numbers of the older API, words of the newer one.

mod table;

use std::time::Duration;

use deskpass_platform::client::{Api, ApiPurpose};
use deskpass_platform::{ErrorCode, Explanation, FixableBy, Meaning};

use crate::api;
use table::{ErrorRow, TABLE};

/// A failed authentication at the older API; the cause is in another field.
pub(crate) const AUTHENTICATION: i64 = 88;
/// The cause "no permission to call this API", next to 88. Without 88 the same number means that the application may not see
/// a person or department, which must not be mistaken for it.
pub(crate) const NO_PERMISSION: &str = "88/60011";
/// The status in the answer to an address that made too many calls.
pub(crate) const BLOCKED: i64 = 1111;
/// The platform's general failure, which is also its answer to a token request with a wrong corporation.
const UNKNOWN_ERROR: &str = "unknownError";

/// Messages that are not sent because of the settings or the recipient. These codes are this service's own.
pub(crate) const NO_AGENT_ID: &str = "agent_id.missing";
pub(crate) const BAD_AGENT_ID: &str = "agent_id.invalid";
pub(crate) const BAD_RECIPIENT: &str = "userid.invalid";

/// How long the platform blocks an address.
const BLOCK_PAUSE: Duration = Duration::from_mins(5);
/// How long calls pause when the organization has used up its calls of the month: an administrator may buy more.
const QUOTA_PAUSE: Duration = Duration::from_mins(30);
/// The first and the longest pause after a limit on calls per second.
const LIMIT_PAUSE: Duration = Duration::from_secs(1);
const MAX_LIMIT_PAUSE: Duration = Duration::from_mins(1);
/// The first and the longest pause after the credentials were refused.
const CREDENTIALS_PAUSE: Duration = Duration::from_mins(1);
const MAX_CREDENTIALS_PAUSE: Duration = Duration::from_mins(10);

const UNKNOWN: Explanation = Explanation {
    fixable_by: FixableBy::Administrator,
    text: [
        "DingTalk refused with an unknown error code. Look it up at https://open.dingtalk.com/document/.",
        "钉钉拒绝了请求，原因未收录。请到 https://open.dingtalk.com/document/ 查询该错误码。",
    ],
};

/// Explains an error code. For an unknown code, the explanation says where to look it up.
pub(crate) fn explain(code: &ErrorCode) -> Explanation {
    find(code).map_or(UNKNOWN, |row| Explanation { fixable_by: row.fixable_by, text: row.text })
}

/// Whether a word of the newer API has an explanation.
pub(crate) fn is_listed(word: &str) -> bool {
    TABLE.iter().any(|row| row.words.contains(&word))
}

/// What an error code of an API means.
pub(crate) fn meaning(api: Api, code: &ErrorCode) -> Meaning {
    // Only the request for a token names the corporation; anywhere else this is a fault of the platform.
    if code.as_word() == Some(UNKNOWN_ERROR) && api != api::TOKEN {
        return Meaning::Retry;
    }
    match find(code).map(|row| row.meaning) {
        // The token of a user is seconds old, and the access token of the application has no part in these calls.
        Some(Meaning::Refresh) if api == api::ME => Meaning::StartAgain,
        Some(Meaning::Refresh) if matches!(api.purpose, ApiPurpose::Token) || api == api::USER_TOKEN => {
            Meaning::Administrator
        }
        Some(Meaning::Gone | Meaning::OutOfRange) if api == api::MESSAGE => Meaning::Rejected,
        Some(meaning) => meaning,
        // These calls carry a user's code, and any client can bring any code: an unknown refusal proves nothing about it, about
        // the settings, or about the platform.
        None if api == api::USER_TOKEN || api == api::USER_INFO => Meaning::Developer,
        None => Meaning::Administrator,
    }
}

/// How long calls pause after this refusal.
pub(crate) fn pause(api: Api, code: &ErrorCode, repeats: u32) -> Option<Duration> {
    let growing = |first: Duration, longest: Duration| first.saturating_mul(2_u32.saturating_pow(repeats)).min(longest);
    match meaning(api, code) {
        Meaning::Limited if code.number() == Some(BLOCKED) => Some(BLOCK_PAUSE),
        Meaning::Limited if is_quota(code) => Some(QUOTA_PAUSE),
        Meaning::Limited => Some(growing(LIMIT_PAUSE, MAX_LIMIT_PAUSE)),
        Meaning::Administrator if matches!(api.purpose, ApiPurpose::Token) => {
            Some(growing(CREDENTIALS_PAUSE, MAX_CREDENTIALS_PAUSE))
        }
        _ => None,
    }
}

/// Whether the organization has used up its calls of the month.
fn is_quota(code: &ErrorCode) -> bool {
    code.number() == Some(90020) || code.as_word() == Some("Forbidden.AccessDenied.ApiCountLimitForOrg")
}

/// Whether the application lacks the permission for a call.
pub(crate) fn is_missing_permission(code: &ErrorCode) -> bool {
    matches!(code.as_word(), Some(NO_PERMISSION | "Forbidden.AccessDenied.AccessTokenPermissionDenied"))
}

fn find(code: &ErrorCode) -> Option<&'static ErrorRow> {
    TABLE.iter().find(|row| match code {
        ErrorCode::Number(number) => row.codes.contains(number),
        ErrorCode::Word(word) => row.words.contains(&&**word),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_speaks_both_languages_and_no_code_occurs_twice() {
        let mut seen = HashSet::new();
        for row in TABLE {
            let [english, chinese] = row.text;
            let names: Vec<_> =
                row.codes.iter().map(i64::to_string).chain(row.words.iter().map(ToString::to_string)).collect();
            assert!(english.is_ascii() && english.ends_with('.') && english.len() > 20, "{names:?}");
            assert!(chinese.ends_with('。') && chinese.chars().filter(|c| !c.is_ascii()).count() > 5, "{names:?}");
            assert!(!names.is_empty() && names.iter().all(|name| seen.insert(name.clone())), "{names:?}");
            for word in row.words {
                assert_eq!(ErrorCode::word(word).as_word(), Some(*word), "an error code never has this word");
            }
        }
        assert!(!seen.contains("0"), "success is no error");
    }

    #[test]
    fn the_same_code_means_what_the_api_means() {
        let meaning = |api, code: i64| meaning(api, &code.into());
        assert_eq!(meaning(api::USER, 60121), Meaning::Gone);
        assert_eq!(meaning(api::MESSAGE, 60121), Meaning::Rejected);
        assert_eq!(meaning(api::USER, 60011), Meaning::OutOfRange);
        assert_eq!(meaning(api::BY_UNION_ID, 40014), Meaning::Refresh);
        assert_eq!(meaning(api::BY_UNION_ID, 123_456), Meaning::Administrator);
        assert_eq!(meaning(api::USER_INFO, 123_456), Meaning::Developer);
        assert_eq!(meaning(api::USER_INFO, 40078), Meaning::StartAgain);
        let meaning = |api, word: &str| super::meaning(api, &ErrorCode::word(word));
        assert_eq!(meaning(api::USER, NO_PERMISSION), Meaning::Administrator);
        assert_eq!(meaning(api::ME, "InvalidAuthentication"), Meaning::StartAgain);
        assert_eq!(meaning(api::USER_TOKEN, "something.new"), Meaning::Developer);
        assert_eq!(meaning(api::USER_TOKEN, "invalidParameter.authCode.notFound"), Meaning::StartAgain);
        assert_eq!(meaning(api::USER_TOKEN, "invalidClientIdOrSecret"), Meaning::Administrator);
        assert_eq!(meaning(api::TOKEN, UNKNOWN_ERROR), Meaning::Administrator);
        assert_eq!(meaning(api::ME, UNKNOWN_ERROR), Meaning::Retry);
    }

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let seconds = |api, code: i64, repeats| pause(api, &code.into(), repeats).map(|pause| pause.as_secs());
        assert_eq!([0, 1, 2, 6, 40].map(|repeats| seconds(api::USER, 90018, repeats)), [1, 2, 4, 60, 60].map(Some));
        assert_eq!([0, 1, 4, 99].map(|repeats| seconds(api::TOKEN, 40089, repeats)), [60, 120, 600, 600].map(Some));
        assert_eq!(seconds(api::USER, BLOCKED, 0), Some(300));
        assert_eq!(seconds(api::USER_INFO, 90020, 0), Some(1_800));
        assert_eq!(seconds(api::USER_INFO, 60020, 0), None);
    }
}
