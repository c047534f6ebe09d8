//! The platform's redirect: there, and back.

use axum::extract::{FromRequestParts, State};
use axum::response::{IntoResponse, Response};
use deskpass_auth::{OAuthCallback, Refusal};
use deskpass_core::Flow;
use deskpass_wecom::Lang;
use hyper::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use url::form_urlencoded;

use crate::App;
use crate::config::Language;
use crate::http::error::field_error::{FieldError, FieldErrors};
use crate::http::error::{ApiError, BadRequest};
use crate::http::request::body::JsonBody;
use crate::http::request::client::RequestClient;
use crate::http::request::context::RequestContext;
use crate::http::request::cookies::Cookies;
use crate::http::request::describe::{DescribeInput, InputSpec};
use crate::http::request::detached::run_to_completion;
use crate::http::request::fields::{Fields, FromFields};
use crate::http::request::language::ClientLanguage;
use crate::http::request::opener::OpenedByPage;
use crate::http::request::query::Query;
use crate::http::response::describe::{DescribeOutput, OutputSpec};
use crate::http::response::envelope::Reply;
use crate::http::response::redirect::OAUTH_STATE;
use crate::http::response::set_cookie::{SetCookie, bind_browser};
use crate::http::response::{landing, redirect};

/// Where a browser wants to go.
#[derive(Debug)]
pub(crate) struct AuthorizeQuery {
    redirect_uri: String,
    /// Whether it is a desktop browser, outside the platform's client.
    web: bool,
}

impl FromFields for AuthorizeQuery {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let (redirect_uri, mode) = (fields.text("redirect_uri"), fields.maybe_choice("mode", &["client", "web"]));
        Some(Self { redirect_uri: redirect_uri?, web: mode? == Some("web") })
    }
}

/// The platform's address.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AuthorizeUrl {
    authorize_url: String,
    redirect_uri: String,
}

/// Makes the address at which the platform identifies people, and notes that this browser asked for it.
pub(crate) async fn url(
    State(app): State<App>,
    ClientLanguage(language): ClientLanguage,
    cookies: Cookies,
    Query(input): Query<AuthorizeQuery>,
) -> Result<(SetCookie, Reply<AuthorizeUrl>), ApiError> {
    let AuthorizeQuery { redirect_uri, web } = input;
    if !redirect::is_allowed(&app, &redirect_uri) {
        let problem = if app.settings.development { FieldError::NotHttpUrl } else { FieldError::Redirect };
        return Err(field_error("redirect_uri", problem));
    }
    let authorize_url = link(&app, &redirect_uri, web.then_some(language))?;
    // A program keeps its own cookies, and gets one in development mode: there is no page in front of it to be led astray.
    let begins = cookies.from_own_page || (app.settings.development && !cookies.followed_link);
    let cookie = if begins { start_flow(&app, redirect_uri.clone()).await? } else { SetCookie::NONE };
    Ok((cookie, Reply(AuthorizeUrl { authorize_url, redirect_uri })))
}

/// Notes that a browser sets out. Not for one that was led here by somebody's link: it would then take that somebody's code
/// for its own.
async fn start_flow(app: &App, redirect_uri: String) -> Result<SetCookie, ApiError> {
    let (destination, source) = redirect::destination(redirect_uri);
    let (cookie, lifetime) = app.auth.begin_flow(destination, source).await?;
    Ok(SetCookie::set(app, &cookie, lifetime))
}

/// The link for the platform's own browser, or for any other one in a language.
fn link(app: &App, redirect_uri: &str, web: Option<Language>) -> Result<String, ApiError> {
    let language = match web {
        None => return Ok(app.auth.platform.in_client_link(redirect_uri, OAUTH_STATE)),
        Some(Language::En) => Lang::En,
        Some(Language::Zh) => Lang::Zh,
    };
    let link = app.auth.platform.web_link(redirect_uri, OAUTH_STATE, language);
    link.ok_or_else(|| field_error("mode", FieldError::NoAgentId))
}

fn field_error(field: &'static str, problem: FieldError) -> ApiError {
    BadRequest::Fields(FieldErrors::from([(field.into(), problem)])).into()
}

/// What the platform sends back with a browser. Whatever else it says is not repeated to anyone.
#[derive(Debug, Default)]
struct CallbackQuery {
    code: Option<String>,
    scan_id: Option<String>,
    has_state: bool,
}

