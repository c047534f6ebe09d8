//! The discovery document and the public keys.

use axum::response::{IntoResponse as _, Response};
use deskpass_core::oidc::{OidcScope, SigningAlgorithm};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde::Serialize;

use super::cors::readable_by_all;
use super::provider::Provider;
use crate::App;
use crate::http::error::ApiError;

/// How long clients may keep the documents. A new signing key is published a day before it signs.
const CACHEABLE: &str = "public, max-age=300";

/// The ways in which clients authenticate.
const AUTH_METHODS: [&str; 3] = ["client_secret_basic", "client_secret_post", "none"];

/// The claims of ID tokens and of the userinfo endpoint.
const CLAIMS: &[&str] = &[
    "sub",
    "iss",
    "aud",
    "exp",
    "iat",
    "auth_time",
    "nonce",
    "acr",
    "amr",
    "sid",
    "at_hash",
    "name",
    "given_name",
    "preferred_username",
    "picture",
    "email",
    "email_verified",
    "groups",
    "roles",
    "department",
    "corp_id",
];

/// The discovery document. It depends on the settings only, never on the request.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the standards define the members")]
struct Discovery {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    userinfo_endpoint: String,
    jwks_uri: String,
    revocation_endpoint: String,
    introspection_endpoint: String,
    end_session_endpoint: String,
    scopes_supported: [&'static str; OidcScope::NAMES.len()],
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 1],
    grant_types_supported: [&'static str; 2],
    subject_types_supported: [&'static str; 1],
    id_token_signing_alg_values_supported: [&'static str; SigningAlgorithm::NAMES.len()],
    token_endpoint_auth_methods_supported: [&'static str; 3],
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    introspection_endpoint_auth_methods_supported: [&'static str; 2],
    code_challenge_methods_supported: [&'static str; 1],
    claims_supported: &'static [&'static str],
    acr_values_supported: [&'static str; 2],
    prompt_values_supported: [&'static str; 4],
    ui_locales_supported: [&'static str; 2],
    claims_parameter_supported: bool,
    request_parameter_supported: bool,
    request_uri_parameter_supported: bool,
    authorization_response_iss_parameter_supported: bool,
    backchannel_logout_supported: bool,
    backchannel_logout_session_supported: bool,
}

impl Discovery {
    fn of(app: &App) -> Self {
        let issuer = app.auth.policy.oidc.issuer.clone();
        let endpoint = |name: &str| format!("{issuer}/oidc/{name}");
        Self {
            authorization_endpoint: endpoint("authorize"),
            token_endpoint: endpoint("token"),
            userinfo_endpoint: endpoint("userinfo"),
            jwks_uri: endpoint("jwks"),
            revocation_endpoint: endpoint("revoke"),
            introspection_endpoint: endpoint("introspect"),
            end_session_endpoint: endpoint("logout"),
            issuer,
            scopes_supported: OidcScope::NAMES,
            response_types_supported: ["code"],
            response_modes_supported: ["query"],
            grant_types_supported: ["authorization_code", "refresh_token"],
            subject_types_supported: ["public"],
            id_token_signing_alg_values_supported: SigningAlgorithm::NAMES,
            token_endpoint_auth_methods_supported: AUTH_METHODS,
            revocation_endpoint_auth_methods_supported: AUTH_METHODS,
            introspection_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
            code_challenge_methods_supported: ["S256"],
            claims_supported: CLAIMS,
            acr_values_supported: [app.settings.platform.kind.name(), "otp"],
            prompt_values_supported: ["none", "login", "select_account", "consent"],
            ui_locales_supported: ["en", "zh-CN"],
            claims_parameter_supported: false,
            request_parameter_supported: false,
            // Clients take it for true if it is missing.
            request_uri_parameter_supported: false,
            authorization_response_iss_parameter_supported: true,
            backchannel_logout_supported: true,
            backchannel_logout_session_supported: true,
        }
    }
}

/// Returns the discovery document.
pub(crate) async fn configuration(Provider(app): Provider) -> Result<Response, ApiError> {
    let document = serde_json::to_string(&Discovery::of(&app)).map_err(|error| ApiError::unexpected(&error))?;
    Ok(public(document))
}

/// Returns the public keys with which clients verify ID tokens and logout tokens.
pub(crate) async fn jwks(Provider(app): Provider) -> Result<Response, ApiError> {
    Ok(public(app.auth.jwks().await?.to_string()))
}

/// A document that everyone may read and keep for a while.
fn public(document: String) -> Response {
    let mut response = ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, CACHEABLE)], document).into_response();
    readable_by_all(&mut response);
    response
}
