//! Where people authorise: the link inside the platform's client, and the one for a desktop browser.

use bytes::Bytes;
use http::{Request, Response};
use url::Url;

use crate::complaint::Complaint;
use crate::directory::{Kind, Somebody};
use crate::language::Language;
use crate::query::Query;
use crate::simulator::Inner;
use crate::switches::Switches;
use crate::{World, page, reply};

/// Which of the two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    InClient,
    Desktop,
}

/// Stands for whoever refuses.
pub(crate) const DENY: &str = "deny";

/// A link that holds: where the answer goes, and what it repeats.
struct Ask<'a> {
    redirect: Url,
    state: Option<&'a str>,
}

pub(crate) fn answer(inner: &Inner, link: Link, request: &Request<Bytes>) -> Response<Bytes> {
    let query = Query::of(request.uri());
    let language = query.get("lang").filter(|_| link == Link::Desktop).and_then(Language::named);
    let language = language.unwrap_or_else(|| Language::of(request.headers()));
    authorize(inner, link, &query, language).unwrap_or_else(|complaint| page::complaint(language, complaint))
}

fn authorize(inner: &Inner, link: Link, query: &Query, language: Language) -> Result<Response<Bytes>, Complaint> {
    let ask = check(link, query, &inner.world, &inner.state().switches)?;
    let Some(user) = query.get("sim_user") else {
        return Ok(page::who(language, &ask.redirect, query));
    };
    let code = if user == DENY { None } else { Some(mint(inner, link, user)?) };
    Ok(reply::redirect(&ask.target(code.as_deref())))
}

fn mint(inner: &Inner, link: Link, user: &str) -> Result<String, Complaint> {
    let who = Somebody::named(user).ok_or(Complaint::NobodyOfThatName)?;
    // Inside the client the platform says who it is even to an app that may not see them.
    if link == Link::Desktop && who.kind == Kind::Hidden {
        return Err(Complaint::OutOfRange);
    }
    let minted = inner.state().codes.mint(who, inner.clock.now(), inner.entropy);
    minted.map_err(|_| Complaint::Busy)
}

fn check<'a>(link: Link, query: &'a Query, world: &World, switches: &Switches) -> Result<Ask<'a>, Complaint> {
    let is = |name: &str, wanted: &str| query.given(name) == Some(wanted);
    if !is("appid", &world.corp_id) {
        return Err(Complaint::AppId);
    }
    match link {
        Link::InClient if !is("response_type", "code") => return Err(Complaint::ResponseType),
        Link::InClient if !is("scope", "snsapi_base") => return Err(Complaint::Scope),
        Link::InClient if query.get("agentid").is_none() => {}
        // Left out by some in the field, and the platform lets them.
        Link::Desktop if query.get("login_type").is_some() && !is("login_type", "CorpApp") => {
            return Err(Complaint::LoginType);
        }
        _ if !is("agentid", &world.agent_id) => return Err(Complaint::AgentId),
        _ => {}
    }
    let state = query.get("state");
    if !switches.accept_state(state.unwrap_or_default()) {
        return Err(Complaint::State);
    }
    let redirect = query.given("redirect_uri").and_then(|uri| world.domains.admit(uri)).ok_or(Complaint::Domain)?;
    Ok(Ask { redirect, state })
}

impl Ask<'_> {
    /// The address with code and state behind its own parameters and before its fragment; who refuses gives no code.
    fn target(self, code: Option<&str>) -> Url {
        let Self { mut redirect, state } = self;
        let added = [("code", code), ("state", state)].into_iter().filter_map(|(name, value)| Some((name, value?)));
        if code.is_some() || state.is_some() {
            redirect.query_pairs_mut().extend_pairs(added);
        }
        redirect
    }
}
