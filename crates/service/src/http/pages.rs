//! The pages, which are embedded in the binary.

mod encoding;
mod not_found;
pub(crate) mod open;
pub(crate) mod own;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use deskpass_core::Reference;
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderValue, IF_NONE_MATCH, LOCATION, VARY, X_FRAME_OPTIONS,
};
use hyper::{HeaderMap, StatusCode, Uri};

use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::request::language::{LANGUAGE_COOKIE, chosen};
use crate::http::response::SetCookie;
use crate::site::{File, NOT_FOUND_PAGE, OidcErrorPage};
pub(crate) use not_found::prefers_html;

/// Allows resources of this origin only, no inline code, no text as markup or script, and no framing by other pages.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Browsers revalidate the file before each use; usually it has not changed.
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

/// The content of an address with a version never changes.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Isolates pages from the windows that open them or that they open, and denies other origins the use of our files.
const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");

/// Where an error page has the reference of the request.
const REFERENCE_PLACE: &str = "<code id=\"reference\"></code>";

/// Serves a page.
pub(crate) async fn page(app: App, uri: Uri, preferred: Language, headers: HeaderMap) -> Result<Response, ApiError> {
    serve_page(&app, uri.path(), preferred, &headers).ok_or(ApiError::PathNotFound)
}

/// The page for an address that does not exist, if the client shows pages. It may exist tomorrow, so no cache keeps it.
pub(crate) fn not_found(app: &App, preferred: Language, headers: &HeaderMap) -> Option<Response> {
    if !prefers_html(headers) {
        return None;
    }
    serve_error_page(app, NOT_FOUND_PAGE, StatusCode::NOT_FOUND, preferred, headers)
}

/// The page for a user of an OpenID Connect client whom the service cannot serve now.
pub(crate) fn try_later(app: &App, status: StatusCode, preferred: Language, headers: &HeaderMap) -> Option<Response> {
    serve_error_page(app, OidcErrorPage::TryLater.path(), status, preferred, headers)
}

/// The page for a request of an OpenID Connect client that leads nowhere else.
pub(crate) fn oidc_error(
    app: &App,
    reason: OidcErrorPage,
    reference: Option<Reference>,
    preferred: Language,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    // The reference is filled in here, so the prepared compressed page is of no use.
    let mut uncompressed = headers.clone();
    uncompressed.remove(ACCEPT_ENCODING);
    let served = serve_error_page(app, reason.path(), StatusCode::BAD_REQUEST, preferred, &uncompressed);
    let file = app.site.page(reason.path(), chosen(headers).unwrap_or(preferred));
    let (Some(mut response), Some(file)) = (served, file) else {
        return Err(ApiError::unexpected(&"the page for errors of clients is missing"));
    };
    if let Some(reference) = reference {
        let text = String::from_utf8_lossy(&file.plain.body);
        *response.body_mut() =
            Body::from(text.replace(REFERENCE_PLACE, &format!("<code id=\"reference\">{reference}</code>")));
    }
    Ok(response)
}

/// Serves a page that says what is wrong with one request.
fn serve_error_page(
    app: &App,
    path: &str,
    status: StatusCode,
    preferred: Language,
    headers: &HeaderMap,
) -> Option<Response> {
    let mut unconditional = headers.clone();
    unconditional.remove(IF_NONE_MATCH);
    let mut response = serve_page(app, path, preferred, &unconditional)?;
    *response.status_mut() = status;
    response.headers_mut().remove(ETAG);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Some(response)
}

fn serve_page(app: &App, path: &str, preferred: Language, headers: &HeaderMap) -> Option<Response> {
    let language = chosen(headers).unwrap_or(preferred);
    let mut response = serve_file(app.site.page(path, language)?, headers, REVALIDATE);
    let head = response.headers_mut();
    head.insert(CONTENT_LANGUAGE, HeaderValue::from_static(language.of(["en", "zh-CN"])));
    head.insert(VARY, HeaderValue::from_static("Accept-Language, Accept-Encoding, Cookie"));
    head.insert("cross-origin-opener-policy", SAME_ORIGIN);
    Some(response)
}

/// Serves an asset. A page of another version, from another node, gets this node's asset but does not cache it.
pub(crate) async fn asset(app: App, uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    let place = uri.path().strip_prefix("/assets/").unwrap_or_default();
    let (version, name) = place.split_once('/').unwrap_or(("", place));
    let file = app.site.asset(name).ok_or(ApiError::PathNotFound)?;
    let keep = if version == app.site.version { IMMUTABLE } else { REVALIDATE };
    Ok(serve_file(file, &headers, keep))
}

fn serve_file(file: &File, request_headers: &HeaderMap, keep: HeaderValue) -> Response {
    let gzip = file.gzip.as_ref().filter(|_| encoding::takes_gzip(request_headers));
    let encoded = gzip.unwrap_or(&file.plain);
    let mut response = if is_not_modified(&encoded.tag, request_headers) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Response::new(Body::from(encoded.body.clone()))
    };
    // Set on 304 responses as well: the browser takes the policy from this response, not from the cached one.
    let head = response.headers_mut();
    head.insert(CONTENT_TYPE, HeaderValue::from_static(file.kind));
    head.insert(CACHE_CONTROL, keep);
    head.insert(ETAG, encoded.tag.clone());
    head.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    head.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
    head.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    head.insert("cross-origin-resource-policy", SAME_ORIGIN);
    if gzip.is_some() {
        head.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Whether the client has the file already. Proxies mark tags as weak (`W/`), which makes no difference here.
fn is_not_modified(tag: &HeaderValue, request_headers: &HeaderMap) -> bool {
    let lines = request_headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut known = lines.flat_map(|line| line.split(',')).map(str::trim);
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

/// Sets the first supported one of these languages for the pages, unless the user chose one. They are separated by blanks.
pub(crate) fn requested_language(app: &App, headers: &HeaderMap, locales: Option<&str>) -> SetCookie {
    let mut tags = locales.unwrap_or_default().split_ascii_whitespace();
    let supported = tags.find_map(|tag| match tag.split('-').next()?.to_ascii_lowercase().as_str() {
        "en" => Some("en"),
        "zh" => Some("zh-CN"),
        _ => None,
    });
    let wanted = supported.filter(|_| chosen(headers).is_none());
    wanted.map_or(SetCookie::NONE, |wanted| SetCookie::language(app, LANGUAGE_COOKIE, wanted))
}

/// Redirects to the page when the trailing slash is missing.
pub(crate) async fn add_slash(uri: Uri) -> Response {
    (StatusCode::PERMANENT_REDIRECT, [(LOCATION, format!("{}/", uri.path()))]).into_response()
}

/// Serves the file with which the platform verifies the domain.
pub(crate) async fn verify_file(
    app: App,
    uri: Uri,
    preferred: Language,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let requested = uri.path().trim_start_matches('/');
    match app.verify_file.as_ref().filter(|(name, _)| name == requested) {
        Some((_, text)) => Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text.clone()).into_response()),
        None => not_found(&app, preferred, &headers).ok_or(ApiError::PathNotFound),
    }
}
