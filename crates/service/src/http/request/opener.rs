//! Which page opened a link, as far as the browser reports.

use axum::extract::FromRequestParts;
use deskpass_auth::LinkOpener;
use deskpass_platform::{EntryPoint, LinkLanguage, LinkRequest};
use hyper::HeaderMap;
use hyper::header::{HeaderValue, REFERER};
use hyper::http::request::Parts;
use url::{Origin, Url};

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, RequestContext};

/// What opened the link, as far as the browser reports. The app itself opens a scanned code, also through the platform's redirect:
/// `Sec-Fetch-Site` covers all addresses of a redirect and stays `none` then. The app also opens links in messages, which cannot be
/// distinguished from scans.
#[derive(Debug)]
pub(crate) struct Opener(pub(crate) LinkOpener);

impl FromRequestParts<RequestContext> for Opener {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self(opener(&parts.headers, &expected(&context.app))))
    }
}

impl DescribeInput for Opener {}

/// The origins whose pages normally lead to the callback: our own, and those of the platform.
fn expected(app: &App) -> Vec<Origin> {
    let link = |entry| {
        let (redirect_uri, state, challenge, language) = (&*app.settings.public_url, "", None, LinkLanguage::En);
        app.auth.platform.link(&LinkRequest { entry, redirect_uri, state, challenge, language })
    };
    let links = [EntryPoint::Client, EntryPoint::Browser].into_iter().filter_map(link);
    let urls = links.chain([app.settings.public_url.to_string()]);
    urls.filter_map(|url| Url::parse(&url).ok()).map(|url| url.origin()).collect()
}

fn opener(headers: &HeaderMap, expected: &[Origin]) -> LinkOpener {
    let referer = headers.get(REFERER).and_then(|page| Url::parse(page.to_str().ok()?).ok()).map(|page| page.origin());
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    match (site, referer) {
        (Some(b"none" | b"same-origin"), _) => LinkOpener::NoOtherPage,
        (_, Some(page)) if expected.contains(&page) => LinkOpener::Unknown,
        // An older browser, which sends the referrer unless the page forbids it.
        (None, None) => LinkOpener::Unknown,
        // A page cannot send another origin as its referrer, but it can send none.
        (Some(_), _) | (None, Some(_)) => LinkOpener::OtherPage,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_opener_is_told_by_what_the_browser_sends() {
        let expected = ["https://desk.example.com", "https://platform.example.com/connect"];
        let expected: Vec<_> = expected.iter().map(|url| Url::parse(url).unwrap().origin()).collect();
        let (ours, platform) = ("https://desk.example.com/h5/", "https://platform.example.com/");
        let (evil, sibling) = ("https://evil.example.net/", "https://platform.example.com:444/");
        for (site, referer, by) in [
            (None, None, LinkOpener::Unknown),
            (None, Some(platform), LinkOpener::Unknown),
            (None, Some(ours), LinkOpener::Unknown),
            (None, Some("not an address"), LinkOpener::Unknown),
            (None, Some(evil), LinkOpener::OtherPage),
            (Some("none"), None, LinkOpener::NoOtherPage),
            (Some("none"), Some(evil), LinkOpener::NoOtherPage),
            (Some("same-origin"), Some(ours), LinkOpener::NoOtherPage),
            (Some("cross-site"), Some(platform), LinkOpener::Unknown),
            (Some("cross-site"), Some(sibling), LinkOpener::OtherPage),
            (Some("cross-site"), Some(evil), LinkOpener::OtherPage),
            (Some("cross-site"), None, LinkOpener::OtherPage),
            (Some("same-site"), None, LinkOpener::OtherPage),
            (Some("same-site"), Some("not an address"), LinkOpener::OtherPage),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [("sec-fetch-site", site), ("referer", referer)] {
                value.map(|value| headers.insert(name, value.parse().unwrap()));
            }
            assert_eq!(opener(&headers, &expected), by, "{site:?} {referer:?}");
        }
    }
}
