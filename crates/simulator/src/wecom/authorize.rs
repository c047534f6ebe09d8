//! The authorization pages: the link inside the platform's client, and the link for a desktop browser.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use url::Url;

use super::authorize_error::AuthorizeError;
use crate::address_book::Person;
use crate::authorize::{Choice, redirect_target};
use crate::codes::{CodeGrant, CodeKind};
use crate::directory::PersonKind;
use crate::language::PageLanguage;
use crate::query::QueryParams;
use crate::state::SimulatorInner;
use crate::switches::Switches;
use crate::{SimulatorConfig, page, reply};

const CODE_LIFETIME: Duration = Duration::from_mins(5);

/// The kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthorizeLink {
    InClient,
    Desktop,
}

/// A valid link: the redirect URI, and the state that the redirect repeats.
struct AuthorizeRequest<'a> {
    redirect: Url,
    state: Option<&'a str>,
}

pub(crate) fn handle(inner: &SimulatorInner, link: AuthorizeLink, request: &Request<Bytes>) -> Response<Bytes> {
    let query = QueryParams::from_uri(request.uri());
    let language = query.get("lang").filter(|_| link == AuthorizeLink::Desktop).and_then(PageLanguage::from_name);
    let language = language.unwrap_or_else(|| PageLanguage::of(request.headers()));
    authorize(inner, link, &query, language)
        .unwrap_or_else(|error| page::error(language, error.status(), error.message(language)))
}

fn authorize(
    inner: &SimulatorInner,
    link: AuthorizeLink,
    query: &QueryParams,
    language: PageLanguage,
) -> Result<Response<Bytes>, AuthorizeError> {
    let ask = check(link, query, &inner.config, &inner.state().switches)?;
    let choice = Choice::of(query, &inner.state().book);
    let code = match choice {
        Choice::Open => return Ok(page::who(inner, language, &ask.redirect, query)),
        Choice::Unknown => return Err(AuthorizeError::UnknownUser),
        Choice::Refused => None,
        Choice::Person(who) => Some(issue_code(inner, link, who, &ask.redirect)?),
    };
    // A denial has no code.
    let target = redirect_target(ask.redirect, &[("code", code.as_deref()), ("state", ask.state)]);
    Ok(reply::redirect(&target))
}

fn issue_code(
    inner: &SimulatorInner,
    link: AuthorizeLink,
    who: Arc<Person>,
    redirect: &Url,
) -> Result<String, AuthorizeError> {
    // Inside the client the platform identifies even users whom the app may not see.
    if link == AuthorizeLink::Desktop && who.kind == PersonKind::Hidden {
        return Err(AuthorizeError::OutOfRange);
    }
    let kind = if link == AuthorizeLink::Desktop { CodeKind::Browser } else { CodeKind::InClient };
    let redirect_uri = Some(redirect.as_str().to_owned());
    let grant = CodeGrant { who, kind, redirect_uri, challenge: None, lifetime: CODE_LIFETIME };
    let issued = inner.state().codes.issue(grant, inner.clock.now(), inner.entropy);
    issued.map_err(|_| AuthorizeError::Busy)
}

fn check<'a>(
    link: AuthorizeLink,
    query: &'a QueryParams,
    config: &SimulatorConfig,
    switches: &Switches,
) -> Result<AuthorizeRequest<'a>, AuthorizeError> {
    let is = |name: &str, wanted: &str| query.non_empty(name) == Some(wanted);
    if !is("appid", &config.corp_id) {
        return Err(AuthorizeError::AppId);
    }
    match link {
        AuthorizeLink::InClient if !is("response_type", "code") => return Err(AuthorizeError::ResponseType),
        AuthorizeLink::InClient if !is("scope", "snsapi_base") => return Err(AuthorizeError::Scope),
        AuthorizeLink::InClient if query.get("agentid").is_none() => {}
        // Some clients leave it out, and the platform accepts that.
        AuthorizeLink::Desktop if query.get("login_type").is_some() && !is("login_type", "CorpApp") => {
            return Err(AuthorizeError::LoginType);
        }
        _ if !is("agentid", &config.agent_id) => return Err(AuthorizeError::AgentId),
        _ => {}
    }
    let state = query.get("state");
    if !switches.accept_state(state.unwrap_or_default()) {
        return Err(AuthorizeError::State);
    }
    let redirect =
        query.non_empty("redirect_uri").and_then(|uri| config.domains.admit(uri)).ok_or(AuthorizeError::Domain)?;
    Ok(AuthorizeRequest { redirect, state })
}
