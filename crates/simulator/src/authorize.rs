//! The authorization pages: the link inside the platform's client, and the link for a desktop browser.

use bytes::Bytes;
use http::{Request, Response};
use url::Url;

use crate::authorize_error::AuthorizeError;
use crate::directory::{PersonKind, SimulatedPerson};
use crate::language::PageLanguage;
use crate::query::QueryParams;
use crate::state::SimulatorInner;
use crate::switches::Switches;
use crate::{SimulatorConfig, page, reply};

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
    authorize(inner, link, &query, language).unwrap_or_else(|error| page::error(language, error))
}

fn authorize(
    inner: &SimulatorInner,
    link: AuthorizeLink,
    query: &QueryParams,
    language: PageLanguage,
) -> Result<Response<Bytes>, AuthorizeError> {
    let ask = check(link, query, &inner.config, &inner.state().switches)?;
    let Some(user) = query.get("sim_user") else {
        return Ok(page::who(language, &ask.redirect, query));
    };
    let code = if user == page::DENY { None } else { Some(issue_code(inner, link, user)?) };
    Ok(reply::redirect(&ask.target(code.as_deref())))
}

fn issue_code(inner: &SimulatorInner, link: AuthorizeLink, user: &str) -> Result<String, AuthorizeError> {
    let who = SimulatedPerson::by_id(user).ok_or(AuthorizeError::UnknownUser)?;
    // Inside the client the platform identifies even users whom the app may not see.
    if link == AuthorizeLink::Desktop && who.kind == PersonKind::Hidden {
        return Err(AuthorizeError::OutOfRange);
    }
    let issued = inner.state().codes.issue(who, inner.clock.now(), inner.entropy);
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

impl AuthorizeRequest<'_> {
    /// The redirect URI with code and state after its own parameters and before its fragment; a denial has no code.
    fn target(self, code: Option<&str>) -> Url {
        let Self { mut redirect, state } = self;
        let added = [("code", code), ("state", state)].into_iter().filter_map(|(name, value)| Some((name, value?)));
        if code.is_some() || state.is_some() {
            redirect.query_pairs_mut().extend_pairs(added);
        }
        redirect
    }
}
