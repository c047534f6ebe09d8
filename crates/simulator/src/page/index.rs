//! The index page, which explains the simulator and its use.

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, Response, StatusCode};
use url::{Url, form_urlencoded};

use super::frame::{Escaped, frame};
use crate::language::PageLanguage;
use crate::{SimulatorConfig, reply};

pub(crate) fn index(config: &SimulatorConfig, headers: &HeaderMap) -> Response<Bytes> {
    let language = PageLanguage::of(headers);
    let title = language.pick("The simulated platform", "模拟的企业微信");
    let about = language.pick(
        "It simulates WeCom, so that sign-in can be tested without an account, a phone or a network. Its data is lost \
         when it stops.",
        "它代替企业微信，无需账号、手机和网络即可试用登录。停止后不会保留任何数据。",
    );
    let base = Escaped(&config.base);
    let links: String = [
        ("inbox", language.pick("messages sent by the app", "应用发出的消息")),
        ("calls", language.pick("API calls received", "API 调用记录")),
        ("faults", language.pick("faults waiting for a call", "待触发的故障")),
        ("switches", language.pick("switches", "开关")),
    ]
    .map(|(path, what)| format!("<li><a href=\"{base}/{path}\"><b>{path}</b><small>{what}</small></a></li>"))
    .concat();
    let phone_title = language.pick("Act as the phone", "扮演手机");
    let faults_title = language.pick("Inject faults", "制造故障");
    let origin = format!("http://{}", host(headers));
    let here = format!("{origin}{}", config.base);
    let body = format!(
        "<h1>{title}</h1><p>{about}</p><ul>{links}</ul><h2>{phone_title}</h2><pre>{}</pre><h2>{faults_title}</h2><pre>{}</pre>",
        Escaped(&phone(config, &origin)),
        Escaped(&faults(&here))
    );
    reply::page(StatusCode::OK, frame(language, "wide", title, &body))
}

/// In development mode the service runs at the same origin; otherwise the link shows at least its form.
fn phone(config: &SimulatorConfig, origin: &str) -> String {
    let base = &config.base;
    let link = form_urlencoded::Serializer::new(String::new())
        .append_pair("appid", &config.corp_id)
        .append_pair("redirect_uri", &format!("{origin}/api/auth/oauth2/callback"))
        .append_pair("response_type", "code")
        .append_pair("scope", "snsapi_base")
        .append_pair("state", "auth_login")
        .append_pair("agentid", &config.agent_id)
        .append_pair("sim_user", "user01")
        .finish();
    format!(
        "# add sim_user=user01 (or deny) to any authorize link\ncurl -i '{origin}{base}/connect/oauth2/authorize?{link}'"
    )
}

fn faults(here: &str) -> String {
    let examples = [
        r#"{"api":"auth/getuserinfo","errcode":40029}"#,
        r#"{"api":"gettoken","http_status":502,"times":3}"#,
        r#"{"delay_ms":8000,"drop":true}"#,
    ];
    let puts = examples.map(|fault| format!("curl -X PUT {here}/faults -d '{fault}'\n")).concat();
    format!("{puts}curl -X DELETE {here}/faults\ncurl -X POST {here}/void-tokens")
}

/// The host name that the browser used, if it is safe in a command.
fn host(headers: &HeaderMap) -> &str {
    let plain = |host: &&str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte));
    let whole = |host: &&str| Url::parse(&format!("http://{host}/")).is_ok();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.filter(plain).filter(whole).unwrap_or("127.0.0.1:8080")
}
