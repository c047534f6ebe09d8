//! The text of a refusal by the platform: it is logged and never used for a decision.

use super::sanitize::sanitize;

/// The maximum length of a logged message, in characters.
const MAX_CHARS: usize = 256;

/// The platform's text for an error code.
pub(super) struct ErrorMessage(pub(super) String);

impl ErrorMessage {
    /// Creates a message without invisible characters and without the secrets of the call, in case the platform echoes them.
    pub(super) fn new<'a>(errmsg: &str, secrets: impl Iterator<Item = &'a str>) -> Self {
        // Replacing shorter secrets would redact ordinary words.
        let redacted =
            secrets.filter(|secret| secret.len() >= 8).fold(errmsg.to_owned(), |text, s| text.replace(s, "***"));
        Self(sanitize(&redacted, MAX_CHARS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> ErrorMessage {
        ErrorMessage::new(text, std::iter::empty())
    }

    #[test]
    fn messages_are_short_printable_and_free_of_secrets() {
        assert_eq!(message("a\n\u{1b}[31mb\0\u{85}c").0, "a[31mbc");
        assert_eq!(message(&"字".repeat(9_999)).0.chars().count(), MAX_CHARS);
        let echoed = ErrorMessage::new("bad secret hunter2-hunter2, a", ["hunter2-hunter2", "a"].into_iter());
        assert_eq!(echoed.0, "bad secret ***, a");
    }
}
