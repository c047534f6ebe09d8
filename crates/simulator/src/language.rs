//! The language of a page.

use deskpass_core::preferred;
use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;

/// A supported language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageLanguage {
    En,
    Zh,
}

impl PageLanguage {
    /// The browser's preferred language.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(ACCEPT_LANGUAGE).iter().filter_map(|line| line.to_str().ok());
        preferred(lines, Self::from_name).unwrap_or(Self::En)
    }

    pub(crate) fn from_name(tag: &str) -> Option<Self> {
        match tag.trim().split('-').next()?.to_ascii_lowercase().as_str() {
            "en" => Some(Self::En),
            "zh" => Some(Self::Zh),
            _ => None,
        }
    }

    /// Selects the text in this language.
    pub(crate) fn pick<T>(self, english: T, chinese: T) -> T {
        match self {
            Self::En => english,
            Self::Zh => chinese,
        }
    }
}
