//! The text of a refusal by the platform: it is logged and never used for a decision.

use std::net::IpAddr;

use crate::sanitize::sanitize;

/// The maximum length of a logged message, in characters.
const MAX_CHARS: usize = 256;

/// The platform's text for an error code.
pub(crate) struct ErrorMessage(pub(crate) String);

impl ErrorMessage {
    /// Creates a message without invisible characters and without the secrets of the call, in case the platform echoes them.
    pub(crate) fn new<'a>(errmsg: &str, secrets: impl Iterator<Item = &'a str>) -> Self {
        // Replacing shorter secrets would redact ordinary words.
        let redacted =
            secrets.filter(|secret| secret.len() >= 8).fold(errmsg.to_owned(), |text, s| text.replace(s, "***"));
        Self(sanitize(&redacted, MAX_CHARS))
    }

    /// The hint that the platform's support asks for.
    pub(crate) fn hint(&self) -> Option<String> {
        let (hint, _) = self.0.split_once("hint: [")?.1.split_once(']')?;
        let fits = (1..=64).contains(&hint.len()) && hint.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        fits.then(|| hint.to_owned())
    }

    /// The address from which the platform saw the call come.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        let rest = self.0.split_once("from ip: ")?.1;
        let end = rest.find(|c: char| !c.is_ascii_hexdigit() && c != '.' && c != ':').unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> ErrorMessage {
        ErrorMessage::new(text, std::iter::empty())
    }

    #[test]
    fn hint_and_address_are_found_where_the_platform_puts_them() {
        let full =
            message("not allow to access from your ip, hint: [1655882753557010848204971], from ip: 1.2.3.4, more info");
        assert_eq!(full.hint().as_deref(), Some("1655882753557010848204971"));
        assert_eq!(full.address(), Some(IpAddr::from([1, 2, 3, 4])));
        assert_eq!(message("hint: [1622539468_161_0123abc]").hint().as_deref(), Some("1622539468_161_0123abc"));
        assert_eq!(message("from ip: 2001:db8::1").address(), "2001:db8::1".parse().ok());
    }

    #[test]
    fn other_texts_are_left_unchanged() {
        for text in
            ["", "hint: [", "hint: []", "hint: [<b>]", "from ip: ", "from ip: 1.2.3", "from ip: 用户", "HINT: [1]"]
        {
            assert_eq!((message(text).hint(), message(text).address()), (None, None), "{text}");
        }
    }

    #[test]
    fn messages_are_short_printable_and_free_of_secrets() {
        assert_eq!(message("a\n\u{1b}[31mb\0\u{85}c").0, "a[31mbc");
        assert_eq!(message(&"字".repeat(9_999)).0.chars().count(), MAX_CHARS);
        let echoed = ErrorMessage::new("bad secret hunter2-hunter2, a", ["hunter2-hunter2", "a"].into_iter());
        assert_eq!(echoed.0, "bad secret ***, a");
    }
}
