//! The forms of OAuth 2.0 endpoints.

use std::collections::HashSet;
use std::convert::Infallible;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use deskpass_core::oidc::Parameters;
use hyper::HeaderMap;
use url::form_urlencoded;

use crate::App;
use crate::http::error::{ApiError, BadRequest};
use crate::http::request::body::form_bytes;
use crate::http::request::{DescribeInput, RequestContext, RequestTrace};

/// The largest form, in bytes.
const MAX_FORM_BYTES: usize = 16 * 1024;

/// A form, the headers beside it, and the service as of when the form was complete: a client may send it slowly, and meanwhile the
/// settings may have changed. A form that cannot be read is an error for the handler, whose answer needs headers of its own.
#[derive(Debug)]
pub(crate) struct OAuthForm {
    pub(crate) app: App,
    pub(crate) headers: HeaderMap,
    pub(crate) trace: RequestTrace,
    body: Result<Bytes, ApiError>,
}

impl OAuthForm {
    /// The parameters. RFC 6749 permits each of them once.
    pub(crate) fn parameters(&self) -> Result<Parameters, ApiError> {
        Ok(parse(&self.body.clone()?)?)
    }

    /// The parameters, also repeated ones, which the authorization endpoint reports to the client itself.
    pub(crate) fn all_parameters(&self) -> Result<Parameters, ApiError> {
        Ok(Parameters::parse(&self.body.clone()?))
    }
}

impl FromRequest<RequestContext> for OAuthForm {
    type Rejection = Infallible;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, Infallible> {
        let (headers, trace) = (request.headers().clone(), context.trace.clone());
        let body = form_bytes(MAX_FORM_BYTES, request, context).await;
        Ok(Self { app: context.app.newest(), headers, trace, body })
    }
}

impl DescribeInput for OAuthForm {}

/// Parses a form without repeated parameters.
fn parse(form: &[u8]) -> Result<Parameters, BadRequest> {
    let mut names = HashSet::new();
    if form_urlencoded::parse(form).all(|(name, _)| names.insert(name)) {
        Ok(Parameters::parse(form))
    } else {
        Err(BadRequest::RepeatedParameter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_comes_once() {
        assert!(parse(b"").is_ok());
        assert!(parse(b"a=1&b=2").is_ok_and(|form| form.get("b") == Ok(Some("2"))));
        for repeated in [&b"a=1&a=1"[..], b"a=1&b=2&%61=3", b"x&x"] {
            assert!(parse(repeated).is_err());
        }
    }
}
