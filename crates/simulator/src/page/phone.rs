//! The phone of a user: the messages of the app, with the addresses that they open.

use bytes::Bytes;
use http::{Response, StatusCode, Uri};
use serde_json::Value;
use url::Url;

use super::frame::{Escaped, frame};
use crate::language::PageLanguage;
use crate::query::QueryParams;
use crate::reply;
use crate::state::SimulatorInner;

/// Where messages of the platforms have their title and their text.
const TITLES: [&str; 5] = [
    "/template_card/main_title/title",
    "/textcard/title",
    "/action_card/title",
    "/markdown/title",
    "/interactive/header/title/content",
];
const TEXTS: [&str; 7] = [
    "/text/content",
    "/template_card/sub_title_text",
    "/textcard/description",
    "/action_card/markdown",
    "/markdown/text",
    "/markdown/content",
    "/interactive/elements/0/text/content",
];

/// The messages of the user whom the parameter `user` names, newest first; without it, the users to choose from.
pub(crate) fn phone(inner: &SimulatorInner, language: PageLanguage, uri: &Uri) -> Response<Bytes> {
    let query = QueryParams::from_uri(uri);
    let (title, list) = match query.non_empty("user") {
        Some(user) => {
            let messages = inner.state().inbox.of(user);
            (language.pick(format!("The phone of {user}"), format!("{user} 的手机")), show(&messages, user, language))
        }
        None => (language.pick("Whose phone?", "谁的手机？").to_owned(), people(inner)),
    };
    let body = format!("<h1>{}</h1><ul>{list}</ul>", Escaped(&title));
    reply::page(StatusCode::OK, frame(language, "phone", &Escaped(&title).to_string(), &body))
}

fn people(inner: &SimulatorInner) -> String {
    let people = inner.state().book.listed();
    let link = |id: &str| QueryParams::default().with("user", id);
    let row = |id: &str, name: &str| {
        format!(
            "<li><a href=\"?{}\"><b>{}</b><small>{}</small></a></li>",
            Escaped(&link(id)),
            Escaped(name),
            Escaped(id)
        )
    };
    people.iter().map(|who| row(&who.id, &who.name)).collect()
}

fn show(messages: &[Value], user: &str, language: PageLanguage) -> String {
    if messages.is_empty() {
        return format!("<li>{}</li>", language.pick("No messages", "没有消息"));
    }
    messages.iter().rev().map(|message| row(message, user)).collect()
}

fn row(message: &Value, user: &str) -> String {
    let first = |places: &[&str]| places.iter().find_map(|place| message.pointer(place)?.as_str()).unwrap_or_default();
    let (title, text) = (first(&TITLES), first(&TEXTS));
    let shown = format!("<b>{}</b><small>{}</small>", Escaped(title), Escaped(text));
    // A card opens its address; in a text, an address can be touched.
    let address = message.get("url").and_then(Value::as_str).or_else(|| address_in(text));
    match address.and_then(|address| opened_by(address, user)) {
        Some(address) => format!("<li><a href=\"{}\">{shown}</a></li>", Escaped(address.as_str())),
        None => format!("<li>{shown}</li>"),
    }
}

fn address_in(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| word.starts_with("http://") || word.starts_with("https://"))
}

/// An address as the phone of this user opens it: the platform's page then knows who it is.
fn opened_by(address: &str, user: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.query_pairs_mut().append_pair("sim_user", user);
    Some(url)
}
