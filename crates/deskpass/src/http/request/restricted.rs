//! Extractors for routes that are open only in development mode or only to operator networks.

use axum::extract::FromRequestParts;
use hyper::http::request::Parts;

use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, InputSpec, RequestContext, RequiredAccess, client_ip};

/// Allows a request in development mode only.
#[derive(Debug)]
pub(crate) struct Developer;

/// Allows a request from an operator network only.
#[derive(Debug)]
pub(crate) struct Operator;

impl FromRequestParts<RequestContext> for Developer {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        if !context.app.settings.development.enabled {
            return Err(ApiError::DevelopmentOff);
        }
        // These routes require no token, so a form on any page could submit to them.
        let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let (host, site, origin) = (header("host"), header("sec-fetch-site"), header("origin"));
        let cross_site = context.app.settings.hosts().is_cross_site(host, site, origin);
        if cross_site && !parts.method.is_safe() { Err(ApiError::CrossSite) } else { Ok(Self) }
    }
}

impl DescribeInput for Developer {
    fn describe_input(spec: &mut InputSpec) {
        spec.access = Some(RequiredAccess::Developer);
    }
}

impl FromRequestParts<RequestContext> for Operator {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        if context.app.operators.contains(client_ip(parts, context)) { Ok(Self) } else { Err(ApiError::NotAnOperator) }
    }
}

impl DescribeInput for Operator {
    fn describe_input(spec: &mut InputSpec) {
        spec.access = Some(RequiredAccess::Operator);
    }
}
