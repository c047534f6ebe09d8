//! `message/send`: the app sends messages to members.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{JsonFields, fields};
use crate::call::ApiCall;
use crate::directory::{PEOPLE, PersonKind, SimulatedDepartment, SimulatedPerson, member};
use crate::state::SimulatorState;
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
    let recipients = Recipients::of(&ask)?;
    let content = content(&ask)?;
    let message_id = call.entropy.bytes().map(u128::from_be_bytes).map(|id| format!("{id:032x}")).map_err(|_| -1)?;
    if !is_duplicate(&ask, &asked, call, state) {
        let to: Vec<_> = recipients.valid.iter().map(|who| who.id).collect();
        state.inbox.deliver(json!({
            "msgid": message_id,
            "at": call.now.millis(),
            "touser": to,
            "msgtype": ask.msgtype,
            ask.msgtype.as_str(): content,
        }));
    }
    Ok(fields(json!({
        "invaliduser": recipients.invalid_users,
        "invalidparty": recipients.invalid_parties,
        "invalidtag": ask.totag,
        "unlicenseduser": "",
        "msgid": message_id,
    })))
}

fn check_agent(call: &ApiCall<'_>, agent: Option<&Value>) -> Result<(), Refused> {
    let agent = agent.ok_or(41011)?.as_u64().ok_or(40056)?;
    if agent.to_string() == call.config.agent_id { Ok(()) } else { Err(301_002.into()) }
}

fn is_duplicate(ask: &SendRequest, asked: &Value, call: &ApiCall<'_>, state: &mut SimulatorState) -> bool {
    let span = Duration::from_secs(
        ask.duplicate_check_interval.unwrap_or(DEFAULT_DUPLICATE_SECONDS).min(MAX_DUPLICATE_SECONDS),
    );
    ask.enable_duplicate_check == 1 && state.inbox.repeats(asked, span, call.now)
}

struct Recipients {
    valid: Vec<&'static SimulatedPerson>,
    invalid_users: String,
    invalid_parties: String,
}

impl Recipients {
    /// The recipients of a request; an error when none is given or reachable. There are no tags here, so no tag is valid.
    fn of(ask: &SendRequest) -> Result<Self, Refused> {
        if [&ask.touser, &ask.toparty, &ask.totag].into_iter().all(|list| parts(list).next().is_none()) {
            return Err(82001.into());
        }
        let receives = |who: &&SimulatedPerson| reachable(who) && (is_addressed(who, ask) || is_in_party(who, ask));
        let valid: Vec<_> = PEOPLE.iter().filter(receives).collect();
        let known = |id: &&str| *id == "@all" || member(id).is_some_and(reachable);
        let party = |id: &&str| id.parse().ok().and_then(SimulatedDepartment::by_id).is_some();
        let invalid_users = join(parts(&ask.touser).filter(|id| !known(id))).to_ascii_lowercase();
        let invalid_parties = join(parts(&ask.toparty).filter(|id| !party(id)));
        if valid.is_empty() {
            let refused = Refused::from(81013).with("invaliduser", invalid_users);
            return Err(refused.with("invalidparty", invalid_parties).with("invalidtag", ask.totag.as_str()));
        }
        Ok(Self { valid, invalid_users, invalid_parties })
    }
}

fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split('|').filter(|part| !part.is_empty())
}

fn join<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.collect::<Vec<_>>().join("|")
}

fn is_addressed(who: &SimulatedPerson, ask: &SendRequest) -> bool {
    parts(&ask.touser).any(|id| id == "@all" || id.eq_ignore_ascii_case(who.id))
}

fn is_in_party(who: &SimulatedPerson, ask: &SendRequest) -> bool {
    parts(&ask.toparty).any(|id| id.parse() == Ok(who.department_id()))
}

fn reachable(who: &SimulatedPerson) -> bool {
    who.kind == PersonKind::Member
}

/// The displayed content: the platform truncates a long text.
fn content(ask: &SendRequest) -> Result<Value, Refused> {
    match ask.msgtype.as_str() {
        "text" => text(ask.text.as_ref()),
        "markdown" => text(ask.markdown.as_ref()),
        "textcard" => card(ask.textcard.as_ref().ok_or(44004)?),
        _ => Err(40008.into()),
    }
}

fn text(text: Option<&TextContent>) -> Result<Value, Refused> {
    let content = text.map(|text| text.content.as_str()).filter(|content| !content.is_empty()).ok_or(44004)?;
    let end = content.floor_char_boundary(MAX_TEXT_BYTES);
    Ok(json!({ "content": content.get(..end) }))
}

fn card(card: &TextCard) -> Result<Value, Refused> {
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
