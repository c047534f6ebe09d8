//! `message/send`: the app sends messages to members.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::card;
use super::{JsonFields, fields};
use crate::address_book::{AddressBook, Person};
use crate::call::ApiCall;
use crate::directory::PersonKind;
use crate::state::SimulatorState;
use crate::wecom::cards::SentCard;
use crate::wecom::errcode::Refused;

const MAX_TEXT_BYTES: usize = 2_048;
const MAX_TITLE_CHARS: usize = 128;
const MAX_DESCRIPTION_CHARS: usize = 512;
const DEFAULT_DUPLICATE_SECONDS: u64 = 1_800;
const MAX_DUPLICATE_SECONDS: u64 = 14_400;

#[derive(Deserialize)]
struct SendRequest {
    #[serde(default)]
    touser: String,
    #[serde(default)]
    toparty: String,
    #[serde(default)]
    totag: String,
    #[serde(default)]
    msgtype: String,
    agentid: Option<Value>,
    text: Option<TextContent>,
    markdown: Option<TextContent>,
    textcard: Option<TextCard>,
    template_card: Option<Value>,
    #[serde(default)]
    enable_duplicate_check: u8,
    duplicate_check_interval: Option<u64>,
}

#[derive(Deserialize)]
struct TextContent {
    #[serde(default)]
    content: String,
}

#[derive(Deserialize)]
struct TextCard {
    title: String,
    description: String,
    url: String,
    btntxt: Option<String>,
}

pub(super) fn send(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let asked: Value = serde_json::from_slice(call.body).map_err(|_| 40058)?;
    let ask = SendRequest::deserialize(&asked).map_err(|_| 40058)?;
    check_agent(call, ask.agentid.as_ref())?;
    let recipients = Recipients::of(&ask, &state.book)?;
    let content = content(&ask)?;
    let message_id = call.entropy.bytes().map(u128::from_be_bytes).map(|id| format!("{id:032x}")).map_err(|_| -1)?;
    let to: Vec<_> = recipients.valid.iter().map(|who| who.id.clone()).collect();
    let response_code = response_code(&ask, &message_id, &to, call, state)?;
    if !is_duplicate(&ask, &asked, call, state) {
        let url = link(&content);
        let message = json!({
            "msgid": message_id,
            "at": call.now.millis(),
            "touser": to,
            "msgtype": ask.msgtype,
            ask.msgtype.as_str(): content,
        });
        state.inbox.deliver(message, url.as_deref());
    }
    let mut answer = fields(json!({
        "invaliduser": recipients.invalid_users,
        "invalidparty": recipients.invalid_parties,
        "invalidtag": recipients.invalid_tags,
        "unlicenseduser": "",
        "msgid": message_id,
    }));
    answer.extend(response_code.map(|code| ("response_code".to_owned(), code.into())));
    Ok(answer)
}

/// The code with which a card that calls back can be changed; other messages have none.
fn response_code(
    ask: &SendRequest,
    message_id: &str,
    to: &[String],
    call: &ApiCall<'_>,
    state: &mut SimulatorState,
) -> Result<Option<String>, Refused> {
    let Some(card) = ask.template_card.as_ref().filter(|_| ask.msgtype == "template_card") else { return Ok(None) };
    if !card::check(card)?.calls_back() {
        return Ok(None);
    }
    if state.switches.no_callback {
        return Err(43012.into());
    }
    let task_id = card::task_id(card)?;
    if state.cards.is_known_task(task_id) {
        return Err(42014.into());
    }
    let card = SentCard { message_id: message_id.to_owned(), recipients: to.to_vec() };
    state.cards.record(task_id, card, call.now, call.entropy).map(Some).map_err(|_| Refused::from(-1))
}

/// The app's number, which the platform accepts as a number and as a text. A text with blanks is the number of another app.
pub(super) fn check_agent(call: &ApiCall<'_>, agent: Option<&Value>) -> Result<(), Refused> {
    let agent = match agent.ok_or(41011)? {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return Err(40056.into()),
    };
    if agent.trim().parse::<u64>().is_err() {
        return Err(40056.into());
    }
    if agent == call.config.agent_id { Ok(()) } else { Err(301_002.into()) }
}

fn is_duplicate(ask: &SendRequest, asked: &Value, call: &ApiCall<'_>, state: &mut SimulatorState) -> bool {
    let span = Duration::from_secs(
        ask.duplicate_check_interval.unwrap_or(DEFAULT_DUPLICATE_SECONDS).min(MAX_DUPLICATE_SECONDS),
    );
    ask.enable_duplicate_check == 1 && state.inbox.repeats(asked, span, call.now)
}

