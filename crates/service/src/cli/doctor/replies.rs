//! Checks that the help desk's back end responds. No reply is sent.

use super::report::{Finding, bilingual};
use crate::app::reply_backend::{ReplyBackend, ReplyError};
use crate::config::Settings;

/// Checks the back end that receives replies; `None` if there is none.
pub(super) async fn check(settings: &Settings) -> Option<Finding> {
    let url = settings.messages.reply_url.as_ref()?;
    let backend = match ReplyBackend::open(&settings.messages) {
        Ok(backend) => backend?,
        Err(error) => return Some(unreachable(url, &error.to_string())),
    };
    Some(match backend.reach().await {
        Err(ReplyError::Unreachable(how)) => unreachable(url, &how),
        Err(ReplyError::Refused(status)) => redirecting(url, status),
        _ => Finding::ok(format!("reachable at {url}"), format!("可以访问 {url}")),
    })
}

fn redirecting(url: &str, status: u16) -> Finding {
    Finding::bad(
        bilingual(format!("{url} redirects (status {status})"), format!("{url} 返回重定向（状态码 {status}）")),
        bilingual(
            "set messages.reply_url to the address to which it redirects: replies follow no redirects",
            "请将 messages.reply_url 设为重定向的目标地址：发送回复时不跟随重定向",
        ),
    )
}

fn unreachable(url: &str, how: &str) -> Finding {
    Finding::bad(
        bilingual(format!("no response from {url} ({how})"), format!("{url} 没有响应（{how}）")),
        bilingual(
            "correct messages.reply_url, start the back end, or allow connections from this machine to it; until then \
             employees are told that their replies were not confirmed",
            "请修正 messages.reply_url、启动该后端，或放行本机到它的连接；在此之前，员工会看到回复未得到确认的提示",
        ),
    )
}
