//! The text of a refusal by the platform: it is logged and never used for a decision.

use percent_encoding::percent_decode_str;

use super::sanitize::sanitize;
use crate::ErrorCode;

/// The maximum length of a logged message, in characters.
const MAX_CHARS: usize = 256;

/// The minimum length of a secret: replacing shorter ones would redact ordinary words.
const MIN_SECRET_BYTES: usize = 8;
/// The part of a secret, from its beginning, that gives it away in a text that was cut.
const TELLING_BYTES: usize = 16;
/// Takes the place of secrets in messages, and of error codes with secrets.
const REDACTED: &str = "***";
const REDACTED_CODE: &str = "redacted";

/// The secrets of a call, which the platform may echo.
pub(super) struct Secrets<'a>(Vec<&'a str>);

impl<'a> Secrets<'a> {
    pub(super) fn new(secrets: &'a [String]) -> Self {
        Self(secrets.iter().map(String::as_str).filter(|secret| secret.len() >= MIN_SECRET_BYTES).collect())
    }

    /// A message without invisible characters and without secrets.
    pub(super) fn message(&self, errmsg: &str) -> String {
        let visible = sanitize(errmsg, usize::MAX);
        let redacted = self.0.iter().fold(visible, |text, secret| text.replace(secret, REDACTED));
        // A part of a URL may be encoded in more than one way, so the place of a secret in it is not known.
        let decoded = percent_decode_str(&redacted).decode_utf8_lossy();
        if self.0.iter().any(|secret| decoded.contains(secret)) {
            return REDACTED.to_owned();
        }
        redacted.chars().take(MAX_CHARS).collect()
    }

    /// A hint, unless it has invisible characters, or a secret or the beginning of one.
    pub(super) fn hint(&self, hint: String) -> Option<String> {
        let is_clean = sanitize(&hint, MAX_CHARS) == hint && !self.is_told_by(&hint);
        is_clean.then_some(hint)
    }

    fn is_told_by(&self, text: &str) -> bool {
        let decoded = percent_decode_str(text).decode_utf8_lossy();
        self.0.iter().map(|secret| beginning(secret)).any(|start| text.contains(start) || decoded.contains(start))
    }

    /// An error code, in which only a word can have a secret. A word lacks all characters that identifiers do not have.
    pub(super) fn code(&self, code: ErrorCode) -> ErrorCode {
        let is_in = |word: &str, secret: &str| {
            let stripped = ErrorCode::word(secret);
            let stripped = stripped.as_word().filter(|text| text.len() >= MIN_SECRET_BYTES);
            word.contains(beginning(secret)) || stripped.is_some_and(|text| word.contains(beginning(text)))
        };
        let tells = code.as_word().is_some_and(|word| self.0.iter().any(|secret| is_in(word, secret)));
        if tells { ErrorCode::word(REDACTED_CODE) } else { code }
    }
}

fn beginning(secret: &str) -> &str {
    secret.get(..TELLING_BYTES).unwrap_or(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, secrets: &[&str]) -> String {
        let secrets: Vec<String> = secrets.iter().map(ToString::to_string).collect();
        Secrets::new(&secrets).message(text)
    }

    #[test]
    fn messages_are_short_printable_and_free_of_secrets() {
        assert_eq!(message("a\n\u{1b}[31mb\0\u{85}c", &[]), "a[31mbc");
        assert_eq!(message(&"字".repeat(9_999), &[]).chars().count(), MAX_CHARS);
        assert_eq!(message("bad secret hunter2-hunter2, a", &["hunter2-hunter2", "a"]), "bad secret ***, a");
        for echoed in
            ["/x?code=hunter%2B2%2fhunter", "hunter%2b2/hunter", "%68unter+2/hunter", "hun\u{200b}ter+2/hunter"]
        {
            assert!(message(echoed, &["hunter+2/hunter"]).contains(REDACTED), "{echoed}");
            assert!(!message(echoed, &["hunter+2/hunter"]).contains("hunter"), "{echoed}");
        }
        assert_eq!(message("100% wrong: %zz", &["hunter2-hunter2"]), "100% wrong: %zz");
    }

    #[test]
    fn hints_and_words_have_no_secrets() {
        let secret = ["hunter+2/hunter-and-more".to_owned()];
        let secrets = Secrets::new(&secret);
        for hint in ["id hunter+2/hunter-and-more", "hunter%2B2%2Fhunter-and-more", "cut: hunter+2/hunter-"] {
            assert_eq!(secrets.hint(hint.to_owned()), None, "{hint}");
        }
        assert_eq!(secrets.hint("r1; hunter".to_owned()).as_deref(), Some("r1; hunter"));
        for (word, shown) in [
            ("hunter+2/hunter-and-more", REDACTED_CODE),
            ("x.hunter2/hunter-and-mo", REDACTED_CODE),
            ("invalid.hunter", "invalid.hunter"),
        ] {
            assert_eq!(secrets.code(ErrorCode::word(word)), ErrorCode::word(shown), "{word}");
        }
        assert_eq!(secrets.code(ErrorCode::Number(7)), ErrorCode::Number(7));
    }
}
