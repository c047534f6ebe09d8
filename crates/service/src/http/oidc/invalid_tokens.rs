//! Counts codes and tokens that are not valid, so that guesses are limited. Valid ones are never limited.

use std::net::IpAddr;

use deskpass_auth::{OidcError, Refusal};
use deskpass_core::oidc::OAuthErrorCode;
use deskpass_core::{Digest, rate_limit_address};
use deskpass_store::LimitSubject;

use crate::App;
use crate::http::error::ApiError;

/// Counts an error if it says that a code or token is not valid.
pub(super) async fn count_error(
    app: &App,
    client_id: &str,
    address: IpAddr,
    error: &OidcError,
) -> Result<(), ApiError> {
    let OidcError::OAuth(error) = error else { return Ok(()) };
    match error.code {
        OAuthErrorCode::InvalidGrant | OAuthErrorCode::InvalidToken => count(app, client_id, address).await,
        _ => Ok(()),
    }
}

/// Counts a code or token that is not valid, by client and address: many users share the address of a client's server, and
/// strangers must not use up the limit of a client that has no secret. Where no client is known, its identifier is empty.
pub(super) async fn count(app: &App, client_id: &str, address: IpAddr) -> Result<(), ApiError> {
    let limits = &app.settings.limits;
    let Some(rate) = limits.oidc.filter(|_| limits.enabled) else { return Ok(()) };
    let address = rate_limit_address(address).to_string();
    let subject = Digest::of(&[b"oidc_token", client_id.as_bytes(), address.as_bytes()]);
    let counted = app.auth.shared.limits.admit(LimitSubject::Client, &subject, rate, app.auth.clock.now()).await;
    Ok(counted.map_err(Refusal::RateLimited)?)
}
