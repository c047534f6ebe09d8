//! Serves the operator's own pages below /app/.

use axum::response::{IntoResponse as _, Response};
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue, LOCATION};
use hyper::{HeaderMap, StatusCode, Uri};
use percent_encoding::percent_decode_str;

use super::{REVALIDATE, SAME_ORIGIN, not_found, serve_file};
use crate::App;
use crate::app::own_pages::OwnPage;
use crate::config::Language;
use crate::http::error::ApiError;

/// Allows resources of this origin only, and no inline code. Unlike on the service's own pages, scripts may make markup from text,
/// as frameworks do.
const OWN_CONTENT_POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; \
                                  form-action 'self'; frame-ancestors 'none'";

/// Serves a file of the operator's directory.
pub(crate) async fn own_page(
    app: App,
    uri: Uri,
    preferred: Language,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let path = uri.path().strip_prefix("/app").unwrap_or_default();
    let path = percent_decode_str(path).decode_utf8().map_err(|_| ApiError::PathNotFound)?;
    let found = match path.strip_prefix('/') {
        Some(path) => app.own_pages.find(path).await,
        // The address of the directory itself, without its slash.
        None => app.own_pages.find("").await.map(OwnPage::without_slash),
    };
    match found.map_err(|problem| ApiError::unexpected(&problem.to_string()))? {
        OwnPage::File(file) => {
            let mut response = serve_file(&file, &headers, REVALIDATE);
            let head = response.headers_mut();
            head.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(OWN_CONTENT_POLICY));
            head.insert("cross-origin-opener-policy", SAME_ORIGIN);
            Ok(response)
        }
        OwnPage::Directory => {
            Ok((StatusCode::PERMANENT_REDIRECT, [(LOCATION, format!("{}/", uri.path()))]).into_response())
        }
        OwnPage::Missing => not_found(&app, preferred, &headers).ok_or(ApiError::PathNotFound),
    }
}
