//! Which browser and which page call the endpoints of an authorization request.

use axum::extract::FromRequestParts;
use deskpass_auth::{Error, RequestOrigin};
use deskpass_core::{Browser, Secret};
use hyper::http::request::Parts;

use crate::http::error::ApiError;
use crate::http::request::{Cookies, DescribeInput, RequestContext};

impl FromRequestParts<RequestContext> for RequestOrigin {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let cookies = Cookies::from_request_parts(parts, context).await?;
        let site = parts.headers.get("sec-fetch-site");
        // Browsers without fetch metadata: our pages send this header, and pages of other sites cannot.
        let is_marked = parts.headers.contains_key("x-requested-with");
        Ok(Self {
            browser: cookies.digest::<Browser>(),
            from_browser: site.is_some() || is_marked,
            same_origin: site.map_or(is_marked, |site| site == "same-origin"),
        })
    }
}

impl DescribeInput for RequestOrigin {}

/// The browser that an authorization request or a logout belongs to: its cookie, or a new one. `None` for a program, which neither
/// sends fetch metadata nor asks for a page.
#[derive(Debug)]
pub(crate) struct AuthorizingBrowser(pub(crate) Option<Secret<Browser>>);

impl FromRequestParts<RequestContext> for AuthorizingBrowser {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let cookies = Cookies::from_request_parts(parts, context).await?;
        if !parts.headers.contains_key("sec-fetch-mode") && !cookies.followed_link {
            return Ok(Self(None));
        }
        Ok(Self(Some(match cookies.get() {
            Some(own) => own,
            None => Secret::generate(&context.app.auth.entropy).map_err(Error::from)?,
        })))
    }
}

impl DescribeInput for AuthorizingBrowser {}
