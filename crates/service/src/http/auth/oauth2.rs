//! Sign-in through the platform: the redirect to it, and the callback.

use axum::response::IntoResponse as _;
use deskpass_auth::{CallbackOutcome, Error};
use deskpass_core::{ClientInfo, Flow, Secret};
use deskpass_platform::{EntryPoint, RedirectRule};
use schemars::JsonSchema;
use serde::Serialize;
use tracing::Instrument as _;

use super::callback_query::{CallbackOpener, CallbackQuery, RawCallbackQuery};
use super::code_claims::ClaimedCodes;
use super::platform_link::{LinkBrowser, sign_in_link};
use crate::App;
use crate::config::Language;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{
    Cookies, FieldKind, FieldValue, FromFields, GivenValue, JsonBody, Opener, Query, RequestTrace, run_to_completion,
};
use crate::http::response::{Reply, SetCookie, SuccessBody, bind_browser, described_responses, landing, redirect};

/// The destination of a sign-in.
#[derive(Debug, FromFields)]
pub(crate) struct AuthorizeQuery {
    /// The page to return to.
    redirect_uri: String,
    /// `web` for a desktop browser, outside the platform's client; `client` unless given.
    #[field(default = AuthorizeMode::Client)]
    mode: AuthorizeMode,
}

/// The browser that signs in.
#[derive(Debug, PartialEq, Eq)]
enum AuthorizeMode {
    /// The platform's own.
    Client,
    /// Any other.
    Web,
}

impl AuthorizeMode {
    /// Where the sign-in begins. In the platform's own browser the platform's script comes first, where there is one.
    fn entry(&self, app: &App, user_agent: &str) -> EntryPoint {
        match (self, app.auth.platform.entry_point(user_agent)) {
            (Self::Web, _) => EntryPoint::Browser,
            (Self::Client, EntryPoint::Script) => EntryPoint::Script,
            (Self::Client, EntryPoint::Client | EntryPoint::Browser) => EntryPoint::Client,
        }
    }
}

impl FieldValue for AuthorizeMode {
    fn kind() -> FieldKind {
        FieldKind::OneOf(&["client", "web"])
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        match &*given.text()? {
            "client" => Ok(Self::Client),
            "web" => Ok(Self::Web),
            _ => Err(FieldError::NotOneOf(&["client", "web"])),
        }
    }
}

/// The platform's authorization address.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AuthorizeUrl {
    authorize_url: String,
    redirect_uri: String,
}

/// Returns the platform's authorization address, and records that this browser started the flow.
pub(crate) async fn url(
    app: App,
    language: Language,
    visitor: ClientInfo,
    cookies: Cookies,
    Query(input): Query<AuthorizeQuery>,
) -> Result<(SetCookie, Reply<AuthorizeUrl>), ApiError> {
    let AuthorizeQuery { redirect_uri, mode } = input;
    if !redirect::is_allowed(&app, &redirect_uri) {
        let problem = if app.settings.development.enabled { FieldError::NotHttpUrl } else { FieldError::Redirect };
        return Err(ApiError::field("redirect_uri", problem));
    }
    let entry = mode.entry(&app, visitor.user_agent.as_str());
    let link = |flow: Option<&Secret<Flow>>| {
        let link = sign_in_link(&app, LinkBrowser { entry, flow, language }, &redirect_uri);
        link.ok_or_else(|| ApiError::field("mode", FieldError::NoAgentId))
    };
    // Refused before a flow begins.
    let (mut authorize_url, mut cookie) = (link(None)?, SetCookie::NONE);
    // A program handles its own cookies and gets one in development mode, since no other page can lead it here.
    if cookies.from_own_page || (app.settings.development.enabled && !cookies.followed_link) {
        let (flow, set_cookie) = start_flow(&app, &cookies, redirect_uri.clone(), &visitor).await?;
        (authorize_url, cookie) = (link(Some(&flow))?, set_cookie);
    }
    Ok((cookie, Reply(AuthorizeUrl { authorize_url, redirect_uri })))
}

/// Records that a browser starts a flow. Not for a browser that followed a link: an attacker's link would make it accept the
/// attacker's code as its own.
async fn start_flow(
    app: &App,
    cookies: &Cookies,
    redirect_uri: String,
    visitor: &ClientInfo,
) -> Result<(Secret<Flow>, SetCookie), ApiError> {
    let (destination, source) = redirect::destination(redirect_uri);
    // Where links are bound to the cookie, a new one would refuse the browser's other tabs.
    let own = cookies.get::<Flow>().filter(|_| app.auth.platform.redirect_rule() == RedirectRule::Exact);
    let (flow, lifetime) = app.auth.begin_flow(destination, source, own, visitor.address.decided).await?;
    Ok((flow, SetCookie::set(app, &flow, lifetime)))
}

