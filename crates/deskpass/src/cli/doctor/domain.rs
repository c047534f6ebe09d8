//! Checks the public domain of the service against the platform's configuration.

use super::report::{Finding, bilingual};
use crate::app::StartError;
use crate::app::platform::{self, VerifyFileProblem};
use crate::config::Settings;

/// Reports what to enter at the platform. The rules of the settings already ensure that the address protects tokens.
pub(super) fn public_url(settings: &Settings) -> Finding {
    let (url, domain) = (&settings.public_url, callback_domain(settings));
    Finding::ok(
        format!("{url}; the callback domain to enter at the platform is {domain}"),
        format!("{url}；需在企业微信中填写的回调域名为 {domain}"),
    )
}

/// Checks that the domain configured at the platform is this service's. The platform compares host and port literally.
pub(super) fn trusted(settings: &Settings, on_record: &str) -> Finding {
    let domain = callback_domain(settings);
    if on_record.eq_ignore_ascii_case(domain) {
        return Finding::ok(domain, domain);
    }
    let why = if on_record.is_empty() {
        bilingual("no domain is set at the platform", "企业微信中尚未设置")
    } else {
        bilingual(
            format!("the platform has {on_record}, this service is at {domain}"),
            format!("企业微信中为 {on_record}，本服务为 {domain}"),
        )
    };
    let fix = bilingual(
        format!(
            "enter {domain} in the console: 应用管理 → the application → 网页授权及JS-SDK → 可信域名, and also 企业微信授权登录 → 授权回调域"
        ),
        format!(
            "请在管理后台填写 {domain}：应用管理 → 该应用 → 网页授权及JS-SDK → 可信域名，以及 企业微信授权登录 → 授权回调域"
        ),
    );
    Finding::bad(why, fix)
}

/// Checks that the platform's verification file can be served.
pub(super) fn verify_file(settings: &Settings) -> Finding {
    match platform::verify_file(settings) {
        Ok(None) => Finding::ok(
            "none configured; set platform.verify_file when the platform asks for one",
            "未配置；企业微信要求验证域名时，请设置 platform.verify_file",
        ),
        Ok(Some((name, _))) => {
            let address = format!("{}/{name}", settings.public_url);
            Finding::ok(format!("served at {address}"), format!("访问地址 {address}"))
        }
        Err(error) => Finding::bad(
            bilingual(error.to_string(), in_chinese(&error)),
            bilingual(
                "download it again from the console, keep its name, and make it readable for the service's user",
                "请从管理后台重新下载，保留文件名，并确保运行服务的用户可以读取",
            ),
        ),
    }
}

fn in_chinese(error: &StartError) -> String {
    match error {
        StartError::VerifyFile { path, why } => {
            let why = match why {
                VerifyFileProblem::Name => "文件名不正确".to_owned(),
                VerifyFileProblem::TooLarge => "过大，不是验证文件".to_owned(),
                VerifyFileProblem::Unreadable(error) => format!("无法读取（{error}）"),
            };
            format!("{} {why}", path.display())
        }
        other => other.to_string(),
    }
}

/// The host of the public address, with its port unless that is the default one.
fn callback_domain(settings: &Settings) -> &str {
    settings.public_url.split_once("://").map_or("", |(_, domain)| domain)
}
