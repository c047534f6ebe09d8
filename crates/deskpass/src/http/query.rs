//! What stands behind the question mark.

use axum::extract::FromRequestParts;
use hyper::http::request::Parts;
use url::form_urlencoded;

use super::answer::Window;
use super::failure::{BadRequest, Failure};
use super::fields::{Ask, Fields};

/// A query, read and checked.
#[derive(Debug)]
pub(super) struct Query<T>(pub(super) T);

impl<T: Ask> FromRequestParts<Window> for Query<T> {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, _: &Window) -> Result<Self, Failure> {
        let pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let fields: Fields = pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        Ok(Self(fields.ask().map_err(BadRequest::Fields)?))
    }
}
