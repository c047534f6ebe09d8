//! Errors of the platform's client, explained so that an operator can fix them.

use deskpass_platform::{Error, InvalidResponse, Messenger, Unreachable};

use super::platform_access::{PlatformAccess, PlatformRoute};
use super::report::{Bilingual, Finding, bilingual};

/// The finding for a failed call to the platform.
pub(super) fn finding<T>(error: &Error, access: &PlatformAccess) -> Finding<T> {
    Finding::bad(why(error, &access.route), fix(error, &*access.client))
}

fn why(error: &Error, route: &PlatformRoute) -> Bilingual {
    let chinese = match error {
        Error::BadCode => "code 不合法".to_owned(),
        Error::Unreachable(how) => return unreachable_text(*how, route),
        Error::InvalidResponse(how) => format!("{{platform}}的响应无法识别：{}", invalid_response(*how)),
        Error::Refused(refused) => {
            // The platform's support asks for the hint.
            let hint = refused.hint.as_deref().map(|hint| format!(", hint {hint}")).unwrap_or_default();
            let code = &refused.code;
            return bilingual(
                format!("the platform refused (errcode {code}{hint})"),
                format!("{{platform}}拒绝了请求（errcode {code}{hint}）"),
            );
        }
        Error::CircuitOpen { code, .. } => format!("{{platform}}此前拒绝了请求（errcode {code}），已暂停调用"),
    };
    bilingual(error.to_string(), chinese)
}

fn unreachable_text(how: Unreachable, PlatformRoute { api, proxy }: &PlatformRoute) -> Bilingual {
    let [english, chinese] = proxy
        .as_ref()
        .map_or_else(Default::default, |proxy| [format!(" through the proxy {proxy}"), format!("，经代理 {proxy}")]);
    bilingual(
        format!("{} (tried {api}{english})", Error::Unreachable(how)),
        format!("无法连接{{platform}}：{}（尝试访问 {api}{chinese}）", unreachable(how)),
    )
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

fn fix(error: &Error, client: &dyn Messenger) -> Bilingual {
    if let Some([english, chinese]) = client.advise(error) {
        return bilingual(english, chinese);
    }
    if let Some(code) = error.code() {
        let [english, chinese] = client.explain(code).text;
        return bilingual(english, chinese);
    }
    if matches!(error, Error::Unreachable(_)) {
        return bilingual(
            "check DNS, firewall and certificates of this machine, platform.api_url, and, if there is no direct \
             connection to the internet, platform.proxy",
            "请检查本机的域名解析、防火墙和证书，以及 platform.api_url；无法直接访问互联网时，请设置 platform.proxy",
        );
    }
    bilingual(
        "the response did not come from the platform: check platform.api_url, and whether a proxy or the network's \
         sign-in page is in between",
        "响应并非来自{platform}：请检查 platform.api_url，以及中间是否有代理或网络认证页面",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(proxy: Option<&str>, error: &Error) -> String {
        let api = "https://platform.example.com/api".to_owned();
        format!("{:?}", why(error, &PlatformRoute { api, proxy: proxy.map(str::to_owned) }))
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
        let through = message(Some("proxy.example.com:3128"), &Unreachable::TimedOut.into());
        let tried = "timed out (tried https://platform.example.com/api through the proxy proxy.example.com:3128)";
        assert!(through.contains(tried), "{through}");
        let tried = "超时（尝试访问 https://platform.example.com/api，经代理 proxy.example.com:3128）";
        assert!(through.contains(tried), "{through}");
    }

    #[test]
    fn a_platform_that_answers_was_reached() {
        let garbled = message(Some("proxy.example.com:3128"), &InvalidResponse::NotJson.into());
        assert!(!garbled.contains("proxy.example.com"), "{garbled}");
    }
}
