//! Errors of the platform's client, explained so that an operator can fix them.

use deskpass_wecom::{Error, InvalidResponse, Unreachable, errcode};

use super::report::{Bilingual, Finding, bilingual};
use crate::config::Platform;

/// The caller's address is not on the application's list of trusted addresses.
const UNTRUSTED_ADDRESS: i64 = 60020;
/// The secret is wrong, or belongs to another corporation.
const WRONG_SECRET: [i64; 2] = [40001, 40091];

/// The finding for a failed call to the platform.
pub(super) fn finding<T>(error: &Error, platform: &Platform) -> Finding<T> {
    Finding::bad(why(error, platform), fix(error))
}

fn why(error: &Error, platform: &Platform) -> Bilingual {
    let chinese = match error {
        Error::BadCode => "code 不合法".to_owned(),
        Error::Unreachable(how) => return unreachable_text(*how, platform),
        Error::InvalidResponse(how) => format!("企业微信的响应无法识别：{}", invalid_response(*how)),
        Error::Refused { errcode, hint, .. } => {
            format!("企业微信拒绝了请求（errcode {errcode}{}）", hinted(hint.as_deref()))
        }
        Error::CircuitOpen { errcode, .. } => format!("企业微信此前拒绝了请求（errcode {errcode}），已暂停调用"),
    };
    let english = match error {
        Error::Refused { errcode, hint, .. } => {
            format!("the platform refused (errcode {errcode}{})", hinted(hint.as_deref()))
        }
        other => other.to_string(),
    };
    bilingual(english, chinese)
}

/// Neither address contains a password: the settings reject such addresses.
fn unreachable_text(how: Unreachable, platform: &Platform) -> Bilingual {
    let address = &platform.api_url;
    let host = |proxy: &str| proxy.split_once("://").map_or(proxy, |(_, host)| host).to_owned();
    let [english, chinese] =
        platform.proxy.as_deref().map(host).map_or_else(Default::default, |proxy| {
            [format!(" through the proxy {proxy}"), format!("，经代理 {proxy}")]
        });
    bilingual(
        format!("{} (tried {address}{english})", Error::Unreachable(how)),
        format!("无法连接企业微信：{}（尝试访问 {address}{chinese}）", unreachable(how)),
    )
}

/// The hint number, which the platform's support asks for.
fn hinted(hint: Option<&str>) -> String {
    hint.map(|hint| format!(", hint {hint}")).unwrap_or_default()
}

fn unreachable(how: Unreachable) -> &'static str {
    match how {
        Unreachable::Connect => "无法建立连接",
        Unreachable::NoLocalSockets => "本机无可用连接",
        Unreachable::TimedOut => "超时",
        Unreachable::ConnectionLost => "连接中断",
    }
}

fn invalid_response(how: InvalidResponse) -> String {
    match how {
        InvalidResponse::Status(status) => format!("HTTP 状态 {status}"),
        InvalidResponse::TooLarge => "内容过大".to_owned(),
        InvalidResponse::NotJson => "不是 JSON 对象".to_owned(),
        InvalidResponse::Redirected => "被重定向到别处".to_owned(),
        InvalidResponse::MissingField(name) => format!("缺少可用的 {name}"),
    }
}

fn fix(error: &Error) -> Bilingual {
    match error {
        Error::Refused { errcode: UNTRUSTED_ADDRESS, from_ip: Some(address), .. } => bilingual(
            format!(
                "enter {address} in the console: 管理后台 → 应用管理 → the application → 企业可信IP; it takes effect within a \
                 minute"
            ),
            format!("请填写 {address}：管理后台 → 应用管理 → 该应用 → 企业可信IP，约一分钟后生效"),
        ),
        Error::Refused { errcode, .. } | Error::CircuitOpen { errcode, .. } => refused(*errcode),
        Error::Unreachable(_) => bilingual(
            "check DNS, firewall and certificates of this machine, platform.api_url, and, if there is no direct \
             connection to the internet, platform.proxy",
            "请检查本机的域名解析、防火墙和证书，以及 platform.api_url；无法直接访问互联网时，请设置 platform.proxy",
        ),
        Error::InvalidResponse(_) | Error::BadCode => bilingual(
            "the response did not come from the platform: check platform.api_url, and whether a proxy or the \
             network's sign-in page is in between",
            "响应并非来自企业微信：请检查 platform.api_url，以及中间是否有代理或网络认证页面",
        ),
    }
}

fn refused(errcode: i64) -> Bilingual {
    let [english, chinese] = errcode::explain(errcode).text;
    if !WRONG_SECRET.contains(&errcode) {
        return bilingual(english, chinese);
    }
    bilingual(
        format!("{english} It must be the secret of the application itself, not that of contacts sync (通讯录同步)."),
        format!("{chinese}必须使用应用自身的 Secret，而不是通讯录同步的 Secret。"),
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::config::{self, Override, Sources};

    fn message(proxy: Option<&str>, error: &Error) -> String {
        let set = |key, value: &str| Override { key, value: value.to_owned(), flag: "a test" };
        let api_url = set("platform.api_url", "https://platform.example.com/api");
        let proxy = proxy.map(|proxy| set("platform.proxy", proxy));
        let overrides = [set("development.enabled", "true"), api_url].into_iter().chain(proxy).collect();
        let nothing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let sources = Sources { file: None, environment: Vec::new(), overrides, read: &nothing };
        let settings = config::load(&sources).unwrap();
        format!("{:?}", finding::<()>(error, &settings.platform))
    }

    #[test]
    fn what_cannot_be_reached_is_named() {
        let direct = message(None, &Unreachable::Connect.into());
        assert!(
            direct.contains("cannot reach the platform: no connection (tried https://platform.example.com/api)"),
            "{direct}"
        );
        assert!(direct.contains("无法建立连接（尝试访问 https://platform.example.com/api）"), "{direct}");
        assert!(!direct.contains("through") && !direct.contains("经代理"), "{direct}");
    }

    #[test]
    fn a_proxy_in_between_is_named() {
        let through = message(Some("http://proxy.example.com:3128"), &Unreachable::TimedOut.into());
        let tried = "timed out (tried https://platform.example.com/api through the proxy proxy.example.com:3128)";
        assert!(through.contains(tried), "{through}");
        let tried = "超时（尝试访问 https://platform.example.com/api，经代理 proxy.example.com:3128）";
        assert!(through.contains(tried), "{through}");
    }

    #[test]
    fn a_platform_that_answers_was_reached() {
        let garbled = message(Some("http://proxy.example.com:3128"), &InvalidResponse::NotJson.into());
        assert!(!garbled.contains("proxy.example.com"), "{garbled}");
    }
}