described_responses! {
    /// The redirect that answers a callback.
    LandingRedirect: |spec| {
        spec.sets_cookie = true;
        spec.success.push(SuccessBody::Redirect);
    };
}

/// Handles the callback: redirects a browser that returns from the platform to its destination.
pub(crate) async fn callback(
    app: App,
    visitor: ClientInfo,
    trace: RequestTrace,
    cookies: Cookies,
    Opener(of_link): Opener,
    ClaimedCodes(claimed): ClaimedCodes,
    RawCallbackQuery(query): RawCallbackQuery,
) -> LandingRedirect {
    let opener = CallbackOpener { of_link, first: cookies.first_opener() };
    let wanted = landing::error_destination(&app, CallbackQuery::is_phone(&query), cookies.digest::<Flow>()).await;
    let returned = CallbackQuery::read(&*app.auth.platform, &query);
    let reference = CallbackQuery::reference(&returned, &app, &trace);
    let (span, visitor) = (trace.sign_in_span(reference), ClientInfo { reference: Some(reference), ..visitor });
    // A refusal by the user has no code to be claimed.
    let returned = match (returned, claimed) {
        (Ok(_), Err(error)) => Err(error),
        (returned, _) => returned.map_err(Error::from),
    };
    let work = Box::pin(arrive(app.clone(), returned, cookies.get::<Flow>(), visitor, opener)).instrument(span.clone());
    let (cookie, response) = match run_to_completion(work).await {
        Ok(answer) => (SetCookie::clear_first_opener(&app, &cookies), landing::redirect(&app, &answer)),
        // The browser may repeat this callback.
        Err(failure) => {
            (SetCookie::NONE, span.in_scope(|| landing::redirect_error(&app, &wanted, &failure, reference)))
        }
    };
    LandingRedirect((cookie, response).into_response())
}

/// Completes the sign-in of a browser that returned from the platform.
async fn arrive(
    app: App,
    returned: Result<CallbackQuery, Error>,
    flow: Option<Secret<Flow>>,
    visitor: ClientInfo,
    opener: CallbackOpener,
) -> Result<CallbackOutcome, Error> {
    let callback =
        returned.and_then(|returned| Ok(returned.into_callback(&app, flow.as_ref(), visitor.clone(), opener)?));
    match callback {
        Ok(callback) => Box::pin(app.auth.handle_callback(callback)).await,
        Err(error) => app.auth.refuse_callback(error, &visitor).await,
    }
}

/// The secret of a sign-in that awaits the user's confirmation that they started it.
#[derive(Debug, FromFields)]
pub(crate) struct ContinueBody {
    #[field(name = "continue")]
    pending: String,
}

/// The user as whom the sign-in would continue.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct PendingSignIn {
    employee_id: String,
    name: String,
    expires_in: u64,
}

/// Shows the user as whom the sign-in would continue.
pub(crate) async fn pending(
    app: App,
    JsonBody(input): JsonBody<ContinueBody>,
) -> Result<Reply<PendingSignIn>, ApiError> {
    let waiting = app.auth.pending_confirmation(&input.pending).await?;
    let (name, expires_in) = (waiting.who.display_name().to_owned(), waiting.remaining.as_secs());
    Ok(Reply(PendingSignIn { employee_id: waiting.who.employee_id, name, expires_in }))
}

/// The address to continue at.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Proceed {
    redirect_to: String,
}

impl Proceed {
    pub(super) fn to(redirect_to: String) -> Self {
        Self { redirect_to }
    }
}

/// Signs in a user who confirms that they started the sign-in.
pub(crate) async fn continue_sign_in(
    app: App,
    visitor: ClientInfo,
    trace: RequestTrace,
    cookies: Cookies,
    JsonBody(input): JsonBody<ContinueBody>,
) -> Result<(SetCookie, Reply<Proceed>), ApiError> {
    let (bound_to, set_cookie) = bind_browser(&app, &cookies)?;
    if let Ok(waiting) = app.auth.pending_confirmation(&input.pending).await {
        // For the lines about a refusal or a failure.
        trace.set_employee(&waiting.who.key);
    }
    let at = app.clone();
    let answer =
        run_to_completion(async move { at.auth.confirm_pending(&input.pending, bound_to, &visitor).await }).await;
    let answer = answer.inspect_err(|failure| app.metrics.count_refused_sign_in(landing::error_code(failure).0))?;
    Ok((set_cookie, Reply(Proceed::to(landing::address(&app, &answer)))))
}
