//! The revocation endpoint (RFC 7009): a client that needs its tokens no longer says so.

use axum::response::{IntoResponse as _, Response};
use deskpass_core::ClientInfo;
use hyper::StatusCode;

use super::client_auth::{authenticate, required};
use super::cors::AllowedOrigin;
use super::invalid_tokens;
use super::provider::Provider;
use crate::http::error::ApiError;
use crate::http::request::OAuthForm;

/// Ends the grant of a token of this client. A token that is not valid, or of another client, changes nothing and is no error.
pub(crate) async fn revoke(_: Provider, origin: AllowedOrigin, visitor: ClientInfo, form: OAuthForm) -> Response {
    origin.apply(revoke_token(&form, &visitor).await)
}

async fn revoke_token(form: &OAuthForm, visitor: &ClientInfo) -> Result<Response, ApiError> {
    let app = &form.app;
    let (client, parameters) = authenticate(form, visitor).await?;
    if !app.auth.revoke_token(&client, required(&parameters, "token")?).await? {
        invalid_tokens::count(app, &client.id, visitor.address.decided).await?;
    }
    Ok(StatusCode::OK.into_response())
}