impl CallbackQuery {
    /// Reads a query as far as it makes sense: a code that is given twice, or with a state that is not ours, is no code.
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

    /// Whether a phone comes back that scanned a code, however broken the rest.
    fn is_phone(query: &str) -> bool {
        form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "sid")
    }
}

/// The query with which a browser comes back, as it is.
#[derive(Debug)]
pub(crate) struct RawCallbackQuery(String);

impl FromRequestParts<RequestContext> for RawCallbackQuery {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self(parts.uri.query().unwrap_or_default().to_owned()))
    }
}

impl FromFields for RawCallbackQuery {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        // Nothing is refused here: whatever comes back is sent on, with a word about what was wrong.
        for name in ["code", "state", "sid", "errcode"] {
            fields.maybe_text(name)?;
        }
        None
    }
}

impl DescribeInput for RawCallbackQuery {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_query::<Self>();
    }
}

/// Where a browser is sent that comes back.
#[derive(Debug)]
pub(crate) struct LandingRedirect(Response);

impl IntoResponse for LandingRedirect {
    fn into_response(self) -> Response {
        self.0
    }
}

impl DescribeOutput for LandingRedirect {
    fn describe_output(spec: &mut OutputSpec) {
        spec.sets_cookie();
        spec.redirects();
    }
}

/// Takes a browser that comes back from the platform to where it belongs.
pub(crate) async fn callback(
    State(app): State<App>,
    RequestClient(visitor): RequestClient,
    cookies: Cookies,
    OpenedByPage(opened_by_page): OpenedByPage,
    RawCallbackQuery(query): RawCallbackQuery,
) -> LandingRedirect {
    let flow = cookies.get::<Flow>().map(|flow| flow.digest());
    let wanted = landing::error_destination(&app, CallbackQuery::is_phone(&query), flow).await;
    let (at, returned) = (app.clone(), CallbackQuery::read(&query));
    let arrived = run_to_completion(async move {
        let CallbackQuery { code, scan_id, has_state } = match returned {
            Ok(returned) => returned,
            Err(refusal) => return at.auth.refuse_callback(refusal, &visitor).await,
        };
        let code = code.unwrap_or_default();
        at.auth.handle_callback(OAuthCallback { code, scan_id, flow, visitor, has_state, opened_by_page }).await
    });
    LandingRedirect(match arrived.await {
        Ok(answer) => landing::redirect(&app, &answer),
        Err(failure) => landing::redirect_error(&app, &wanted, &failure),
    })
}

/// The secret of somebody who must say that it was they who began.
#[derive(Debug)]
pub(crate) struct ContinueBody {
    pending: String,
}

impl FromFields for ContinueBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { pending: fields.text("continue")? })
    }
}

/// As whom they would go on.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct PendingSignIn {
    employee_id: String,
    name: String,
    expires_in: u64,
}

/// Shows as whom somebody would go on.
pub(crate) async fn pending(
    State(app): State<App>,
    JsonBody(input): JsonBody<ContinueBody>,
) -> Result<Reply<PendingSignIn>, ApiError> {
    let waiting = app.auth.pending_confirmation(&input.pending).await?;
    let (name, expires_in) = (waiting.who.display_name().to_owned(), waiting.remaining.as_secs());
    Ok(Reply(PendingSignIn { employee_id: waiting.who.employee_id, name, expires_in }))
}

/// Where to go on.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Proceed {
    redirect_to: String,
}

/// Signs somebody in who says that it was they who began.
pub(crate) async fn continue_sign_in(
    State(app): State<App>,
    RequestClient(visitor): RequestClient,
    cookies: Cookies,
    JsonBody(input): JsonBody<ContinueBody>,
) -> Result<(SetCookie, Reply<Proceed>), ApiError> {
    let (bound_to, set_cookie) = bind_browser(&app, &cookies)?;
    let at = app.clone();
    let answer =
        run_to_completion(async move { at.auth.confirm_pending(&input.pending, bound_to, &visitor).await }).await;
    let answer = answer.inspect_err(|failure| app.metrics.count_refused_sign_in(landing::error_code(failure).0))?;
    Ok((set_cookie, Reply(Proceed { redirect_to: landing::address(&app, &answer) })))
}
