//! Why something is done, in the words of the person who does it.

use crate::is_invisible;

/// The most characters of a reason.
pub const MAX_REASON_CHARS: usize = 200;

/// Reads a reason, without the blanks around it; `None` unless it has 1 to 200 characters, all visible. It is shown in one line of
/// the log.
#[must_use]
pub fn parse_reason(text: &str) -> Option<&str> {
    let reason = text.trim();
    let fits = (1..=MAX_REASON_CHARS).contains(&reason.chars().count()) && !reason.chars().any(is_invisible);
    fits.then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_short_and_visible() {
        assert_eq!(parse_reason("  on call this weekend "), Some("on call this weekend"));
        let (longest, too_long) = ("字".repeat(MAX_REASON_CHARS), "字".repeat(MAX_REASON_CHARS + 1));
        assert_eq!(parse_reason(&longest), Some(&*longest));
        for wrong in ["", "  ", "two\nlines", "hidden\u{200b}", "turned \u{202e}around", too_long.as_str()] {
            assert_eq!(parse_reason(wrong), None, "{wrong:?}");
        }
    }
}
