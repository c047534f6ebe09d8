//! Sign-in through the platform: the redirect to it, and the callback.

use axum::extract::FromRequestParts;
use deskpass_auth::{CallbackOutcome, Error, LinkOpener, OAuthCallback, Refusal};
use deskpass_core::{ClientInfo, Digest, Flow, Reference};
use deskpass_wecom::Lang;
use hyper::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use tracing::Instrument as _;
use url::form_urlencoded;

use crate::App;
use crate::config::Language;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{
    Cookies, DescribeInput, FieldKind, FieldValue, FromFields, GivenValue, InputSpec, JsonBody, Opener, Query,
    RequestContext, RequestTrace, run_to_completion,
};
use crate::http::response::{
    OAUTH_STATE, Reply, SetCookie, SuccessBody, bind_browser, described_responses, landing, redirect,
};

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
    cookies: Cookies,
    Query(input): Query<AuthorizeQuery>,
) -> Result<(SetCookie, Reply<AuthorizeUrl>), ApiError> {
    let AuthorizeQuery { redirect_uri, mode } = input;
    if !redirect::is_allowed(&app, &redirect_uri) {
        let problem = if app.settings.development.enabled { FieldError::NotHttpUrl } else { FieldError::Redirect };
        return Err(ApiError::field("redirect_uri", problem));
    }
    let authorize_url = link(&app, &redirect_uri, (mode == AuthorizeMode::Web).then_some(language))?;
    // A program handles its own cookies and gets one in development mode, since no other page can lead it here.
    let begins = cookies.from_own_page || (app.settings.development.enabled && !cookies.followed_link);
    let cookie = if begins { start_flow(&app, redirect_uri.clone()).await? } else { SetCookie::NONE };
    Ok((cookie, Reply(AuthorizeUrl { authorize_url, redirect_uri })))
}

/// Records that a browser starts a flow. Not for a browser that followed a link: an attacker's link would make it accept the
/// attacker's code as its own.
async fn start_flow(app: &App, redirect_uri: String) -> Result<SetCookie, ApiError> {
    let (destination, source) = redirect::destination(redirect_uri);
    let (cookie, lifetime) = app.auth.begin_flow(destination, source).await?;
    Ok(SetCookie::set(app, &cookie, lifetime))
}

/// The authorization address for the platform's own browser, or for other browsers in a language.
fn link(app: &App, redirect_uri: &str, web: Option<Language>) -> Result<String, ApiError> {
    let language = match web {
        None => return Ok(app.auth.platform.in_client_link(redirect_uri, OAUTH_STATE)),
        Some(Language::En) => Lang::En,
        Some(Language::Zh) => Lang::Zh,
    };
    let link = app.auth.platform.web_link(redirect_uri, OAUTH_STATE, language);
    link.ok_or_else(|| ApiError::field("mode", FieldError::NoAgentId))
}

/// The parameters that the platform returns. No other part of the query is repeated anywhere.
#[derive(Debug, Default)]
struct CallbackQuery {
    code: Option<String>,
    scan_id: Option<String>,
    has_state: bool,
}

impl CallbackQuery {
    /// Reads a query. A repeated parameter or a foreign state makes the code invalid.
    fn read(query: &str) -> Result<Self, Refusal> {
        let (mut returned, mut state, mut refused) = (Self::default(), None, false);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let field = match &*name {
                "code" => &mut returned.code,
                "sid" => &mut returned.scan_id,
                "state" => &mut state,
                "errcode" => {
                    refused = refused || value != "0";
                    continue;
                }
                _ => continue,
            };
            if field.replace(value.into_owned()).is_some() {
                return Err(Refusal::InvalidCode);
            }
        }
        match (refused || returned.code.as_deref().is_none_or(str::is_empty), state.as_deref()) {
            (true, _) => Err(Refusal::Denied),
            (false, None) => Ok(returned),
            (false, Some(OAUTH_STATE)) => Ok(Self { has_state: true, ..returned }),
            (false, Some(_)) => Err(Refusal::InvalidCode),
        }
    }

    /// The reference of a callback: that of its code, or else that of the request.
    fn reference(returned: &Result<Self, Refusal>, app: &App, trace: &RequestTrace) -> Reference {
        let code = returned.as_ref().ok().and_then(|returned| returned.code.as_deref());
        code.map_or(trace.reference, |code| app.code_reference(code))
    }

    /// Whether the browser is a phone that scanned a code, even where the rest of the query is invalid.
    fn is_phone(query: &str) -> bool {
        form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "sid")
    }
}

/// The fields of the callback, for its description only: every callback is redirected, with a word about its error.
#[derive(FromFields)]
#[expect(dead_code, reason = "the query is read in its raw form")]
struct CallbackFields {
    code: Option<String>,
    state: Option<String>,
    sid: Option<String>,
    errcode: Option<String>,
}

/// The raw query of the callback.
#[derive(Debug)]
pub(crate) struct RawCallbackQuery(String);

impl FromRequestParts<RequestContext> for RawCallbackQuery {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self(parts.uri.query().unwrap_or_default().to_owned()))
    }
}

impl DescribeInput for RawCallbackQuery {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_query::<CallbackFields>();
    }
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
    Opener(opener): Opener,
    RawCallbackQuery(query): RawCallbackQuery,
) -> LandingRedirect {
    let flow = cookies.get::<Flow>().map(|flow| flow.digest());
    let wanted = landing::error_destination(&app, CallbackQuery::is_phone(&query), flow).await;
    let returned = CallbackQuery::read(&query);
    let reference = CallbackQuery::reference(&returned, &app, &trace);
    let (span, visitor) = (trace.sign_in_span(reference), ClientInfo { reference: Some(reference), ..visitor });
    let work = arrive(app.clone(), returned, flow, visitor, opener).instrument(span.clone());
    LandingRedirect(match run_to_completion(work).await {
        Ok(answer) => landing::redirect(&app, &answer),
        Err(failure) => span.in_scope(|| landing::redirect_error(&app, &wanted, &failure, reference)),
    })
}

/// Completes the sign-in of a browser that returned from the platform.
async fn arrive(
    app: App,
    returned: Result<CallbackQuery, Refusal>,
    flow: Option<Digest>,
    visitor: ClientInfo,
    opener: LinkOpener,
) -> Result<CallbackOutcome, Error> {
    let CallbackQuery { code, scan_id, has_state } = match returned {
        Ok(returned) => returned,
        Err(refusal) => return app.auth.refuse_callback(refusal, &visitor).await,
    };
    let code = code.unwrap_or_default();
    app.auth.handle_callback(OAuthCallback { code, scan_id, flow, visitor, has_state, opener }).await
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
    Ok((set_cookie, Reply(Proceed { redirect_to: landing::address(&app, &answer) })))
}
