//! Checks the certificate of the server, for sites without a proxy.

use deskpass_core::Timestamp;

use super::report::{Finding, bilingual};
use crate::config::Settings;
use crate::server_tls::{ServerTls, TlsError};
use crate::timestamp::format_utc;

/// Checks the certificate and its key; `None` if the service speaks no TLS.
pub(super) fn check(settings: &Settings, now: Timestamp) -> Option<Finding> {
    let tls = match ServerTls::open(&settings.server) {
        Ok(tls) => tls?,
        Err(error) => return Some(unusable(&error)),
    };
    let Some(end) = tls.expires_at() else {
        return Some(Finding::ok("can be used; its expiry cannot be read", "可以使用；无法读取到期时间"));
    };
    let at = format_utc(end);
    if tls.expiry_warning(now).is_none() {
        return Some(Finding::ok(format!("valid until {at}"), format!("有效期至 {at}")));
    }
    let why = if end <= now {
        bilingual(format!("it has expired at {at}"), format!("已于 {at} 过期"))
    } else {
        bilingual(format!("it expires at {at}"), format!("将于 {at} 过期"))
    };
    let fix = bilingual(
        "renew it and replace the files of server.tls.certificate and server.tls.key; the service reads them by itself",
        "请更新证书并替换 server.tls.certificate 和 server.tls.key 的文件；服务会自动重新读取",
    );
    Some(if end <= now { Finding::bad(why, fix) } else { Finding::Warning { why, fix } })
}

fn unusable(error: &TlsError) -> Finding {
    Finding::bad(
        bilingual(error.to_string(), in_chinese(error)),
        bilingual(
            "correct server.tls.certificate and server.tls.key or their files; the service does not start without them",
            "请修正 server.tls.certificate 和 server.tls.key 或对应的文件；否则服务无法启动",
        ),
    )
}

fn in_chinese(error: &TlsError) -> String {
    match error {
        TlsError::Unreadable { setting, path, why } => format!("{setting} {}：无法读取（{why}）", path.display()),
        TlsError::NoCertificate(path) => format!("server.tls.certificate {}：其中没有 PEM 格式的证书", path.display()),
        TlsError::NoKey(path) => {
            format!("server.tls.key {}：其中没有可用的私钥（应为 PEM 格式，不带密码）", path.display())
        }
        TlsError::Mismatch { key, certificate } => {
            format!("server.tls.key {}：不是 {} 中第一张证书的私钥", key.display(), certificate.display())
        }
        TlsError::Unusable { path, why } => format!("server.tls.certificate {}：无法使用（{why}）", path.display()),
        TlsError::Expired { path, end } => format!("server.tls.certificate {}：已于 {end} 到期", path.display()),
    }
}
