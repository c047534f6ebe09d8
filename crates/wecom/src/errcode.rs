//! The meaning of the platform's error codes, and who can fix the cause.

mod table;

use table::{TABLE, UNKNOWN};

/// Who can fix the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixableBy {
    /// The user who signs in, by starting again.
    Person,
    /// An administrator, in the platform's console or in this service's settings.
    Administrator,
    /// The developers of this service.
    Developer,
    /// No action is needed: the error is temporary or harmless.
    Nobody,
}

/// The meaning of an error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrcodeInfo {
    /// Who can fix the cause.
    pub fixable_by: FixableBy,
    /// The meaning and the fix, in English and in Chinese.
    pub text: [&'static str; 2],
}

/// Explains an error code. For an unknown code, the explanation says where to look it up.
#[must_use]
pub fn explain(code: i64) -> ErrcodeInfo {
    let row = TABLE.iter().find(|row| row.codes.contains(&code));
    row.map_or(UNKNOWN, |row| ErrcodeInfo { fixable_by: row.fixable_by, text: row.text })
}

/// Whether sending the same message again fails in the same way: the error is about the recipient, the message or the
/// application's id. Every other error may pass; above all an outage of sign-in, which is when passwords are used.
#[must_use]
pub fn is_permanent_for_message(code: i64) -> bool {
    matches!(code, 40003 | 40008 | 40056 | 41011 | 44004 | 45002 | 60111 | 81013 | 82001)
}

/// Whether the member is not, or no longer, in the application's visible range.
#[must_use]
pub fn is_outside_visible_range(code: i64) -> bool {
    matches!(code, 60011 | 60111)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_has_both_languages_and_no_code_appears_twice() {
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
}
