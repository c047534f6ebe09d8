//! The authorization endpoint: a client sends a browser here, and it returns with a code.

use axum::response::{IntoResponse as _, Response};
use deskpass_auth::{AuthorizationFailure, AuthorizationPageError, AuthorizationStep, Error, Refusal};
use deskpass_core::oidc::{OAuthError, Parameters};
use deskpass_core::{ClientInfo, Digest, Secret, SingleSignOn};
use hyper::{HeaderMap, Uri};

use super::error_page::{PageRequest, return_with};
use super::provider::Provider;
use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::pages;
use crate::http::request::{AuthorizingBrowser, OAuthForm, SsoCookie};
use crate::http::response::{SetCookie, landing};
use crate::site::OidcErrorPage;

/// The path of the endpoint.
pub(crate) const AUTHORIZE: &str = "/oidc/authorize";

/// The parameter with which a browser continues after a POST, also with a logout.
pub(super) const RESUME: &str = "resume";

/// Why there is no next step.
enum Stopped {
    /// The page says so: it is not known where else the browser could go.
    Page(OidcErrorPage),
    /// The client is told at its registered address.
    Redirect {
        address: String,
        error: OAuthError,
    },
    Error(ApiError),
}

/// Begins an authorization request: returns to the client at once, or leads to the page that signs the user in.
pub(crate) async fn authorize(
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
        Ok(AuthorizationStep::Ask { request: asked, locales }) => {
            let cookie = SetCookie::authorizing_browser(&app, browser.as_ref());
            let language = pages::requested_language(&app, &headers, locales.as_deref());
            let page = format!("{}/?request={}", app.settings.public_url, asked.expose());
            Ok((cookie, language, landing::see_other(&page)).into_response())
        }
        Ok(AuthorizationStep::Redirect(to)) => Ok(landing::see_other(&to)),
        Ok(AuthorizationStep::Refuse { address, error }) => Ok(request.return_with(&address, error).await),
        Err(stopped) => stopped.answer(&request).await,
    }
}

/// Answers a frame of another site that looks for a session without asking the user (`prompt=none`), so that its library need not wait
/// until it gives up; nor with a request that is wrong. `None` for anything else. Neither reads cookies nor counts nor keeps anything:
/// any page can open frames.
pub(crate) async fn answer_foreign_frame(app: &App, uri: &Uri) -> Option<Response> {
    let parameters = Parameters::parse(uri.query().unwrap_or_default().as_bytes());
    let checked = match app.auth.check_authorization(&parameters).await {
        Ok(checked) => checked,
        Err(AuthorizationFailure::Redirect { address, error }) if parameters.get("prompt") == Ok(Some("none")) => {
            return Some(return_with(app, &parameters, &address, error).await);
        }
        Err(_) => return None,
    };
    match app.auth.answer_foreign_frame(&checked)? {
        AuthorizationStep::Redirect(to) | AuthorizationStep::Refuse { address: to, .. } => {
            Some(landing::see_other(&to))
        }
        AuthorizationStep::Ask { .. } => None,
    }
}

/// Keeps an authorization request that came as a form, and has the browser continue with a GET: with a POST from another site it
/// does not send its cookies.
pub(crate) async fn authorize_of_form(
    _: Provider,
    visitor: ClientInfo,
    preferred: Language,
    form: OAuthForm,
) -> Result<Response, ApiError> {
    let (app, parameters) = (&form.app, form.all_parameters()?);
    match keep(app, &parameters, &visitor).await {
        Ok(resumed) => Ok(landing::see_other(&resumed)),
        Err(stopped) => stopped.answer(&PageRequest::new(app, &parameters, &visitor, preferred, &form.headers)).await,
    }
}

/// The address at which a browser continues with a kept request.
async fn keep(app: &App, parameters: &Parameters, visitor: &ClientInfo) -> Result<String, Stopped> {
    let checked = app.auth.check_authorization(parameters).await?;
    let request = app.auth.keep_authorization(checked, visitor).await?;
    Ok(format!("{}/oidc/authorize?{RESUME}={}", app.settings.public_url, request.expose()))
}

/// Checks the parameters and takes the next step. Those of a request that came as a form were checked before.
async fn next_step(
    app: &App,
    parameters: &Parameters,
    sso: Option<Secret<SingleSignOn>>,
    browser: Option<Digest>,
    visitor: &ClientInfo,
) -> Result<AuthorizationStep, Stopped> {
    if let (Ok(Some(request)), Ok(None)) = (parameters.get(RESUME), parameters.get("client_id")) {
        return Ok(app.auth.resume_authorization(request, sso, browser, visitor).await?);
    }
    let checked = app.auth.check_authorization(parameters).await?;
    Ok(app.auth.begin_authorization(checked, sso, browser, visitor).await?)
}

impl Stopped {
    async fn answer(self, request: &PageRequest<'_>) -> Result<Response, ApiError> {
        match self {
            Self::Page(page) => request.end_on(page).await,
            Self::Redirect { address, error } => Ok(request.return_with(&address, error).await),
            Self::Error(error) => Err(error),
        }
    }
}

impl From<AuthorizationFailure> for Stopped {
    fn from(failure: AuthorizationFailure) -> Self {
        match failure {
            AuthorizationFailure::Page(AuthorizationPageError::UnknownClient) => {
                Self::Page(OidcErrorPage::UnknownClient)
            }
            AuthorizationFailure::Page(AuthorizationPageError::BadRedirectUri) => {
                Self::Page(OidcErrorPage::BadRedirectUri)
            }
            AuthorizationFailure::Page(AuthorizationPageError::InvalidRequest) => {
                Self::Page(OidcErrorPage::InvalidRequest)
            }
            AuthorizationFailure::Redirect { address, error } => Self::Redirect { address, error },
            AuthorizationFailure::Internal(error) => error.into(),
        }
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(Refusal::OidcRequestGone) => Self::Page(OidcErrorPage::RequestGone),
            other => Self::Error(other.into()),
        }
    }
}
