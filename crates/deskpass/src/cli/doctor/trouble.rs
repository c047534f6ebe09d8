//! What the platform's client says, put so that an operator can mend it.

use deskpass_wecom::{Error, Garbled, Unreachable, errcode};

use super::report::{Finding, Said, said};

/// The caller's address is not on the application's list.
const UNTRUSTED_ADDRESS: i64 = 60020;
/// The secret is wrong, or another corporation's.
const WRONG_SECRET: [i64; 2] = [40001, 40091];

/// What is wrong when a call to the platform failed.
pub(super) fn of<T>(error: &Error) -> Finding<T> {
    Finding::bad(why(error), mend(error))
}

fn why(error: &Error) -> Said {
    let chinese = match error {
        Error::BadCode => "code 不合法".to_owned(),
        Error::Unreachable(how) => format!("无法访问平台：{}", unreachable(*how)),
        Error::Garbled(how) => format!("平台的应答无法识别：{}", garbled(*how)),
        Error::Refused { errcode, hint, .. } => {
            format!("平台拒绝了请求（errcode {errcode}{}）", hinted(hint.as_deref()))
        }
        Error::Suspended { errcode, .. } => format!("平台此前拒绝了请求（errcode {errcode}），暂不再试"),
    };
    let english = match error {
        Error::Refused { errcode, hint, .. } => {
            format!("the platform refused (errcode {errcode}{})", hinted(hint.as_deref()))
        }
        other => other.to_string(),
    };
    said(english, chinese)
}

/// The number that the platform's support asks for.
fn hinted(hint: Option<&str>) -> String {
    hint.map(|hint| format!(", hint {hint}")).unwrap_or_default()
}

fn unreachable(how: Unreachable) -> &'static str {
    match how {
        Unreachable::Connect => "无法建立连接",
        Unreachable::TimedOut => "超时",
        Unreachable::Broken => "连接中断",
    }
}

fn garbled(how: Garbled) -> String {
    match how {
        Garbled::Status(status) => format!("HTTP 状态 {status}"),
        Garbled::TooLarge => "内容过大".to_owned(),
        Garbled::NotJson => "不是 JSON 对象".to_owned(),
        Garbled::Redirected => "被重定向到别处".to_owned(),
        Garbled::Incomplete(name) => format!("缺少可用的 {name}"),
    }
}

fn mend(error: &Error) -> Said {
    match error {
        Error::Refused { errcode: UNTRUSTED_ADDRESS, from_ip: Some(address), .. } => said(
            format!(
                "enter {address} in the console: 管理后台 → 应用管理 → the application → 企业可信IP; it counts after a minute"
            ),
            format!("请填写 {address}：管理后台 → 应用管理 → 该应用 → 企业可信IP，约一分钟后生效"),
        ),
        Error::Refused { errcode, .. } | Error::Suspended { errcode, .. } => refused(*errcode),
        Error::Unreachable(_) => said(
            "look at the name, the firewall and the certificates of this machine, at platform.api_url, and at \
             platform.proxy where there is no direct way out",
            "请检查本机的域名解析、防火墙和证书，以及 platform.api_url；没有直接出口时请设置 platform.proxy",
        ),
        Error::Garbled(_) | Error::BadCode => said(
            "somebody else answered: look at platform.api_url, and for a proxy or a sign-in page of the network in between",
            "应答的不是平台：请检查 platform.api_url，以及中间是否有代理或网络认证页面",
        ),
    }
}

fn refused(errcode: i64) -> Said {
    let [english, chinese] = errcode::meaning(errcode).text;
    if !WRONG_SECRET.contains(&errcode) {
        return said(english, chinese);
    }
    said(
        format!("{english} It must be the secret of the application itself, not that of contacts sync (通讯录同步)."),
        format!("{chinese}必须使用应用自身的 Secret，而不是通讯录同步的 Secret。"),
    )
}
