//! What the sign-in page does for an authorization request of an OpenID Connect client.

use deskpass_auth::{AuthorizationPrompt, RequestOrigin};
use deskpass_core::oidc::OidcScopes;
use deskpass_core::{ClientInfo, SingleSignOn};
use schemars::JsonSchema;
use serde::Serialize;

use super::oauth2::Proceed;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{FromFields, JsonBody, OptionalSession, SessionIfSent, SigningInBrowser, SsoCookie};
use crate::http::response::{NeedsName, OidcScopeName, Reply, SetCookie};

/// The id of an authorization request, or of a logout that the user is asked about.
#[derive(Debug, FromFields)]
pub(crate) struct RequestBody {
    request: String,
}

/// An authorization request, as the page shows it.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AuthorizationShown {
    /// The identifier of the client; empty for a logout that names no client.
    client_id: String,
    /// The name of the client; empty for a logout that names no client.
    client: String,
    /// The host that the user returns to; empty for a logout that names no client.
    host: String,
    #[schemars(with = "Vec<OidcScopeName>")]
    scopes: OidcScopes,
    needs: NeedsName,
    /// The user whom the browser's session belongs to; null if the user must sign in.
    user: Option<AuthorizingUser>,
    login_hint: Option<String>,
    expires_in: u64,
}

/// The user who would continue to the client.
#[derive(Debug, JsonSchema, Serialize)]
struct AuthorizingUser {
    employee_id: String,
    name: String,
}

impl From<AuthorizationPrompt> for AuthorizationShown {
    fn from(prompt: AuthorizationPrompt) -> Self {
        Self {
            client_id: prompt.client_id,
            client: prompt.client,
            host: prompt.host,
            scopes: prompt.scopes,
            needs: NeedsName(prompt.needs.name()),
            user: prompt.user.map(|user| AuthorizingUser { employee_id: user.employee_id, name: user.name }),
            login_hint: prompt.login_hint,
            expires_in: prompt.expires_in.as_secs(),
        }
    }
}

/// Shows an authorization request.
pub(crate) async fn request(
    app: App,
    caller: RequestOrigin,
    JsonBody(input): JsonBody<RequestBody>,
) -> Result<Reply<AuthorizationShown>, ApiError> {
    Ok(Reply(app.auth.authorization_prompt(&input.request, &caller).await?.into()))
}

/// Continues to the client, with the session of the token, or with that of the browser's cookie when the request began.
pub(crate) async fn continue_request(
    app: App,
    caller: RequestOrigin,
    browser: SigningInBrowser,
    visitor: ClientInfo,
    SessionIfSent(holder, JsonBody(input)): SessionIfSent<JsonBody<RequestBody>>,
) -> Result<(SetCookie, Reply<Proceed>), ApiError> {
    let continued = app.auth.continue_authorization(&input.request, holder.as_ref(), &caller, &visitor).await?;
    // Before the new cookie: nothing in the browser leads to the former user's session after it.
    browser.continued(&app, continued.session).await;
    let cookie = SetCookie::single_sign_on(&app, &continued.sso);
    Ok((cookie, Reply(Proceed::to(continued.redirect_to))))
}

/// Returns to the client without a code; with the session of the token, the client is told whether its user may use it.
pub(crate) async fn deny(
    app: App,
    caller: RequestOrigin,
    visitor: ClientInfo,
    OptionalSession(holder): OptionalSession,
    JsonBody(input): JsonBody<RequestBody>,
) -> Result<Reply<Proceed>, ApiError> {
    let denied = app.auth.deny_authorization(&input.request, holder.as_ref(), &caller, &visitor).await?;
    Ok(Reply(Proceed::to(denied)))
}

/// The session was ended.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct LoggedOut {
    /// The registered address of the client that requested the logout; null if there is none.
    redirect_to: Option<String>,
}

/// Ends the session of this browser, which a client requested and the user confirms.
pub(crate) async fn logout(
    app: App,
    caller: RequestOrigin,
    SsoCookie(sso): SsoCookie,
    visitor: ClientInfo,
    JsonBody(input): JsonBody<RequestBody>,
) -> Result<(SetCookie, Reply<LoggedOut>), ApiError> {
    let redirect_to = app.auth.confirm_logout(&input.request, &caller, sso, &visitor).await?;
    Ok((SetCookie::clear::<SingleSignOn>(&app), Reply(LoggedOut { redirect_to })))
}
