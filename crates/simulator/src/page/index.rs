//! The index page, which explains the simulator and its use.

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, Response, StatusCode};
use url::Url;

use super::frame::{Escaped, frame};
use crate::language::PageLanguage;
use crate::{SimulatorConfig, reply};

/// What a platform shows on the index page.
#[derive(Debug)]
pub(crate) struct IndexExamples {
    /// The path and the parameters of an authorization link with a chosen user, without the first slash.
    pub(crate) authorize: String,
    /// Faults in JSON.
    pub(crate) faults: &'static [&'static str],
}

pub(crate) fn index(config: &SimulatorConfig, headers: &HeaderMap, examples: &IndexExamples) -> Response<Bytes> {
    let language = PageLanguage::of(headers);
    let [english, chinese] = config.kind.title();
    let title = language.pick(format!("The simulated platform: {english}"), format!("模拟的{chinese}"));
    let about = language.pick(
        format!(
            "It simulates {english}, so that sign-in can be tested without an account, a phone or a network. Its data \
             is lost when it stops."
        ),
        format!("它代替{chinese}，无需账号、手机和网络即可试用登录。停止后不会保留任何数据。"),
    );
    let base = Escaped(&config.base);
    let links: String = [
        ("phone", language.pick("the phones of people, with their messages", "各人的手机及其消息")),
        ("people", language.pick("people, and their states", "人员及其状态")),
        ("events", language.pick("events sent to the service", "发给服务的事件")),
        ("inbox", language.pick("messages sent by the app", "应用发出的消息")),
        ("calls", language.pick("API calls received", "API 调用记录")),
        ("faults", language.pick("faults waiting for a call", "待触发的故障")),
        ("switches", language.pick("switches", "开关")),
    ]
    .map(|(path, what)| format!("<li><a href=\"{base}/{path}\"><b>{path}</b><small>{what}</small></a></li>"))
    .concat();
    let phone_title = language.pick("Act as the phone", "扮演手机");
    let faults_title = language.pick("Inject faults", "制造故障");
    let here = format!("{}{}", origin(headers), config.base);
    let body = format!(
        "<h1>{title}</h1><p>{about}</p><ul>{links}</ul><h2>{phone_title}</h2><pre>{}</pre><h2>{faults_title}</h2><pre>{}</pre>",
        Escaped(&phone(&here, &examples.authorize)),
        Escaped(&faults(&here, examples.faults))
    );
    reply::page(StatusCode::OK, frame(language, "wide", &title, &body))
}

/// In development mode the service runs at the same origin; otherwise the link shows at least its form.
fn phone(here: &str, link: &str) -> String {
    format!("# add sim_user=user01 (or deny) to any authorize link\ncurl -i '{here}/{link}'")
}

fn faults(here: &str, examples: &[&str]) -> String {
    let puts: Vec<_> = examples.iter().map(|fault| format!("curl -X PUT {here}/faults -d '{fault}'\n")).collect();
    format!("{}curl -X DELETE {here}/faults\ncurl -X POST {here}/void-tokens", puts.concat())
}

/// The origin at which the browser reached the page.
pub(crate) fn origin(headers: &HeaderMap) -> String {
    format!("http://{}", host(headers))
}

/// The host name that the browser used, if it is safe in a command.
fn host(headers: &HeaderMap) -> &str {
    let plain = |host: &&str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte));
    let whole = |host: &&str| Url::parse(&format!("http://{host}/")).is_ok();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.filter(plain).filter(whole).unwrap_or("127.0.0.1:8080")
}
