//! Checks the public address of the service, and the file that proves its domain.

use deskpass_platform::RedirectRule;

use super::report::{Finding, bilingual};
use crate::app::StartError;
use crate::app::platform::{self, VerifyFileProblem};
use crate::config::Settings;

/// The path to which the platform sends browsers back.
const CALLBACK_PATH: &str = "/api/auth/oauth2/callback";

/// The address to which the platform sends browsers back.
pub(super) fn callback_url(settings: &Settings) -> String {
    format!("{}{CALLBACK_PATH}", settings.public_url)
}

/// Reports what to enter at the platform. The rules of the settings already ensure that the address protects tokens.
pub(super) fn public_url(settings: &Settings, rule: Option<RedirectRule>) -> Finding {
    let url = &settings.public_url;
    match rule {
        None => Finding::ok(url.to_string(), url.to_string()),
        Some(RedirectRule::Domain) => {
            let domain = callback_domain(settings);
            Finding::ok(
                format!("{url}; the callback domain to enter at the platform is {domain}"),
                format!("{url}；需在{{platform}}中填写的回调域名为 {domain}"),
            )
        }
        Some(RedirectRule::Exact) => {
            let callback = callback_url(settings);
            Finding::ok(
                format!("{url}; the redirect URL to enter at the platform is {callback}"),
                format!("{url}；需在{{platform}}中填写的重定向 URL 为 {callback}"),
            )
        }
    }
}

/// Checks that the platform's verification file can be served.
pub(super) fn verify_file(settings: &Settings) -> Finding {
    match platform::verify_file(settings) {
        Ok(None) => Finding::ok(
            "none configured; set platform.verify_file when the platform asks for one",
            "未配置；{platform}要求验证域名时，请设置 platform.verify_file",
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
