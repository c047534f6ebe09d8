//! The frame of every page, and the escaping of text in it.

use std::fmt::{self, Write as _};

use crate::language::PageLanguage;

const STYLE: &str = include_str!("../page.css");

/// Text that is HTML-escaped on output. A few pages with texts only need no template engine.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            char => f.write_char(char),
        })
    }
}

/// A whole page.
pub(super) fn frame(language: PageLanguage, class: &str, title: &str, body: &str) -> String {
    let tag = language.pick("en", "zh-CN");
    format!(
        "<!doctype html>\n<html lang=\"{tag}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head><body><main class=\"{class}\">{body}</main></body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        assert_eq!(
            Escaped("<a b=\"c\" d='e'>&amp;你").to_string(),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;你"
        );
    }
}