struct Recipients {
    valid: Vec<Arc<Person>>,
    invalid_users: String,
    invalid_parties: String,
    invalid_tags: String,
}

impl Recipients {
    /// The recipients of a request; an error when none is given or reachable.
    fn of(ask: &SendRequest, book: &AddressBook) -> Result<Self, Refused> {
        if [&ask.touser, &ask.toparty, &ask.totag].into_iter().all(|list| parts(list).next().is_none()) {
            return Err(82001.into());
        }
        let is_named = |who: &Person| is_addressed(who, ask) || is_in_party(who, ask) || is_tagged(who, ask, book);
        let receives = |who: &&Arc<Person>| reachable(who) && is_named(who);
        let valid: Vec<_> = book.people().filter(receives).cloned().collect();
        let known = |id: &&str| *id == "@all" || book.member(id).is_some_and(|who| reachable(&who));
        let party = |id: &&str| id.parse().is_ok_and(|id: u32| book.department(id).is_some());
        let tag = |id: &&str| id.parse().is_ok_and(|id: u32| book.tag(id).is_some());
        let invalid_users = join(parts(&ask.touser).filter(|id| !known(id))).to_ascii_lowercase();
        let invalid_parties = join(parts(&ask.toparty).filter(|id| !party(id)));
        let invalid_tags = join(parts(&ask.totag).filter(|id| !tag(id)));
        if valid.is_empty() {
            let refused = Refused::from(81013).with("invaliduser", invalid_users);
            return Err(refused.with("invalidparty", invalid_parties).with("invalidtag", invalid_tags));
        }
        Ok(Self { valid, invalid_users, invalid_parties, invalid_tags })
    }
}

fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split('|').filter(|part| !part.is_empty())
}

fn join<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.collect::<Vec<_>>().join("|")
}

fn is_addressed(who: &Person, ask: &SendRequest) -> bool {
    parts(&ask.touser).any(|id| id == "@all" || id.eq_ignore_ascii_case(&who.id))
}

fn is_in_party(who: &Person, ask: &SendRequest) -> bool {
    parts(&ask.toparty).any(|id| id.parse() == Ok(who.department_id))
}

fn is_tagged(who: &Person, ask: &SendRequest, book: &AddressBook) -> bool {
    let mut tags = parts(&ask.totag).filter_map(|id| book.tag(id.parse().ok()?));
    tags.any(|tag| {
        let mut tops = tag.departments.iter();
        who.tags.contains(&tag.id) || tops.any(|top| book.is_within(who.department_id, *top))
    })
}

fn reachable(who: &Person) -> bool {
    who.kind == PersonKind::Member
}

/// The displayed content: the platform truncates a long text.
fn content(ask: &SendRequest) -> Result<Value, Refused> {
    match ask.msgtype.as_str() {
        "text" => text(ask.text.as_ref()),
        "markdown" => text(ask.markdown.as_ref()),
        "textcard" => text_card(ask.textcard.as_ref().ok_or(44004)?),
        "template_card" => ask.template_card.clone().ok_or_else(|| 44004.into()),
        _ => Err(40008.into()),
    }
}

/// The address that a card opens.
fn link(content: &Value) -> Option<String> {
    let url = content.pointer("/card_action/url").or_else(|| content.get("url"));
    url.and_then(Value::as_str).map(str::to_owned)
}

fn text(text: Option<&TextContent>) -> Result<Value, Refused> {
    let content = text.map(|text| text.content.as_str()).filter(|content| !content.is_empty()).ok_or(44004)?;
    let end = content.floor_char_boundary(MAX_TEXT_BYTES);
    Ok(json!({ "content": content.get(..end) }))
}

fn text_card(card: &TextCard) -> Result<Value, Refused> {
    let TextCard { title, description, url, btntxt } = card;
    let web = Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if title.is_empty() || description.is_empty() || !web {
        return Err(40058.into());
    }
    let cut = |text: &str, limit: usize| text.chars().take(limit).collect::<String>();
    Ok(json!({
        "title": cut(title, MAX_TITLE_CHARS),
        "description": cut(description, MAX_DESCRIPTION_CHARS),
        "url": url,
        "btntxt": cut(btntxt.as_deref().unwrap_or("详情"), 4),
    }))
}
