//! Extractor for services, which authenticate with a key.

use std::marker::PhantomData;

use axum::extract::{FromRequest, Request};
use deskpass_core::ServiceScope;

use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, InputSpec, RequestContext, RequiredAccess, bearer_token};

/// A service whose key has the scope `S`, and the rest of its request. The key is checked before the rest is read and again after
/// it, since it may have been revoked in the meantime.
#[derive(Debug)]
pub(crate) struct Service<S, T>(pub(crate) PhantomData<S>, pub(crate) T);

/// The scope that a route requires.
pub(crate) trait ScopeRequirement {
    const SCOPE: ServiceScope;
}

/// The scope for token introspection.
#[derive(Debug)]
pub(crate) struct IntrospectScope;

impl ScopeRequirement for IntrospectScope {
    const SCOPE: ServiceScope = ServiceScope::Introspect;
}

/// The scope for sending messages.
#[derive(Debug)]
pub(crate) struct MessagesScope;

impl ScopeRequirement for MessagesScope {
    const SCOPE: ServiceScope = ServiceScope::Messages;
}

impl<S: ScopeRequirement, T: FromRequest<RequestContext, Rejection = ApiError> + Send> FromRequest<RequestContext>
    for Service<S, T>
{
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let key = bearer_token(request.headers())?.to_owned();
        context.app.auth.authenticate_service(&key, S::SCOPE).await?;
        let rest = T::from_request(request, context).await?;
        context.app.auth.authenticate_service(&key, S::SCOPE).await?;
        Ok(Self(PhantomData, rest))
    }
}

impl<S, T: DescribeInput> DescribeInput for Service<S, T> {
    fn describe_input(spec: &mut InputSpec) {
        spec.access = Some(RequiredAccess::Service);
        T::describe_input(spec);
    }
}
