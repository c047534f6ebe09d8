//! Failed calls, explained so that an operator can fix the cause.

use deskpass_platform::{Error, ErrorCode, InvalidResponse, Unreachable};

use crate::errcode::{UNTRUSTED_ADDRESS, WRONG_SECRET, explain};

/// What to do about a failed call, where more is known than its error code.
pub(crate) fn advise(error: &Error) -> Option<[String; 2]> {
    let code = error.code()?.number()?;
    match error {
        Error::Refused(refused) if code == UNTRUSTED_ADDRESS => {
            let address = refused.from_ip?;
            Some([
                format!(
                    "enter {address} in the console: 管理后台 → 应用管理 → the application → 企业可信IP; it takes effect \
                     within a minute"
                ),
                format!("请填写 {address}：管理后台 → 应用管理 → 该应用 → 企业可信IP，约一分钟后生效"),
            ])
        }
        _ if WRONG_SECRET.contains(&code) => {
            let [english, chinese] = explain(code).text;
            Some([
                format!(
                    "{english} It must be the secret of the application itself, not that of contacts sync (通讯录同步)."
                ),
                format!("{chinese}必须使用应用自身的 Secret，而不是通讯录同步的 Secret。"),
            ])
        }
        _ => None,
    }
}

/// What to do about a failed call.
pub(crate) fn fix(error: &Error) -> [String; 2] {
    let texts = match error {
        Error::Refused(_) | Error::CircuitOpen { .. } => {
            let code = error.code().and_then(ErrorCode::number).unwrap_or_default();
            return advise(error).unwrap_or_else(|| explain(code).text.map(str::to_owned));
        }
        Error::Unreachable(_) => [
            "check DNS, firewall and certificates of this machine, platform.api_url, and, if there is no direct \
             connection to the internet, platform.proxy",
            "请检查本机的域名解析、防火墙和证书，以及 platform.api_url；无法直接访问互联网时，请设置 platform.proxy",
        ],
        Error::InvalidResponse(_) | Error::BadCode => [
            "the response did not come from the platform: check platform.api_url, and whether a proxy or the \
             network's sign-in page is in between",
            "响应并非来自企业微信：请检查 platform.api_url，以及中间是否有代理或网络认证页面",
        ],
    };
    texts.map(str::to_owned)
}

/// Why a call failed.
pub(crate) fn describe(error: &Error) -> [String; 2] {
    let chinese = match error {
        Error::BadCode => "code 不合法".to_owned(),
        Error::Unreachable(how) => format!("无法连接企业微信：{}", unreachable(*how)),
        Error::InvalidResponse(how) => format!("企业微信的响应无法识别：{}", invalid_response(*how)),
        Error::Refused(refused) => {
            // The platform's support asks for the hint.
            let hint = refused.hint.as_deref().map(|hint| format!(", hint {hint}")).unwrap_or_default();
            let code = &refused.code;
            return [
                format!("the platform refused (errcode {code}{hint})"),
                format!("企业微信拒绝了请求（errcode {code}{hint}）"),
            ];
        }
        Error::CircuitOpen { code, .. } => format!("企业微信此前拒绝了请求（errcode {code}），已暂停调用"),
    };
    [error.to_string(), chinese]
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

#[cfg(test)]
mod tests {
    use deskpass_core::Timestamp;
    use deskpass_platform::{Meaning, Refused};

    use super::*;

    #[test]
    fn an_untrusted_address_is_named() {
        let refused = |from_ip: &str| {
            let (hint, from_ip) = (Some("7".to_owned()), from_ip.parse().ok());
            Error::Refused(Box::new(Refused {
                code: ErrorCode::Number(60020),
                meaning: Meaning::Administrator,
                hint,
                from_ip,
            }))
        };
        let [english, chinese] = advise(&refused("10.1.2.3")).unwrap_or_default();
        assert!(english.starts_with("enter 10.1.2.3 in the console") && chinese.starts_with("请填写 10.1.2.3："));
        assert_eq!(advise(&refused("")), None, "the explanation says what to do");
        assert_eq!(
            describe(&refused("")),
            ["the platform refused (errcode 60020, hint 7)", "企业微信拒绝了请求（errcode 60020, hint 7）"]
        );
    }

    #[test]
    fn a_wrong_secret_is_named_even_while_calls_are_paused() {
        let until = Timestamp::from_millis(0);
        for error in [
            Error::refused(40001_i64, Meaning::Administrator),
            Error::CircuitOpen { code: ErrorCode::Number(40091), until },
        ] {
            let [english, chinese] = advise(&error).unwrap_or_default();
            assert!(english.contains("not that of contacts sync") && chinese.contains("通讯录同步"), "{error}");
        }
        assert_eq!(advise(&Error::refused(50003_i64, Meaning::Administrator)), None);
        assert_eq!(advise(&Unreachable::TimedOut.into()), None);
    }
}
