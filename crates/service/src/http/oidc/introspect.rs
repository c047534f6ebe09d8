//! The introspection endpoint (RFC 7662): a client asks about its own tokens.

use axum::response::Response;
use deskpass_core::ClientInfo;
use deskpass_core::oidc::{OAuthError, OAuthErrorCode};

use super::client_auth::{authenticate, required};
use super::invalid_tokens;
use super::provider::Provider;
use super::reply::json;
use crate::http::error::ApiError;
use crate::http::request::OAuthForm;

/// Describes a token of this client. Every other token is inactive.
pub(crate) async fn introspect(_: Provider, visitor: ClientInfo, form: OAuthForm) -> Result<Response, ApiError> {
    let app = &form.app;
    let (client, parameters) = authenticate(&form, &visitor).await?;
    if !client.registration.has_secret() {
        // Anyone who knows the identifier could ask.
        let text = "public clients cannot introspect tokens; use the userinfo endpoint";
        return Err(OAuthError::new(OAuthErrorCode::InvalidClient, text).into());
    }
    let told = app.auth.introspect_oidc(&client, required(&parameters, "token")?).await?;
    if !told.active {
        invalid_tokens::count(app, &client.id, visitor.address.decided).await?;
    }
    json(&told)
}
