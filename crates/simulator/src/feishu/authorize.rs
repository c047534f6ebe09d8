//! The authorization page, which is the same inside the platform's client and in other browsers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, Request, Response};
use url::Url;

use super::authorize_error::AuthorizeError;
use crate::address_book::Person;
use crate::authorize::{Choice, redirect_target};
use crate::codes::{CodeGrant, CodeKind};
use crate::language::PageLanguage;
use crate::query::QueryParams;
use crate::state::SimulatorInner;
use crate::{page, reply};

/// How long a code of the page is valid, and a code of the script in the client.
const CODE_LIFETIME: Duration = Duration::from_mins(5);
const SCRIPT_CODE_LIFETIME: Duration = Duration::from_mins(3);

/// A valid link.
struct AuthorizeRequest<'a> {
    redirect: Url,
    /// The address as it is written: the exchange of the code must repeat it.
    redirect_uri: &'a str,
    state: Option<&'a str>,
    challenge: Option<&'a str>,
    kind: CodeKind,
}

pub(super) fn handle(inner: &SimulatorInner, request: &Request<Bytes>) -> Response<Bytes> {
    let query = QueryParams::from_uri(request.uri());
    let language = PageLanguage::of(request.headers());
    authorize(inner, &query, request.headers(), language)
        .unwrap_or_else(|error| page::error(language, error.status(), error.message(language)))
}

fn authorize(
    inner: &SimulatorInner,
    query: &QueryParams,
    headers: &HeaderMap,
    language: PageLanguage,
) -> Result<Response<Bytes>, AuthorizeError> {
    let ask = check(inner, query, headers)?;
    let choice = Choice::of(query, &inner.state().book);
    let (name, value) = match choice {
        Choice::Open => return Ok(page::who(inner, language, &ask.redirect, query)),
        Choice::Unknown => return Err(AuthorizeError::UnknownUser),
        Choice::Refused => ("error", "access_denied".to_owned()),
        Choice::Person(who) => ("code", issue_code(inner, who, &ask)?),
    };
    Ok(reply::redirect(&redirect_target(ask.redirect, &[(name, Some(value.as_str())), ("state", ask.state)])))
}

fn issue_code(inner: &SimulatorInner, who: Arc<Person>, ask: &AuthorizeRequest<'_>) -> Result<String, AuthorizeError> {
    let by_script = ask.kind == CodeKind::Script;
    let grant = CodeGrant {
        who,
        kind: ask.kind,
        redirect_uri: (!by_script).then(|| ask.redirect_uri.to_owned()),
        challenge: ask.challenge.map(str::to_owned),
        lifetime: if by_script { SCRIPT_CODE_LIFETIME } else { CODE_LIFETIME },
    };
    let issued = inner.state().codes.issue(grant, inner.clock.now(), inner.entropy);
    issued.map_err(|_| AuthorizeError::Busy)
}

fn check<'a>(
    inner: &SimulatorInner,
    query: &'a QueryParams,
    headers: &HeaderMap,
) -> Result<AuthorizeRequest<'a>, AuthorizeError> {
    let config = &inner.config;
    if query.non_empty("client_id") != Some(config.client_id.as_str()) {
        return Err(AuthorizeError::ClientId);
    }
    if query.non_empty("response_type") != Some("code") {
        return Err(AuthorizeError::ResponseType);
    }
    let redirect_uri = query.non_empty("redirect_uri").ok_or(AuthorizeError::Redirect)?;
    let redirect = config.domains.admit_exact(redirect_uri).ok_or(AuthorizeError::Redirect)?;
    let state = query.get("state");
    if !inner.state().switches.accept_state(state.unwrap_or_default()) {
        return Err(AuthorizeError::State);
    }
    let challenge = query.non_empty("code_challenge");
    if challenge.is_some() && query.get("code_challenge_method") != Some("S256") {
        return Err(AuthorizeError::Challenge);
    }
    Ok(AuthorizeRequest { redirect, redirect_uri, state, challenge, kind: code_kind(query, headers) })
}

/// `sim_entry=script` stands for the script on a page inside the client, which the platform's own page knows nothing of.
fn code_kind(query: &QueryParams, headers: &HeaderMap) -> CodeKind {
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    match query.get("sim_entry") {
        Some("script") => CodeKind::Script,
        _ if agent.contains("Lark/") || agent.contains("Feishu/") => CodeKind::InClient,
        _ => CodeKind::Browser,
    }
}
