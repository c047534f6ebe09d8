//! The page that obtains a code by the platform's own script, inside the platform's app.

use axum::response::{IntoResponse as _, Response};
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use hyper::{HeaderMap, Uri};
use url::Url;

use super::{not_found, serve_page};
use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::request::{Cookies, Opener};
use crate::http::response::SetCookie;

/// Serves the page, where the platform has a script. What opened it is recorded for the callback, which the page itself opens.
pub(crate) async fn open_page(
    app: App,
    uri: Uri,
    preferred: Language,
    headers: HeaderMap,
    cookies: Cookies,
    Opener(opener): Opener,
) -> Result<Response, ApiError> {
    let Some(script) = app.auth.platform.script() else {
        return not_found(&app, preferred, &headers).ok_or(ApiError::PathNotFound);
    };
    let mut response = serve_page(&app, uri.path(), preferred, &headers).ok_or(ApiError::PathNotFound)?;
    if let Some(policy) = content_policy(&script.script_url) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    Ok((SetCookie::first_opener(&app, &cookies, opener), response).into_response())
}

/// As for the other pages, and allows the platform's script, which may make markup from text, but no other file of its origin.
fn content_policy(script_url: &str) -> Option<HeaderValue> {
    let url = Url::parse(script_url).ok()?;
    // A policy has no place for a query, and these two characters separate its parts.
    let path = url.path().replace(';', "%3B").replace(',', "%2C");
    let script = format!("{}{path}", url.origin().ascii_serialization());
    let policy = format!(
        "default-src 'none'; script-src 'self' {script}; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_the_script_and_nothing_else_of_its_origin() {
        let policy = content_policy("https://scripts.example.com:8443/a/b;,.js?c").unwrap();
        let policy = policy.to_str().unwrap();
        assert!(policy.contains("script-src 'self' https://scripts.example.com:8443/a/b%3B%2C.js; "), "{policy}");
        assert_eq!(policy.matches("scripts.example.com").count(), 1, "{policy}");
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains('*') && !policy.contains("unsafe"));
        assert!(content_policy("not an address").is_none());
    }
}
