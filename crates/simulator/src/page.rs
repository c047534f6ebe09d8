//! The HTML pages: the choice of a user, the messages of a user, the error page, and the index page.

mod frame;
mod index;
mod phone;

use bytes::Bytes;
use http::{Response, StatusCode};
use url::Url;

use crate::address_book::Person;
use crate::authorize::DENY;
use crate::directory::PersonKind;
use crate::kind::Kind;
use crate::language::PageLanguage;
use crate::query::QueryParams;
use crate::reply;
use crate::state::SimulatorInner;

use frame::{Escaped, frame};
pub(crate) use index::{IndexExamples, index, origin};
pub(crate) use phone::phone;

/// The page on which the visitor chooses a user: each user is a link to the same URL with their name added.
pub(crate) fn who(
    inner: &SimulatorInner,
    language: PageLanguage,
    redirect: &Url,
    query: &QueryParams,
) -> Response<Bytes> {
    let (kind, people) = (inner.config.kind, inner.state().book.listed());
    let title = language.pick("Who are you?", "你是谁？");
    let intro = language.pick("You are about to sign in at", "你将登录");
    let host = redirect.host_str().unwrap_or_default();
    let port = redirect.port().map(|port| format!(":{port}")).unwrap_or_default();
    let people: String = people.iter().map(|who| person(kind, language, who, query)).collect();
    let refuse = link(query, DENY, &format!("<b>{}</b>", language.pick("Refuse", "拒绝")));
    let [english, chinese] = kind.title();
    let hint = language.pick(
        format!("This is a simulated platform, not {english}: no password is required."),
        format!("这是模拟的{chinese}，无需密码。"),
    );
    let body = format!(
        "<h1>{title}</h1><p>{intro} {}{port}</p><ul>{people}</ul><ul class=\"refuse\">{refuse}</ul><p>{hint}</p>",
        Escaped(host)
    );
    reply::page(StatusCode::OK, frame(language, "phone", title, &body))
}

fn person(kind: Kind, language: PageLanguage, who: &Person, query: &QueryParams) -> String {
    let note = match who.kind {
        PersonKind::Member => "",
        PersonKind::Disabled => language.pick("disabled", "已停用"),
        PersonKind::Left => language.pick("has left", "已离职"),
        PersonKind::Hidden => language.pick("outside the app's range", "不在应用可见范围"),
        PersonKind::Outsider => language.pick("not a member", "非企业成员"),
        PersonKind::Partner if kind == Kind::Wecom => language.pick("connected corporation", "互联企业成员"),
        PersonKind::Partner => language.pick("another corporation", "其他企业成员"),
    };
    let details =
        [who.id.as_str(), &who.department, note].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    link(query, &who.id, &format!("<b>{}</b><small>{}</small>", Escaped(&who.name), Escaped(&details.join(" · "))))
}

fn link(query: &QueryParams, user: &str, label: &str) -> String {
    format!("<li><a href=\"?{}\">{label}</a></li>", Escaped(&query.with("sim_user", user)))
}

/// An error page, without a redirect.
pub(crate) fn error(language: PageLanguage, status: StatusCode, message: &str) -> Response<Bytes> {
    let title = language.pick("Request refused", "出错了");
    let body = format!("<h1>{title}</h1><p>{}</p>", Escaped(message));
    reply::page(status, frame(language, "phone", title, &body))
}
