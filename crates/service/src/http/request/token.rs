//! Extractors for the token of a request. A handler has the authority that it takes as an argument, and no other.

use axum::extract::{FromRequest, FromRequestParts, Request};
use deskpass_auth::{ActiveUser, PartialOrFull, Refusal, TokenError, TokenHolder};
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;

use crate::http::error::{ApiError, BadRequest};
use crate::http::request::{DescribeInput, InputSpec, RequestContext, RequiredAccess, client_ip};

/// The session of the token, or `None` where there is no valid token.
#[derive(Debug)]
pub(crate) struct OptionalSession(pub(crate) Option<TokenHolder>);

/// The session of the token, if one was sent, and the rest of the request. A token that is not valid is refused: the request must
/// not count as one without a session. The rest is read first.
#[derive(Debug)]
pub(crate) struct SessionIfSent<T>(pub(crate) Option<TokenHolder>, pub(crate) T);

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
        let holder = context.app.auth.authenticate(token, Some(client_ip(parts, context))).await?;
        context.trace.set_employee(&holder.session().employee);
        Ok(holder)
    }
}

impl DescribeInput for TokenHolder {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::TokenHolder);
}

impl FromRequestParts<RequestContext> for ActiveUser {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        Ok(TokenHolder::from_request_parts(parts, context).await?.into_active_user()?)
    }
}

impl DescribeInput for ActiveUser {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::ActiveUser);
}

impl FromRequestParts<RequestContext> for PartialOrFull {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let token = bearer_token(&parts.headers)?;
        let bearer = context.app.auth.authenticate_partial_or_full(token, client_ip(parts, context)).await?;
        context.trace.set_employee(bearer.employee());
        Ok(bearer)
    }
}

impl DescribeInput for PartialOrFull {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::PartialOrFull);
}

impl FromRequestParts<RequestContext> for OptionalSession {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        match TokenHolder::from_request_parts(parts, context).await {
            Ok(holder) => Ok(Self(Some(holder))),
            Err(ApiError::Refused(_)) => Ok(Self(None)),
            Err(other) => Err(other),
        }
    }
}

impl<T: FromRequest<RequestContext, Rejection = ApiError> + Send> FromRequest<RequestContext> for SessionIfSent<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let rest = T::from_request(Request::from_parts(parts.clone(), body), context).await?;
        let holder = if parts.headers.contains_key(AUTHORIZATION) {
            Some(TokenHolder::from_request_parts(&mut parts, &context.newest()).await?)
        } else {
            None
        };
        Ok(Self(holder, rest))
    }
}

impl<T: DescribeInput> DescribeInput for SessionIfSent<T> {
    fn describe_input(spec: &mut InputSpec) {
        spec.accepts_token = true;
        T::describe_input(spec);
    }
}

impl DescribeInput for OptionalSession {
    fn describe_input(spec: &mut InputSpec) {
        spec.accepts_token = true;
    }
}
