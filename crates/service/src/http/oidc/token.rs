//! The token endpoint: exchanges a code or a refresh token for tokens.

use axum::response::Response;
use deskpass_auth::{CodeRedemptionRequest, IssuedTokens, OidcError};
use deskpass_core::ClientInfo;
use deskpass_core::oidc::{OAuthError, OAuthErrorCode, Parameters};
use serde::Serialize;

use super::client_auth::{authenticate, required};
use super::cors::AllowedOrigin;
use super::invalid_tokens;
use super::provider::Provider;
use super::reply::json;
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
pub(crate) async fn token(_: Provider, origin: AllowedOrigin, visitor: ClientInfo, form: OAuthForm) -> Response {
    origin.apply(exchange(&form, &visitor).await)
}

async fn exchange(form: &OAuthForm, visitor: &ClientInfo) -> Result<Response, ApiError> {
    let app = &form.app;
    let (client, parameters) = authenticate(form, visitor).await?;
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
            invalid_tokens::count_error(app, &client.id, visitor.address.decided, &error).await?;
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
