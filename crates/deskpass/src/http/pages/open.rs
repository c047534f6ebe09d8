//! The page that obtains a code by the platform's own script, inside the platform's app.

use axum::response::{IntoResponse as _, Response};
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use hyper::{HeaderMap, Uri};
use url::Url;

use super::serve_page;
use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::request::Opener;
use crate::http::response::SetCookie;

/// Serves the page. What opened it is recorded for the callback, which the page itself opens.
pub(crate) async fn open_page(
    app: App,
    uri: Uri,
    preferred: Language,
    headers: HeaderMap,
    Opener(opener): Opener,
) -> Result<Response, ApiError> {
    let mut response = serve_page(&app, uri.path(), preferred, &headers).ok_or(ApiError::PathNotFound)?;
    let script = app.auth.platform.script();
    if let Some(policy) = script.and_then(|script| content_policy(&script.script_url)) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    Ok((SetCookie::page_opener(&app, opener), response).into_response())
}

/// As for the other pages, and allows the origin of the platform's script, which may make markup from text.
fn content_policy(script_url: &str) -> Option<HeaderValue> {
    let origin = Url::parse(script_url).ok()?.origin().ascii_serialization();
    let policy = format!(
        "default-src 'none'; script-src 'self' {origin}; style-src 'self'; img-src 'self' data:; connect-src 'self' {origin}; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_the_origin_of_the_script_and_no_other() {
        let policy = content_policy("https://scripts.example.com:8443/a/b.js?c").unwrap();
        let policy = policy.to_str().unwrap();
        assert!(policy.contains("script-src 'self' https://scripts.example.com:8443; "), "{policy}");
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains('*') && !policy.contains("unsafe"));
        assert!(content_policy("not an address").is_none());
    }
}
