//! Checks that the logo of the company can be used.

use super::report::{Finding, bilingual};
use crate::config::Settings;
use crate::site::{Brand, LogoProblem};

/// Checks the logo; `None` if there is none.
pub(super) fn check(settings: &Settings) -> Option<Finding> {
    let path = settings.branding.logo.as_ref()?.display();
    Some(match Brand::read(&settings.branding) {
        Ok(_) => Finding::ok(format!("{path} can be used"), format!("{path} 可以使用")),
        Err(error) => Finding::bad(
            bilingual(error.to_string(), format!("{path}：{}", in_chinese(&error.why))),
            bilingual(
                "correct branding.logo or the file: an SVG or PNG of at most 64 KiB that the service's user can read",
                "请修正 branding.logo 或该文件：不超过 64 KiB 的 SVG 或 PNG，且运行服务的用户可以读取",
            ),
        ),
    })
}

fn in_chinese(problem: &LogoProblem) -> String {
    match problem {
        LogoProblem::Unreadable(error) => format!("无法读取（{error}）"),
        LogoProblem::TooLarge => "超过 64 KiB".to_owned(),
        LogoProblem::Type => "名称和内容不是 SVG 或 PNG".to_owned(),
    }
}
