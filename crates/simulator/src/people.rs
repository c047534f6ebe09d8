//! The control API for people: their states, and the events that follow from changes.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::address_book::{AddressBook, MAX_MEMBERS, Person, PersonUpdate, State};
use crate::json_body::read;
use crate::state::SimulatorInner;
use crate::{events, reply};

/// The methods of all its paths.
pub(crate) const METHODS: &[&str] = &["GET", "PUT"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    /// The number of generated members.
    members: usize,
}

/// Shows everyone but generated members, or changes how many of these there are.
pub(crate) fn all(inner: &SimulatorInner, request: &Request<Bytes>) -> Response<Bytes> {
    if request.method() == Method::PUT {
        match read::<Members>(request.body()) {
            Ok(ask) if ask.members > MAX_MEMBERS => {
                return reply::bad_request(&format!("members must be at most {MAX_MEMBERS}"));
            }
            Ok(ask) => inner.state().book.set_members(ask.members),
            Err(error) => return reply::bad_request(&error),
        }
    }
    let state = inner.state();
    let people: Vec<_> = state.book.listed().iter().map(|who| shown(who, &state.book)).collect();
    let members = state.book.people().filter(|who| who.is_generated).count();
    reply::json(StatusCode::OK, &json!({ "members": members, "people": people }))
}

/// Shows or changes one person. The answer to a change comes after the service has answered to the events.
pub(crate) async fn one(inner: &SimulatorInner, id: &str, request: &Request<Bytes>) -> Response<Bytes> {
    let done = if request.method() == Method::PUT { change(inner, id, request.body()).await } else { show(inner, id) };
    match done {
        Ok(body) => reply::json(StatusCode::OK, &body),
        Err(error) => reply::bad_request(&error),
    }
}

fn show(inner: &SimulatorInner, id: &str) -> Result<Value, String> {
    let state = inner.state();
    let who = state.book.by_id(id).ok_or_else(|| format!("there is no person {id:?}"))?;
    Ok(json!({ "person": shown(&who, &state.book) }))
}

async fn change(inner: &SimulatorInner, id: &str, body: &[u8]) -> Result<Value, String> {
    let update: PersonUpdate = read(body)?;
    let changed = inner.state().book.change(id, update)?;
    let events = events::tell(inner, &changed).await?;
    let person = shown(&changed.after, &inner.state().book);
    Ok(json!({ "person": person, "events": events }))
}

fn shown(who: &Person, book: &AddressBook) -> Value {
    json!({
        "id": who.id,
        "name": who.name,
        "department": who.department,
        "email": who.email,
        "state": State::word(who.kind),
        "tags": book.tag_names(who),
    })
}
