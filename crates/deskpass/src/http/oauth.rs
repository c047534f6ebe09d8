//! The platform's redirect: there, and back.

use axum::extract::{FromRequestParts, State};
use axum::response::{IntoResponse, Response};
use deskpass_auth::{Callback, Refusal};
use deskpass_core::Flow;
use deskpass_wecom::Lang;
use hyper::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use url::form_urlencoded;

use super::answer::Window;
use super::cookie::{Cookies, SetCookie, bound};
use super::envelope::Reply;
use super::extract::{Body, Guest, Reads, to_the_end};
use super::failure::{BadRequest, Failure};
use super::fields::{Ask, Fields, Problem, Problems};
use super::openapi::{Answers, Asks, Sheet};
use super::opener::OpenedByPage;
use super::query::Query;
use super::{landing, redirect};
use crate::Desk;
use crate::config::Language;

/// What the platform echoes. It is the same for everyone: what ties a callback to a browser is the browser's cookie.
pub(super) const STATE: &str = "auth_login";

/// Where a browser wants to go.
#[derive(Debug)]
pub(super) struct SetOut {
    redirect_uri: String,
    /// Whether it is a desktop browser, outside the platform's client.
    web: bool,
}

impl Ask for SetOut {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (redirect_uri, mode) = (fields.text("redirect_uri"), fields.maybe_word("mode", &["client", "web"]));
        Some(Self { redirect_uri: redirect_uri?, web: mode? == Some("web") })
    }
}

/// The platform's address.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct AuthorizeUrl {
    authorize_url: String,
    redirect_uri: String,
}

/// Makes the address at which the platform identifies people, and notes that this browser asked for it.
pub(super) async fn url(
    State(desk): State<Desk>,
    Reads(language): Reads,
    cookies: Cookies,
    Query(ask): Query<SetOut>,
) -> Result<(SetCookie, Reply<AuthorizeUrl>), Failure> {
    let SetOut { redirect_uri, web } = ask;
    if !redirect::is_allowed(&desk, &redirect_uri) {
        let problem = if desk.settings.development { Problem::NotWeb } else { Problem::Redirect };
        return Err(wrong("redirect_uri", problem));
    }
    let authorize_url = link(&desk, &redirect_uri, web.then_some(language))?;
    // A program keeps its own cookies, and gets one in development mode: there is no page in front of it to be led astray.
    let begins = cookies.page || (desk.settings.development && !cookies.led);
    let cookie = if begins { set_out(&desk, redirect_uri.clone()).await? } else { SetCookie::NONE };
    Ok((cookie, Reply(AuthorizeUrl { authorize_url, redirect_uri })))
}

/// Notes that a browser sets out. Not for one that was led here by somebody's link: it would then take that somebody's code
/// for its own.
async fn set_out(desk: &Desk, redirect_uri: String) -> Result<SetCookie, Failure> {
    let (destination, source) = redirect::destination(redirect_uri);
    let (cookie, lifetime) = desk.auth.set_out(destination, source).await?;
    Ok(SetCookie::keep(desk, &cookie, lifetime))
}

/// The link for the platform's own browser, or for any other one in a language.
fn link(desk: &Desk, redirect_uri: &str, web: Option<Language>) -> Result<String, Failure> {
    let language = match web {
        None => return Ok(desk.auth.platform.in_client_link(redirect_uri, STATE)),
        Some(Language::En) => Lang::En,
        Some(Language::Zh) => Lang::Zh,
    };
    let link = desk.auth.platform.web_link(redirect_uri, STATE, language);
    link.ok_or_else(|| wrong("mode", Problem::NoAgentId))
}

fn wrong(field: &'static str, problem: Problem) -> Failure {
    BadRequest::Fields(Problems::from([(field.into(), problem)])).into()
}

/// What the platform sends back with a browser. Whatever else it says is not repeated to anyone.
#[derive(Debug, Default)]
struct Returned {
    code: Option<String>,
    scan_id: Option<String>,
    has_state: bool,
}

impl Returned {
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
            (false, Some(STATE)) => Ok(Self { has_state: true, ..returned }),
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
pub(super) struct Back(String);

impl FromRequestParts<Window> for Back {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, _: &Window) -> Result<Self, Failure> {
        Ok(Self(parts.uri.query().unwrap_or_default().to_owned()))
    }
}

impl Ask for Back {
    fn read(fields: &mut Fields) -> Option<Self> {
        // Nothing is refused here: whatever comes back is sent on, with a word about what was wrong.
        for name in ["code", "state", "sid", "errcode"] {
            fields.maybe_text(name)?;
        }
        None
    }
}

impl Asks for Back {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_query::<Self>();
    }
}

/// Where a browser is sent that comes back.
#[derive(Debug)]
pub(super) struct Landing(Response);

impl IntoResponse for Landing {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answers for Landing {
    fn answers(sheet: &mut Sheet) {
        sheet.sets_cookie();
        sheet.sends_on();
    }
}

/// Takes a browser that comes back from the platform to where it belongs.
pub(super) async fn callback(
    State(desk): State<Desk>,
    Guest(visitor): Guest,
    cookies: Cookies,
    OpenedByPage(opened_by_page): OpenedByPage,
    Back(query): Back,
) -> Landing {
    let flow = cookies.get::<Flow>().map(|flow| flow.digest());
    let wanted = landing::wanted(&desk, Returned::is_phone(&query), flow).await;
    let (at, returned) = (desk.clone(), Returned::read(&query));
    let arrived = to_the_end(async move {
        let Returned { code, scan_id, has_state } = match returned {
            Ok(returned) => returned,
            Err(refusal) => return at.auth.turn_away(refusal, &visitor).await,
        };
        let code = code.unwrap_or_default();
        at.auth.come_back(Callback { code, scan_id, flow, visitor, has_state, opened_by_page }).await
    });
    Landing(match arrived.await {
        Ok(answer) => landing::arrived(&desk, &answer),
        Err(failure) => landing::failed(&desk, &wanted, &failure),
    })
}

/// The secret of somebody who must say that it was they who began.
#[derive(Debug)]
pub(super) struct Continuing {
    pending: String,
}

impl Ask for Continuing {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { pending: fields.text("continue")? })
    }
}

/// As whom they would go on.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct PendingSignIn {
    employee_id: String,
    name: String,
    expires_in: u64,
}

/// Shows as whom somebody would go on.
pub(super) async fn pending(
    State(desk): State<Desk>,
    Body(ask): Body<Continuing>,
) -> Result<Reply<PendingSignIn>, Failure> {
    let waiting = desk.auth.pending(&ask.pending).await?;
    let (name, expires_in) = (waiting.who.shown_name().to_owned(), waiting.remaining.as_secs());
    Ok(Reply(PendingSignIn { employee_id: waiting.who.employee_id, name, expires_in }))
}

/// Where to go on.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Proceed {
    redirect_to: String,
}

/// Signs somebody in who says that it was they who began.
pub(super) async fn proceed(
    State(desk): State<Desk>,
    Guest(visitor): Guest,
    cookies: Cookies,
    Body(ask): Body<Continuing>,
) -> Result<(SetCookie, Reply<Proceed>), Failure> {
    let (bound_to, set_cookie) = bound(&desk, &cookies)?;
    let at = desk.clone();
    let answer = to_the_end(async move { at.auth.proceed(&ask.pending, bound_to, &visitor).await }).await;
    let answer = answer.inspect_err(|failure| desk.metrics.refused(landing::word(failure).0))?;
    Ok((set_cookie, Reply(Proceed { redirect_to: landing::address(&desk, &answer) })))
}
