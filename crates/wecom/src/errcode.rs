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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_speaks_both_languages_and_no_number_stands_twice() {
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
