//! The HTML pages: the choice of a user, the error page, and the index page.

mod index;

use std::fmt::{self, Write as _};

use bytes::Bytes;
use http::{Response, StatusCode};
use url::Url;

use crate::authorize::DENY;
use crate::authorize_error::AuthorizeError;
use crate::directory::{PEOPLE, PersonKind, SimulatedPerson};
use crate::language::Language;
use crate::query::Query;
use crate::reply;

pub(crate) use index::index;

const STYLE: &str = include_str!("page.css");

/// Text that is HTML-escaped on output.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            char => f.write_char(char),
        })
    }
}

/// The page on which the visitor chooses a user: each user is a link to the same URL with their name added.
pub(crate) fn who(language: Language, redirect: &Url, query: &Query) -> Response<Bytes> {
    let title = language.pick("Who are you?", "你是谁？");
    let leads = language.pick("You are about to sign in at", "你将登录");
    let host = redirect.host_str().unwrap_or_default();
    let port = redirect.port().map(|port| format!(":{port}")).unwrap_or_default();
    let people: String = PEOPLE.iter().map(|who| person(language, who, query)).collect();
    let refuse = link(query, DENY, &format!("<b>{}</b>", language.pick("Refuse", "拒绝")));
    let toy = language.pick("This is a simulated platform: no password is asked.", "这是模拟平台，无需密码。");
    let body = format!(
        "<h1>{title}</h1><p>{leads} {}{port}</p><ul>{people}</ul><ul class=\"refuse\">{refuse}</ul><p>{toy}</p>",
        Escaped(host)
    );
    reply::page(StatusCode::OK, frame(language, "phone", title, &body))
}

fn person(language: Language, who: &SimulatedPerson, query: &Query) -> String {
    let note = match who.kind {
        PersonKind::Member => "",
        PersonKind::Left => language.pick("has left", "已离职"),
        PersonKind::Hidden => language.pick("outside the app's range", "不在应用可见范围"),
        PersonKind::Outsider => language.pick("not a member", "非企业成员"),
        PersonKind::Partner => language.pick("connected corporation", "互联企业成员"),
    };
    let said = [who.id, who.department, note].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    link(query, who.id, &format!("<b>{}</b><small>{}</small>", Escaped(who.name), Escaped(&said.join(" · "))))
}

fn link(query: &Query, user: &str, label: &str) -> String {
    format!("<li><a href=\"?{}\">{label}</a></li>", Escaped(&query.with("sim_user", user)))
}

/// An error page, without a redirect.
pub(crate) fn error(language: Language, error: AuthorizeError) -> Response<Bytes> {
    let title = language.pick("This does not work", "出错了");
    let body = format!("<h1>{title}</h1><p>{}</p>", Escaped(error.message(language)));
    reply::page(error.status(), frame(language, "phone", title, &body))
}

fn frame(language: Language, class: &str, title: &str, body: &str) -> String {
    let tag = language.pick("en", "zh-CN");
    format!(
        "<!doctype html>\n<html lang=\"{tag}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head><body><main class=\"{class}\">{body}</main></body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        assert_eq!(
            Escaped("<a b=\"c\" d='e'>&amp;你").to_string(),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;你"
        );
    }
}
