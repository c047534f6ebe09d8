//! `message/update_template_card`: the app changes a card that it sent.

use serde::Deserialize;
use serde_json::{Value, json};

use super::card;
use super::message::check_agent;
use super::{JsonFields, fields};
use crate::address_book::AddressBook;
use crate::call::ApiCall;
use crate::codes::CodeFailure;
use crate::state::SimulatorState;
use crate::wecom::errcode::Refused;

const MAX_BUTTON_NAME_CHARS: usize = 10;

#[derive(Deserialize)]
struct UpdateRequest {
    #[serde(default)]
    userids: Vec<String>,
    #[serde(default)]
    partyids: Vec<u32>,
    #[serde(default)]
    tagids: Vec<u32>,
    #[serde(default)]
    atall: u8,
    agentid: Option<Value>,
    #[serde(default)]
    response_code: String,
    button: Option<Button>,
    template_card: Option<Value>,
}

#[derive(Deserialize)]
struct Button {
    #[serde(default)]
    replace_name: String,
}

pub(super) fn update(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let ask: UpdateRequest = serde_json::from_slice(call.body).map_err(|_| 40058)?;
    check_agent(call, ask.agentid.as_ref())?;
    let change = change(&ask)?;
    let sent = state.cards.find(&ask.response_code, call.now).map_err(errcode)?.clone();
    if ask.userids.is_empty() && ask.partyids.is_empty() && ask.tagids.is_empty() && ask.atall == 0 {
        return Err(82001.into());
    }
    let changed: Vec<_> = sent.recipients.iter().filter(|id| is_addressed(id, &ask, &state.book)).cloned().collect();
    let received = |id: &&String| sent.recipients.iter().any(|recipient| recipient.eq_ignore_ascii_case(id));
    let invalid: Vec<_> = ask.userids.iter().filter(|id| !received(id)).map(|id| id.to_ascii_lowercase()).collect();
    if changed.is_empty() {
        return Err(Refused::from(81013).with("invaliduser", invalid));
    }
    state.cards.use_up(&ask.response_code);
    let at = call.now.millis();
    state.inbox.append(&sent.message_id, "updates", json!({ "at": at, "touser": changed, "change": change }));
    Ok(fields(json!({ "invaliduser": invalid })))
}

/// What becomes of the card: its button is greyed out under another name, or another card replaces it.
fn change(ask: &UpdateRequest) -> Result<Value, Refused> {
    match (&ask.button, &ask.template_card) {
        (Some(button), None) if !button.replace_name.is_empty() => {
            let name: String = button.replace_name.chars().take(MAX_BUTTON_NAME_CHARS).collect();
            Ok(json!({ "button": { "replace_name": name } }))
        }
        (None, Some(card)) => {
            card::check(card)?;
            Ok(json!({ "template_card": card }))
        }
        _ => Err(40058.into()),
    }
}

fn is_addressed(id: &str, ask: &UpdateRequest, book: &AddressBook) -> bool {
    let department = book.by_id(id).map(|who| who.department_id);
    ask.atall == 1
        || ask.userids.iter().any(|wanted| wanted.eq_ignore_ascii_case(id))
        || department.is_some_and(|department| ask.partyids.contains(&department))
}

fn errcode(failure: CodeFailure) -> Refused {
    match failure {
        CodeFailure::Unknown => 40058,
        CodeFailure::Used => 42022,
        CodeFailure::Expired => 42003,
    }
    .into()
}
