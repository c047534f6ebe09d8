//! Sanitizes texts from outside.

use deskpass_core::is_invisible;
use url::Url;

const MAX_NAME_CHARS: usize = 128;
const MAX_AVATAR_URL_BYTES: usize = 512;

/// The longest e-mail address (RFC 5321).
const MAX_EMAIL_BYTES: usize = 254;

/// Removes invisible and reordering characters, and truncates to `at_most` characters.
#[must_use]
pub fn sanitize(text: &str, at_most: usize) -> String {
    text.chars().filter(|c| !is_invisible(*c)).take(at_most).collect()
}

/// A name for people without invisible characters; `None` if nothing is left.
#[must_use]
pub fn sanitize_name(text: &str) -> Option<String> {
    Some(sanitize(text, MAX_NAME_CHARS)).filter(|name| !name.is_empty())
}

/// The URL of a picture, normalized so that it can be put into a page.
#[must_use]
pub fn avatar_url(text: &str) -> Option<String> {
    let fits = |text: &str| text.len() <= MAX_AVATAR_URL_BYTES;
    let url = Url::parse(text).ok().filter(|url| fits(text) && matches!(url.scheme(), "http" | "https"))?;
    Some(url.into()).filter(|url: &String| fits(url))
}

/// An e-mail address in lower case; an empty text stays empty, and what is no plain address is `None`.
#[must_use]
pub fn email_address(text: &str) -> Option<String> {
    let plain = |part: &str, marks: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
    };
    let fits = |text: &str| {
        let (name, domain) = text.split_once('@')?;
        (text.len() <= MAX_EMAIL_BYTES && plain(name, "._%+-'") && plain(domain, ".-") && domain.contains('.'))
            .then(|| text.to_ascii_lowercase())
    };
    if text.is_empty() { Some(String::new()) } else { fits(text) }
}

/// Whether a text is 1 to 512 bytes of visible ASCII, like the platform's codes, tokens and identifiers.
#[must_use]
pub fn is_visible_ascii(text: &str) -> bool {
    (1..=512).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_plain_and_in_lower_case() {
        assert_eq!(email_address("Li.Lei@Example.com").as_deref(), Some("li.lei@example.com"));
        assert_eq!(email_address("").as_deref(), Some(""));
        for bad in ["@", "a", "a@", "@b.c", "a@b", "a b@c.d", "a@b@c.d", "李@例子.公司", "a\n@b.c", "<a@b.c>"] {
            assert_eq!(email_address(bad), None, "{bad}");
        }
        assert_eq!(email_address(&format!("{}@example.com", "a".repeat(250))), None);
    }

    #[test]
    fn invisible_characters_are_removed_from_names() {
        for mark in "\u{61c}\u{200b}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{feff}\n\u{1b}".chars() {
            assert_eq!(sanitize(&format!("{mark}张{mark}三{mark}"), 2), "张三", "{mark:?}");
        }
        assert_eq!(sanitize("阿不都·热合曼\u{3000}محمد", 128), "阿不都·热合曼\u{3000}محمد");
    }
}
