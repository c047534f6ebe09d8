//! Logout that a client requests (OpenID Connect RP-Initiated Logout).

use axum::response::{IntoResponse as _, Response};
use deskpass_auth::{Error, LogoutStep};
use deskpass_core::oidc::Parameters;
use deskpass_core::{ClientInfo, SingleSignOn};
use hyper::{HeaderMap, Uri};

use super::provider::Provider;
use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::pages;
use crate::http::request::{OAuthForm, SsoCookie};
use crate::http::response::{SetCookie, landing};
use crate::site::OidcErrorPage;

/// Ends the session of this browser if the client proves that it is the one; otherwise a page asks the user.
pub(crate) async fn logout(
    Provider(app): Provider,
    SsoCookie(sso): SsoCookie,
    visitor: ClientInfo,
    preferred: Language,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ApiError> {
    let parameters = Parameters::parse(uri.query().unwrap_or_default().as_bytes());
    match app.auth.check_logout(&parameters, sso, &visitor).await {
        Ok(step) => Ok(answer(&app, step)),
        Err(Error::Refused(_)) => pages::oidc_error(&app, OidcErrorPage::InvalidLogout, preferred, &headers),
        Err(internal) => Err(internal.into()),
    }
}

fn answer(app: &App, step: LogoutStep) -> Response {
    let origin = &app.settings.public_url;
    match step {
        LogoutStep::SignedOut { redirect_to } => {
            let to = redirect_to.unwrap_or_else(|| format!("{origin}/?logout=done"));
            (SetCookie::clear::<SingleSignOn>(app), landing::see_other(&to)).into_response()
        }
        LogoutStep::Ask { request } => landing::see_other(&format!("{origin}/?logout={}", request.expose())),
    }
}

/// Has the browser repeat the request as a GET: with a POST from another site it does not send the cookie.
pub(crate) async fn logout_of_form(Provider(app): Provider, form: OAuthForm) -> Result<Response, ApiError> {
    let query = form.all_parameters()?.encoded();
    Ok(landing::see_other(&format!("{}/oidc/logout?{query}", app.settings.public_url)))
}
