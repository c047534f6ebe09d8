//! The platform's error codes: what they mean to the service, and what they tell an operator.

mod table;

use deskpass_platform::client::{Api, ApiPurpose};
use deskpass_platform::{ErrorCode, Explanation, Meaning};

use crate::api::USER_INFO;
use table::{OAUTH_ROWS, TABLE, UNKNOWN, USER_ID_MISSING_ROW};

/// There were too many calls.
pub(crate) const RATE_LIMITED: i64 = 99_991_400;
/// The tenant has used up its calls of the month.
const USED_UP: i64 = 99_991_403;
/// The address of this machine is not on the application's list.
pub(crate) const UNTRUSTED_ADDRESS: i64 = 99_991_401;
/// The platform does not know the identifier of a member.
pub(crate) const NO_SUCH_USER: i64 = 41_012;
/// The application may not see a department.
pub(crate) const NO_SUCH_DEPARTMENT: i64 = 40_004;
/// A message or its recipient is malformed.
pub(crate) const BAD_MESSAGE: i64 = 230_001;
/// This client's own word for a profile without a user id, for which the platform has no error code.
pub(crate) const USER_ID_MISSING: &str = "user_id_missing";

/// Explains an error code. For an unknown code, the explanation says where to look it up.
#[must_use]
pub fn explain(code: &ErrorCode) -> Explanation {
    let row = match code {
        ErrorCode::Number(number) => TABLE.iter().find(|row| row.codes.contains(number)),
        ErrorCode::Word(word) if **word == *USER_ID_MISSING => Some(&USER_ID_MISSING_ROW),
        ErrorCode::Word(word) => OAUTH_ROWS.iter().find(|(name, _)| **word == **name).map(|(_, row)| row),
    };
    row.map_or(UNKNOWN, |row| Explanation { fixable_by: row.fixable_by, text: row.text })
}

/// What an error code of an API means to the service.
pub(crate) fn meaning(api: Api, code: &ErrorCode) -> Meaning {
    // The only word of OAuth about what a client brings.
    if code.as_word() == Some("invalid_grant") {
        return Meaning::StartAgain;
    }
    match code.number() {
        // The calls of a minute or of the month: any client can use either up.
        Some(RATE_LIMITED | USED_UP | 11_232 | 11_233 | 11_247 | 230_020) => Meaning::Limited,
        Some(code) if is_busy(code) => Meaning::Retry,
        // This call carries the token of a user, which cannot be renewed without the user.
        Some(99_991_663..=99_991_665 | 99_991_668 | 99_991_671) if api == USER_INFO => Meaning::StartAgain,
        Some(99_991_663..=99_991_665 | 99_991_668 | 99_991_671) => Meaning::Refresh,
        // Any client can bring a code of another application, browser or address, so none of these says anything about sign-in.
        Some(20_003 | 20_004 | 20_005 | 20_006 | 20_007 | 20_024 | 20_049 | 20_065 | 20_071 | 99_991_677) => {
            Meaning::StartAgain
        }
        Some(20_008 | 20_021..=20_023 | 20_066) => Meaning::Gone,
        Some(20_010 | 40_004 | 41_050) => Meaning::OutOfRange,
        Some(code) if api.purpose == ApiPurpose::Message && is_permanent_for_message(code) => Meaning::Rejected,
        Some(
            20_001 | 20_036 | 20_063 | 20_067 | 20_068 | 20_070 | 40_001 | 40_011 | 40_012 | 99_991_661 | 99_992_402,
        ) => Meaning::Developer,
        _ => Meaning::Administrator,
    }
}

/// Whether the platform is busy or has a fault: the same call may succeed in a moment.
pub(crate) fn is_busy(code: i64) -> bool {
    matches!(code, 2_200 | 20_050 | 20_072 | 40_003 | 230_049)
}

/// Whether App ID or App Secret are wrong, or the application is stopped: the platform would refuse every repetition.
pub(crate) fn is_wrong_credential(code: &ErrorCode) -> bool {
    matches!(code.number(), Some(10_003 | 10_014 | 10_015))
}

/// Whether the application lacks the permission for a call.
pub(crate) fn is_missing_permission(code: &ErrorCode) -> bool {
    matches!(code.number(), Some(99_991_672 | 99_991_676 | 99_991_679))
}

/// Whether sending the same message again fails in the same way: the error is about the recipient or the message.
fn is_permanent_for_message(code: i64) -> bool {
    matches!(
        code,
        41_012
            | 230_001
            | 230_002
            | 230_011
            | 230_013
            | 230_022
            | 230_025
            | 230_028
            | 230_029
            | 230_031
            | 230_034
            | 230_035
            | 230_038
            | 230_053
            | 230_075
            | 230_099
            | 230_110
            | 99_992_351
            | 99_992_354
            | 99_992_359..=99_992_361
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::api::USER_TOKEN;

    #[test]
    fn every_row_speaks_both_languages_and_no_number_occurs_twice() {
        let mut seen = HashSet::new();
        for row in TABLE.iter().chain([&USER_ID_MISSING_ROW]).chain(OAUTH_ROWS.iter().map(|(_, row)| row)) {
            let [english, chinese] = row.text;
            assert!(english.is_ascii() && english.ends_with('.') && english.len() > 20, "{:?}", row.codes);
            let is_chinese = chinese.ends_with('。') && chinese.chars().filter(|c| !c.is_ascii()).count() > 5;
            assert!(is_chinese, "{:?}", row.codes);
            assert!(row.codes.iter().all(|code| seen.insert(*code)), "{:?}", row.codes);
        }
        assert!(TABLE.iter().all(|row| !row.codes.is_empty()));
        assert!(!seen.contains(&0), "success is no error");
    }

    #[test]
    fn a_word_of_another_origin_is_unknown() {
        assert_eq!(explain(&ErrorCode::word("InvalidAuthentication")), UNKNOWN);
        assert_ne!(explain(&ErrorCode::word(USER_ID_MISSING)), UNKNOWN);
        for (word, expected) in [("invalid_grant", Meaning::StartAgain), ("invalid_client", Meaning::Administrator)] {
            let code = ErrorCode::word(word);
            assert_eq!(meaning(USER_TOKEN, &code), expected, "{word}");
            assert_ne!(explain(&code), UNKNOWN, "{word}");
        }
    }
}
