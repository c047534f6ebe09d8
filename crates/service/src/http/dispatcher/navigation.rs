//! How a browser comes to an address, as far as it reports.

use axum::response::{IntoResponse as _, Response};
use hyper::{HeaderMap, Uri};

use crate::App;
use crate::http::error::{ApiError, BadRequest};
use crate::http::oidc::authorize::{AUTHORIZE, answer_foreign_frame};
use crate::http::route::{OtherSites, Route};

/// The answer to a request for an address for people that is no navigation: an error, except to a frame of another site that a library
/// opened to look for a session.
pub(super) async fn answer_other(app: &App, route: &Route, headers: &HeaderMap, uri: &Uri) -> Response {
    let silent = match route.path {
        AUTHORIZE if is_foreign_frame(headers) => answer_foreign_frame(app, uri).await,
        _ => None,
    };
    silent.unwrap_or_else(|| ApiError::from(BadRequest::NotANavigation).into_response())
}

/// Whether a browser prefetches the page, without a navigation of the user.
pub(super) fn is_prefetch(headers: &HeaderMap) -> bool {
    let says =
        |name: &str, word: &str| headers.get(name).is_some_and(|value| value.as_bytes().starts_with(word.as_bytes()));
    says("sec-purpose", "prefetch") || says("purpose", "prefetch") || says("x-moz", "prefetch")
}

/// Whether a frame of another site asks. Its request has no cookie of ours, and whatever the answer is, the frame shows nothing of it.
fn is_foreign_frame(headers: &HeaderMap) -> bool {
    let is = |name: &str, words: &[&str]| {
        headers.get(name).is_some_and(|value| words.iter().any(|word| value.as_bytes() == word.as_bytes()))
    };
    is("sec-fetch-mode", &["navigate"])
        && is("sec-fetch-dest", &["iframe", "frame"])
        && is("sec-fetch-site", &["cross-site"])
}

/// Whether a page of another site sends a request that it may not send to this route. Visited routes decide about frames themselves.
pub(super) fn is_foreign(route: &Route, headers: &HeaderMap) -> bool {
    if headers.get("sec-fetch-site").is_none_or(|site| site != "cross-site") {
        return false;
    }
    let navigates = || headers.get("sec-fetch-mode").is_none_or(|mode| mode == "navigate");
    match route.other_sites {
        OtherSites::Refused => true,
        OtherSites::Lead if route.is_visited => !navigates(),
        OtherSites::Lead => !is_navigation(headers),
        OtherSites::Call => false,
    }
}

/// Whether a browser shows the answer to its user. Otherwise any page could use up the limit of everyone behind its visitor's
/// address. A frame of the same site may look for a session without asking the user; programs report nothing.
pub(in crate::http) fn is_navigation(headers: &HeaderMap) -> bool {
    let is_one_of = |name: &str, words: &[&str]| {
        headers.get(name).is_none_or(|value| words.iter().any(|word| value.as_bytes() == word.as_bytes()))
    };
    let is_own_frame = is_one_of("sec-fetch-dest", &["iframe", "frame"])
        && is_one_of("sec-fetch-site", &["same-origin", "same-site", "none"]);
    is_one_of("sec-fetch-mode", &["navigate"]) && (is_own_frame || is_one_of("sec-fetch-dest", &["document", "empty"]))
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    /// Whether a request with this mode, destination and site is a navigation.
    fn is_one(mode: &'static str, destination: &'static str, site: &'static str) -> bool {
        let sent = [("sec-fetch-mode", mode), ("sec-fetch-dest", destination), ("sec-fetch-site", site)];
        let sent = sent.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        is_navigation(&HeaderMap::from_iter(sent))
    }

    #[test]
    fn only_what_the_user_sees_is_a_navigation() {
        assert!(is_navigation(&HeaderMap::new()), "a program, or an old browser");
        assert!(is_one("navigate", "document", "cross-site"));
        assert!(is_one("navigate", "iframe", "same-site"));
        for (mode, destination) in [
            ("navigate", "iframe"),
            ("navigate", "object"),
            ("navigate", "embed"),
            ("no-cors", "image"),
            ("no-cors", "script"),
            ("no-cors", "empty"),
            ("cors", "empty"),
        ] {
            assert!(!is_one(mode, destination, "cross-site"), "{mode} {destination}");
        }
    }
}
