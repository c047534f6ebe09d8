//! Which page opened a link, as far as the browser reports.

use axum::extract::FromRequestParts;
use hyper::HeaderMap;
use hyper::header::{HeaderValue, REFERER};
use hyper::http::request::Parts;
use url::{Origin, Url};

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, RequestContext};

/// Whether a page of another site opened the link, as far as the browser reports. The app itself opens a scanned code, also
/// through the platform's redirect: `Sec-Fetch-Site` covers all addresses of a redirect and stays `none` then. The app also opens
/// links in messages, which cannot be distinguished from scans.
#[derive(Debug)]
pub(crate) struct OpenedByPage(pub(crate) bool);

impl FromRequestParts<RequestContext> for OpenedByPage {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self(is_opened_by_page(&parts.headers, &expected(&context.app))))
    }
}

impl DescribeInput for OpenedByPage {}

/// The origins whose pages normally lead to the callback: our own, and those of the platform.
fn expected(app: &App) -> Vec<Origin> {
    let platform = &app.settings.platform;
    let urls = [&*app.settings.public_url, &platform.authorize_url, &platform.web_login_url];
    urls.into_iter().filter_map(|url| Url::parse(url).ok()).map(|url| url.origin()).collect()
}

fn is_opened_by_page(headers: &HeaderMap, expected: &[Origin]) -> bool {
    let referer = headers.get(REFERER).and_then(|page| Url::parse(page.to_str().ok()?).ok()).map(|page| page.origin());
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    match (site, referer) {
        (Some(b"none" | b"same-origin"), _) => false,
        // A page cannot send another origin as its referrer, but it can send none.
        (Some(_), referer) => referer.is_none_or(|page| !expected.contains(&page)),
        // An older browser, which sends the referrer unless the page forbids it.
        (None, referer) => referer.is_some_and(|page| !expected.contains(&page)),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn only_a_foreign_page_counts_as_an_opener() {
        let expected = ["https://desk.example.com", "https://platform.example.com/connect"];
        let expected: Vec<_> = expected.iter().map(|url| Url::parse(url).unwrap().origin()).collect();
        let (ours, platform) = ("https://desk.example.com/h5/", "https://platform.example.com/");
        let (evil, sibling) = ("https://evil.example.net/", "https://platform.example.com:444/");
        for (site, referer, by_page) in [
            (None, None, false),
            (None, Some(platform), false),
            (None, Some(ours), false),
            (None, Some(evil), true),
            (Some("none"), None, false),
            (Some("none"), Some(evil), false),
            (Some("same-origin"), Some(ours), false),
            (Some("cross-site"), Some(platform), false),
            (Some("cross-site"), Some(sibling), true),
            (Some("cross-site"), Some(evil), true),
            (Some("cross-site"), None, true),
            (Some("same-site"), None, true),
            (Some("same-site"), Some("not an address"), true),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [("sec-fetch-site", site), ("referer", referer)] {
                value.map(|value| headers.insert(name, value.parse().unwrap()));
            }
            assert_eq!(is_opened_by_page(&headers, &expected), by_page, "{site:?} {referer:?}");
        }
    }
}
