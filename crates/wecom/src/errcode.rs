//! The meaning of the platform's error codes, and who can fix the cause.

mod table;

use std::time::Duration;

use deskpass_platform::client::Api;
use deskpass_platform::{Explanation, FixableBy, Meaning};

use crate::api::{CARD_UPDATE, DEPARTMENT, DEPARTMENT_LIST, LINKED_USER, MESSAGE, TAG, TOKEN, USER, USER_LIST};
use table::{TABLE, UNKNOWN};

/// The agent id is missing.
pub(crate) const NO_AGENT_ID: i64 = 41011;
/// The agent id is not a number.
pub(crate) const BAD_AGENT_ID: i64 = 40056;
/// A message has no valid recipient.
pub(crate) const NO_VALID_RECIPIENT: i64 = 81013;
/// The application has no address for callbacks.
pub(crate) const NO_CALLBACK: i64 = 43012;
/// The caller's address is not on the application's list of trusted addresses.
pub(crate) const UNTRUSTED_ADDRESS: i64 = 60020;
/// The secret is wrong, or belongs to another corporation.
pub(crate) const WRONG_SECRET: [i64; 2] = [40001, 40091];

/// Explains an error code. For an unknown code, the explanation says where to look it up.
pub(crate) fn explain(code: i64) -> Explanation {
    let row = TABLE.iter().find(|row| row.codes.contains(&code));
    row.map_or(UNKNOWN, |row| Explanation { fixable_by: row.fixable_by, text: row.text })
}

/// What an error code of an API means to the service.
pub(crate) fn meaning(api: Api, code: i64) -> Meaning {
    match (api, code) {
        // The platform is busy, or two writes collided: both are temporary.
        (_, -1 | 6000) => Meaning::Retry,
        (_, 45009 | 45033) => Meaning::Limited,
        // 40001 refers to the secret in a token request, and to the token in all other calls.
        (api, 40001 | 40014 | 42001) if api != TOKEN => Meaning::Refresh,
        (MESSAGE | CARD_UPDATE, code) if is_permanent_for_message(code) => Meaning::Rejected,
        // The code with which a card can be changed is unknown, used or expired.
        (CARD_UPDATE, 40058 | 42003) => Meaning::Rejected,
        // A member, department or tag that is not found may be outside the application's visible range.
        (USER, 60011 | 60111)
        | (DEPARTMENT | DEPARTMENT_LIST | USER_LIST, 40066 | 60003 | 60011 | 60123)
        | (TAG, 40068 | 60011) => Meaning::OutOfRange,
        (LINKED_USER, 60111) => Meaning::Gone,
        (_, code) => match explain(code).fixable_by {
            FixableBy::Person => Meaning::StartAgain,
            FixableBy::Administrator => Meaning::Administrator,
            FixableBy::Developer => Meaning::Developer,
            FixableBy::Nobody => Meaning::Rejected,
        },
    }
}

/// Whether sending the same message again fails in the same way: the error is about the recipient, the message, the
/// application's id or its missing callback. Every other error may pass; above all an outage of sign-in, which is when passwords
/// are used.
fn is_permanent_for_message(code: i64) -> bool {
    matches!(
        code,
        40003 | 40008 | 40056 | 41011 | 42014 | 42016 | 42022 | 43012 | 44004 | 45002 | 60111 | 81013 | 82001
    )
}

/// Whether a refusal is about a card, so that the same message may be accepted as a text.
pub(crate) fn is_about_card(code: i64) -> bool {
    matches!(code, 40008 | 40058 | 42014 | 42016 | 42022 | 42027..=42051 | NO_CALLBACK)
}

/// How long calls to an API pause after a refusal. Repeated wrong secrets block the caller's address for an hour.
pub(crate) fn pause(api: Api, code: i64, repeats: u32) -> Option<Duration> {
    match code {
        40001 | 40013 | 40091 | 41002 | 41004 if api == TOKEN => {
            Some(Duration::from_secs(60 << repeats.min(4)).min(Duration::from_mins(10)))
        }
        45009 => Some(Duration::from_mins(1)),
        45033 => Some(Duration::from_secs(5)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::api::USER_INFO;

    #[test]
    fn every_row_speaks_both_languages_and_no_number_occurs_twice() {
        let mut seen = HashSet::new();
        for row in TABLE {
            let [english, chinese] = row.text;
            assert!(english.is_ascii() && english.ends_with('.') && english.len() > 20, "{:?}", row.codes);
            assert!(
                chinese.ends_with('。') && chinese.chars().filter(|c| !c.is_ascii()).count() > 5,
                "{:?}",
                row.codes
            );
            assert!(!row.codes.is_empty() && row.codes.iter().all(|code| seen.insert(*code)), "{:?}", row.codes);
        }
        assert!(!seen.contains(&0), "success is no error");
    }

    #[test]
    fn the_same_number_means_different_things_to_different_apis() {
        for (api, code, expected) in [
            (TOKEN, 40001, Meaning::Administrator),
            (USER_INFO, 40001, Meaning::Refresh),
            (MESSAGE, 42001, Meaning::Refresh),
            (USER_INFO, 40029, Meaning::StartAgain),
            (USER_INFO, 50002, Meaning::Administrator),
            (USER_INFO, 60011, Meaning::Administrator),
            (USER, 60011, Meaning::OutOfRange),
            (USER, 60111, Meaning::OutOfRange),
            (LINKED_USER, 60111, Meaning::Gone),
            (LINKED_USER, 60011, Meaning::Administrator),
            (DEPARTMENT, 60003, Meaning::OutOfRange),
            (TAG, 40068, Meaning::OutOfRange),
            (TAG, 60020, Meaning::Administrator),
            (MESSAGE, 60111, Meaning::Rejected),
            (MESSAGE, 60011, Meaning::Administrator),
            (MESSAGE, 60020, Meaning::Administrator),
            (MESSAGE, 40058, Meaning::Developer),
            (CARD_UPDATE, 40058, Meaning::Rejected),
            (USER_INFO, 6000, Meaning::Retry),
            (TOKEN, 45009, Meaning::Limited),
            (USER_INFO, 1, Meaning::Administrator),
        ] {
            assert_eq!(meaning(api, code), expected, "{} {code}", api.name);
        }
    }
}
