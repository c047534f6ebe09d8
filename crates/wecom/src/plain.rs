//! Texts from outside, in a shape that can be passed on.

/// The text without control characters, cut to `at_most` characters.
pub(crate) fn plain(text: &str, at_most: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(at_most).collect()
}

/// Whether a text is 1 to 512 bytes of visible ASCII, as the platform's codes, tokens and identifiers are.
pub(crate) fn is_visible(text: &str) -> bool {
    (1..=512).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}
