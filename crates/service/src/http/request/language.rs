//! The language of the client.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use deskpass_core::preferred;
use hyper::HeaderMap;
use hyper::header::{ACCEPT_LANGUAGE, COOKIE};
use hyper::http::request::Parts;

use crate::config::Language;
use crate::http::request::{DescribeInput, RequestContext};

/// The cookie with the language that the user chose on a page.
pub(crate) const LANGUAGE_COOKIE: &str = "deskpass_language";

/// The language of a request: for our own pages the one that their user chose, whatever the browser says, else the client's.
pub(crate) fn of_request(headers: &HeaderMap, default: Language) -> Language {
    let from_own_page = headers.contains_key("x-requested-with");
    let chosen = if from_own_page { chosen(headers) } else { None };
    chosen.or_else(|| accepted(headers)).unwrap_or(default)
}

/// The language that the user chose on a page.
pub(crate) fn chosen(headers: &HeaderMap) -> Option<Language> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|pair| match pair {
        (LANGUAGE_COOKIE, "en") => Some(Language::En),
        (LANGUAGE_COOKIE, "zh-CN") => Some(Language::Zh),
        _ => None,
    })
}

/// The supported language that the client prefers.
fn accepted(headers: &HeaderMap) -> Option<Language> {
    let lines = headers.get_all(ACCEPT_LANGUAGE).iter().filter_map(|line| line.to_str().ok());
    // Of a language tag, only the first part counts.
    preferred(lines, |tag| match tag.split('-').next()?.to_ascii_lowercase().as_str() {
        "en" => Some(Language::En),
        "zh" => Some(Language::Zh),
        _ => None,
    })
}

impl FromRequestParts<RequestContext> for Language {
    type Rejection = Infallible;
    async fn from_request_parts(_: &mut Parts, context: &RequestContext) -> Result<Self, Infallible> {
        Ok(context.language)
    }
}

impl DescribeInput for Language {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_liked_language_wins() {
        let of = |accepted: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_LANGUAGE, hyper::header::HeaderValue::from_static(accepted));
            of_request(&headers, Language::En)
        };
        assert_eq!(of("zh-CN,zh;q=0.9,en;q=0.8"), Language::Zh);
        assert_eq!(of("en-US,zh;q=0.9"), Language::En);
        assert_eq!(of("fr, zh;q=0.1"), Language::Zh);
        assert_eq!(of("fr"), Language::En);
        assert_eq!(of("zh;q=0"), Language::En);
        assert_eq!(of(";;;q=,,zh;q=x"), Language::En);
        assert_eq!(of_request(&HeaderMap::new(), Language::Zh), Language::Zh);
    }
}
