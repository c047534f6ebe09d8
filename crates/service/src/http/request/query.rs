//! The parameters of the path and of the query.

use axum::extract::FromRequestParts;
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;
use url::form_urlencoded;

use crate::http::error::{ApiError, BadRequest};
use crate::http::request::{DescribeInput, Fields, FromFields, InputSpec, RequestContext};

/// The query, parsed and validated.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

/// The path parameters, parsed and validated by their names in the route table.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<T: FromFields> FromRequestParts<RequestContext> for Query<T> {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &RequestContext) -> Result<Self, ApiError> {
        let pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        Ok(Self(pairs.into_owned().collect::<Fields>().parse().map_err(BadRequest::Fields)?))
    }
}

impl<T: FromFields> DescribeInput for Query<T> {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_query::<T>();
    }
}

impl<T: FromFields> FromRequestParts<RequestContext> for Path<T> {
    type Rejection = ApiError;
    async fn from_request_parts(_: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self(path_fields(context)?))
    }
}

impl<T: FromFields> DescribeInput for Path<T> {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_path::<T>();
    }
}

/// The path parameters, parsed and validated.
pub(crate) fn path_fields<T: FromFields>(context: &RequestContext) -> Result<T, ApiError> {
    let decode = |piece: &str| percent_decode_str(piece).decode_utf8_lossy().into_owned();
    let pieces = context.path_params.iter().map(|(name, piece)| (name.clone(), decode(piece)));
    Ok(pieces.collect::<Fields>().parse().map_err(BadRequest::Fields)?)
}
