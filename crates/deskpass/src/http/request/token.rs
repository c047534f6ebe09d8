//! Extractors for the token of a request. A handler has the authority that it takes as an argument, and no other.

use std::ops::Deref;

use axum::extract::FromRequestParts;
use deskpass_auth::{Refusal, TokenError};
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;

use crate::http::error::{ApiError, BadRequest};
use crate::http::request::access::RequiredAccess;
use crate::http::request::client::client_ip;
use crate::http::request::context::RequestContext;
use crate::http::request::describe::{DescribeInput, InputSpec};

/// The holder of a valid session token.
#[derive(Debug)]
pub(crate) struct TokenHolder(pub(crate) deskpass_auth::TokenHolder);

/// A signed-in user who still holds their active role.
#[derive(Debug)]
pub(crate) struct ActiveUser(pub(crate) deskpass_auth::ActiveUser);

/// The holder of a valid token, of a session or of a partial sign-in.
#[derive(Debug)]
pub(crate) struct PartialOrFull(pub(crate) deskpass_auth::PartialOrFull);

/// The session of the token, or `None` where there is no valid token.
#[derive(Debug)]
pub(crate) struct OptionalSession(pub(crate) Option<deskpass_auth::TokenHolder>);

impl Deref for TokenHolder {
    type Target = deskpass_auth::TokenHolder;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Deref for ActiveUser {
    type Target = deskpass_auth::TokenHolder;
    fn deref(&self) -> &Self::Target {
        &self.0.0
    }
}

impl ActiveUser {
    /// The caller, for work that outlives the request.
    pub(crate) fn into_inner(self) -> deskpass_auth::ActiveUser {
        self.0
    }
}

/// The bearer token of a request. Nothing else reads the header, so that all routes agree on it.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Result<&str, ApiError> {
    let problem = |problem| ApiError::from(Refusal::Token(problem));
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let header = given.next().ok_or_else(|| problem(TokenError::Missing))?;
    if given.next().is_some() {
        return Err(BadRequest::RepeatedAuthorization.into());
    }
    let text = header.to_str().map_err(|_| problem(TokenError::Malformed))?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(problem(TokenError::Missing));
    }
    // RFC 9110 allows several spaces after the scheme.
    Ok(token.trim_start_matches(' '))
}

impl FromRequestParts<RequestContext> for TokenHolder {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let token = bearer_token(&parts.headers)?;
        Ok(Self(context.app.auth.authenticate(token, Some(client_ip(parts, context))).await?))
    }
}

impl DescribeInput for TokenHolder {
    fn describe_input(spec: &mut InputSpec) {
        spec.requires(RequiredAccess::TokenHolder);
    }
}

impl FromRequestParts<RequestContext> for ActiveUser {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let TokenHolder(holder) = TokenHolder::from_request_parts(parts, context).await?;
        Ok(Self(holder.into_active_user()?))
    }
}

impl DescribeInput for ActiveUser {
    fn describe_input(spec: &mut InputSpec) {
        spec.requires(RequiredAccess::ActiveUser);
    }
}

impl FromRequestParts<RequestContext> for PartialOrFull {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let token = bearer_token(&parts.headers)?;
        Ok(Self(context.app.auth.authenticate_partial_or_full(token, client_ip(parts, context)).await?))
    }
}

impl DescribeInput for PartialOrFull {
    fn describe_input(spec: &mut InputSpec) {
        spec.requires(RequiredAccess::PartialOrFull);
    }
}

impl FromRequestParts<RequestContext> for OptionalSession {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        match TokenHolder::from_request_parts(parts, context).await {
            Ok(TokenHolder(holder)) => Ok(Self(Some(holder))),
            Err(ApiError::Refused(_)) => Ok(Self(None)),
            Err(other) => Err(other),
        }
    }
}

impl DescribeInput for OptionalSession {
    fn describe_input(spec: &mut InputSpec) {
        spec.accepts_token();
    }
}
