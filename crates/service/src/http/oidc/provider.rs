//! Whether there is an OpenID Connect provider at all.

use axum::extract::FromRequestParts;
use hyper::http::request::Parts;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, RequestContext};

/// The service, if a client is registered. Until then none of these paths exists.
#[derive(Debug)]
pub(crate) struct Provider(pub(crate) App);

impl FromRequestParts<RequestContext> for Provider {
    type Rejection = ApiError;
    async fn from_request_parts(_: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        if context.app.auth.oidc_is_on().await? { Ok(Self(context.app.clone())) } else { Err(ApiError::PathNotFound) }
    }
}

impl DescribeInput for Provider {}
