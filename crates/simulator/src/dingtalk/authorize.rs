//! The login page, in any browser and inside the client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use url::Url;

use crate::address_book::Person;
use crate::authorize::{Choice, redirect_target};
use crate::codes::{CodeGrant, CodeKind};
use crate::language::PageLanguage;
use crate::query::QueryParams;
use crate::state::SimulatorInner;
use crate::{SimulatorConfig, page, reply};

const CODE_LIFETIME: Duration = Duration::from_mins(5);

/// The error of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkError {
    ClientId,
    ResponseType,
    Scope,
    Redirect,
    UnknownUser,
    Busy,
}

impl LinkError {
    fn status(self) -> StatusCode {
        match self {
            Self::UnknownUser => StatusCode::NOT_FOUND,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    fn message(self, language: PageLanguage) -> &'static str {
        match self {
            Self::ClientId => language.pick("client_id is not this app", "client_id 参数错误"),
            Self::ResponseType => language.pick("response_type must be code", "response_type 参数须为 code"),
            Self::Scope => {
                language.pick("scope must be openid, or openid corpid", "scope 参数须为 openid 或 openid corpid")
            }
            Self::Redirect => language.pick(
                "redirect_uri is not one of the redirect URLs of the app",
                "redirect_uri 不在应用安全设置的重定向URL中",
            ),
            Self::UnknownUser => language.pick("There is no such person", "查无此人"),
            Self::Busy => language.pick("The system is busy; try again", "系统繁忙，请重试"),
        }
    }
}

/// A valid link.
struct LoginRequest<'a> {
    redirect: Url,
    state: Option<&'a str>,
    /// Whether the exchange of the code tells the corporation.
    tells_corp: bool,
}

pub(super) fn handle(inner: &SimulatorInner, request: &Request<Bytes>) -> Response<Bytes> {
    let query = QueryParams::from_uri(request.uri());
    let language = PageLanguage::of(request.headers());
    log_in(inner, &query, language)
        .unwrap_or_else(|error| page::error(language, error.status(), error.message(language)))
}

fn log_in(inner: &SimulatorInner, query: &QueryParams, language: PageLanguage) -> Result<Response<Bytes>, LinkError> {
    let ask = check(query, &inner.config)?;
    let choice = Choice::of(query, &inner.state().book);
    let target = match choice {
        Choice::Open => return Ok(page::who(inner, language, &ask.redirect, query)),
        Choice::Unknown => return Err(LinkError::UnknownUser),
        Choice::Refused => redirect_target(ask.redirect, &[("error", Some("access_denied")), ("state", ask.state)]),
        Choice::Person(who) => {
            let code = issue_code(inner, who, &ask)?;
            let code = Some(code.as_str());
            redirect_target(ask.redirect, &[("authCode", code), ("code", code), ("state", ask.state)])
        }
    };
    Ok(reply::redirect(&target))
}

fn issue_code(inner: &SimulatorInner, who: Arc<Person>, ask: &LoginRequest<'_>) -> Result<String, LinkError> {
    let redirect_uri = Some(ask.redirect.as_str().to_owned());
    let grant = CodeGrant { who, kind: CodeKind::Browser, redirect_uri, challenge: None, lifetime: CODE_LIFETIME };
    let mut state = inner.state();
    let code = state.codes.issue(grant, inner.clock.now(), inner.entropy).map_err(|_| LinkError::Busy)?;
    if !ask.tells_corp {
        state.dingtalk.hide_corp(&code);
    }
    Ok(code)
}

fn check<'a>(query: &'a QueryParams, config: &SimulatorConfig) -> Result<LoginRequest<'a>, LinkError> {
    if query.non_empty("client_id") != Some(config.client_id.as_str()) {
        return Err(LinkError::ClientId);
    }
    if query.non_empty("response_type") != Some("code") {
        return Err(LinkError::ResponseType);
    }
    let scopes: Vec<_> = query.get("scope").unwrap_or_default().split(' ').collect();
    if !scopes.contains(&"openid") || scopes.iter().any(|scope| !matches!(*scope, "openid" | "corpid")) {
        return Err(LinkError::Scope);
    }
    let redirect = query.non_empty("redirect_uri").and_then(|uri| config.domains.admit_exact(uri));
    let redirect = redirect.ok_or(LinkError::Redirect)?;
    Ok(LoginRequest { redirect, state: query.get("state"), tells_corp: scopes.contains(&"corpid") })
}
