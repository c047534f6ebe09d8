//! The token endpoint: exchanges a code or a refresh token for tokens.

use axum::response::Response;
use deskpass_auth::{CodeRedemptionRequest, IssuedTokens, OidcError, Refusal, ResolvedClient};
use deskpass_core::oidc::{OAuthError, OAuthErrorCode, Parameters};
use deskpass_core::{ClientInfo, Digest, rate_limit_address};
use deskpass_store::LimitSubject;
use serde::Serialize;

use super::client_auth::{authenticate, required};
use super::cors::AllowedOrigin;
use super::provider::Provider;
use super::reply::json;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::OAuthForm;

/// The answer of RFC 6749 with the ID token of OpenID Connect.
#[derive(Serialize)]
struct TokenBody {
    access_token: String,
    token_type: &'static str,
    expires_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    id_token: String,
    scope: String,
}

impl From<IssuedTokens> for TokenBody {
    fn from(issued: IssuedTokens) -> Self {
        Self {
            access_token: issued.access_token.expose().to_owned(),
            token_type: "Bearer",
            expires_in: issued.expires_in.as_secs(),
            refresh_token: issued.refresh_token.map(|token| token.expose().to_owned()),
            id_token: issued.id_token,
            scope: issued.scopes.to_string(),
        }
    }
}

/// Exchanges a code or a refresh token.
pub(crate) async fn token(
    Provider(app): Provider,
    origin: AllowedOrigin,
    visitor: ClientInfo,
    form: OAuthForm,
) -> Response {
    origin.apply(exchange(&app, &form, &visitor).await)
}

async fn exchange(app: &App, form: &OAuthForm, visitor: &ClientInfo) -> Result<Response, ApiError> {
    let (client, parameters) = authenticate(app, form, visitor).await?;
    let issued = match required(&parameters, "grant_type")? {
        "authorization_code" => {
            let redemption = redemption(&parameters)?;
            app.auth.redeem_code(&client, redemption, visitor).await
        }
        "refresh_token" => {
            let (token, scope) = (required(&parameters, "refresh_token")?, parameters.get("scope")?);
            app.auth.refresh(&client, token, scope, visitor).await
        }
        _ => Err(OidcError::OAuth(OAuthError::new(
            OAuthErrorCode::UnsupportedGrantType,
            "grant_type must be authorization_code or refresh_token",
        ))),
    };
    match issued {
        Ok(issued) => json(&TokenBody::from(issued)),
        Err(error) => {
            count_guess(app, &client, visitor, &error).await?;
            Err(error.into())
        }
    }
}

fn redemption(parameters: &Parameters) -> Result<CodeRedemptionRequest, ApiError> {
    Ok(CodeRedemptionRequest {
        code: required(parameters, "code")?.to_owned(),
        redirect_uri: required(parameters, "redirect_uri")?.to_owned(),
        verifier: parameters.get("code_verifier")?.map(str::to_owned),
    })
}

/// Counts codes and refresh tokens that are not valid, by client and address: many users share the address of a client's server, and
/// strangers must not use up the limit of a client that has no secret. Valid ones are never limited.
async fn count_guess(
    app: &App,
    client: &ResolvedClient,
    visitor: &ClientInfo,
    error: &OidcError,
) -> Result<(), ApiError> {
    let limits = &app.settings.limits;
    let is_guess = matches!(error, OidcError::OAuth(error) if error.code == OAuthErrorCode::InvalidGrant);
    let Some(rate) = limits.oidc.filter(|_| limits.enabled && is_guess) else { return Ok(()) };
    let address = rate_limit_address(visitor.address.decided).to_string();
    let subject = Digest::of(&[b"oidc_token", client.id.as_bytes(), address.as_bytes()]);
    let counted = app.auth.shared.limits.admit(LimitSubject::Client, &subject, rate, app.auth.clock.now()).await;
    Ok(counted.map_err(Refusal::RateLimited)?)
}
