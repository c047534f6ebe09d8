//! Logout that a client requests (OpenID Connect RP-Initiated Logout).

use axum::response::{IntoResponse as _, Response};
use deskpass_auth::{Error, LogoutStep, Refusal};
use deskpass_core::oidc::Parameters;
use deskpass_core::{Browser, ClientInfo, Digest, Secret, SingleSignOn};
use hyper::{HeaderMap, Uri};

use super::authorize::RESUME;
use super::error_page::PageRequest;
use super::provider::Provider;
use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::request::{AuthorizingBrowser, OAuthForm, SsoCookie};
use crate::http::response::{SetCookie, landing};
use crate::site::OidcErrorPage;

/// Ends the session of this browser if the client proves that it is the one; otherwise a page asks the user.
pub(crate) async fn logout(
    Provider(app): Provider,
    SsoCookie(sso): SsoCookie,
    AuthorizingBrowser(browser): AuthorizingBrowser,
    visitor: ClientInfo,
    preferred: Language,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ApiError> {
    let parameters = Parameters::parse(uri.query().unwrap_or_default().as_bytes());
    let own = browser.as_ref().map(Secret::digest);
    let request = PageRequest::new(&app, &parameters, &visitor, preferred, &headers);
    match next_step(&app, &parameters, sso, own, &visitor).await {
        Ok(step) => Ok(request.signed_out(answer(&app, step, browser.as_ref())).await),
        Err(error) => stopped(error, &request).await,
    }
}

/// Keeps a logout that came as a form, and has the browser continue with a GET: with a POST from another site it does not send
/// its cookies. The ID token stays out of the address, which proxies and histories keep.
pub(crate) async fn logout_of_form(
    _: Provider,
    visitor: ClientInfo,
    preferred: Language,
    form: OAuthForm,
) -> Result<Response, ApiError> {
    let (app, parameters) = (&form.app, form.all_parameters()?);
    let request = PageRequest::new(app, &parameters, &visitor, preferred, &form.headers);
    match app.auth.keep_logout(&parameters, &visitor).await {
        Ok(kept) => {
            let resumed = format!("{}/oidc/logout?{RESUME}={}", app.settings.public_url, kept.expose());
            Ok(request.signed_out(landing::see_other(&resumed)).await)
        }
        Err(error) => stopped(error, &request).await,
    }
}

/// Checks the parameters and takes the next step. Those of a logout that came as a form were checked before.
async fn next_step(
    app: &App,
    parameters: &Parameters,
    sso: Option<Secret<SingleSignOn>>,
    browser: Option<Digest>,
    visitor: &ClientInfo,
) -> Result<LogoutStep, Error> {
    match parameters.get(RESUME) {
        Ok(Some(kept)) => app.auth.resume_logout(kept, sso, browser, visitor).await,
        _ => app.auth.check_logout(parameters, sso, browser, visitor).await,
    }
}

fn answer(app: &App, step: LogoutStep, browser: Option<&Secret<Browser>>) -> Response {
    let origin = &app.settings.public_url;
    match step {
        LogoutStep::SignedOut { redirect_to } => {
            let to = redirect_to.unwrap_or_else(|| format!("{origin}/?logout=done"));
            (SetCookie::clear::<SingleSignOn>(app), landing::see_other(&to)).into_response()
        }
        LogoutStep::Ask { request } => {
            let page = format!("{origin}/?logout={}", request.expose());
            (SetCookie::authorizing_browser(app, browser), landing::see_other(&page)).into_response()
        }
    }
}

/// The page that says why there is no next step.
async fn stopped(error: Error, request: &PageRequest<'_>) -> Result<Response, ApiError> {
    match error {
        Error::Refused(Refusal::OidcRequestGone) => request.end_on(OidcErrorPage::RequestGone).await,
        Error::Refused(_) => request.end_on(OidcErrorPage::InvalidLogout).await,
        internal @ Error::Internal(_) => Err(internal.into()),
    }
}
