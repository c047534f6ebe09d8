//! The language of a page.

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
        let preferences = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut best = (Self::En, 0.0);
        for (language, quality) in preferences.split(',').take(32).filter_map(parse_preference) {
            if quality > best.1 {
                best = (language, quality);
            }
        }
        best.0
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

fn parse_preference(item: &str) -> Option<(PageLanguage, f32)> {
    let (tag, quality) = item.split_once(';').unwrap_or((item, "q=1"));
    let quality = quality.trim().strip_prefix("q=")?.parse().ok()?;
    Some((PageLanguage::from_name(tag)?, quality))
}
