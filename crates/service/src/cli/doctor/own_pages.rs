//! Checks that the operator's own pages can be served, and that only their owner can change them.

use super::report::{Finding, bilingual};
use crate::app::own_pages::{OwnPagesProblem, count, writable_by_all};
use crate::config::Settings;

/// Checks the directory of the operator's own pages; `None` if there is none.
pub(super) fn check(settings: &Settings) -> Option<Finding> {
    let directory = settings.pages.directory.as_ref()?;
    let files = match count(directory) {
        Ok(files) => files,
        Err(problem) => return Some(unusable(&problem)),
    };
    if let Some(found) = writable_by_all(directory) {
        let (path, fix) = (found.path.display(), found.fix());
        let why = bilingual(
            format!("every user of this machine can change {path}, and so act as any user who opens these pages"),
            format!("本机所有用户都可以修改 {path}，从而冒用打开这些页面的用户"),
        );
        let fix = bilingual(format!("run: {fix}"), format!("请运行：{fix}"));
        return Some(Finding::Warning { why, fix });
    }
    let address = format!("{}/app/", settings.public_url);
    let message =
        bilingual(format!("{files} files, served at {address}"), format!("{files} 个文件，访问地址 {address}"));
    Some(Finding::good((), message))
}

fn unusable(problem: &OwnPagesProblem) -> Finding {
    Finding::bad(
        bilingual(problem.to_string(), in_chinese(problem)),
        bilingual(
            "correct pages.directory or what is in it, and make it readable for the service's user",
            "请修正 pages.directory 或其中的内容，并确保运行服务的用户可以读取",
        ),
    )
}

fn in_chinese(problem: &OwnPagesProblem) -> String {
    match problem {
        OwnPagesProblem::Unreadable { path, source } => format!("无法读取 {}（{source}）", path.display()),
        OwnPagesProblem::Link(path) => format!("{} 是链接，但未指向该目录中的文件；请放置文件本身", path.display()),
        OwnPagesProblem::NoFile(path) => format!("{} 既不是文件，也不是目录", path.display()),
        OwnPagesProblem::Name(path) => format!("{} 的名称不是 UTF-8 编码", path.display()),
        OwnPagesProblem::FileTooLarge(path) => format!("{} 过大", path.display()),
        OwnPagesProblem::TooMuch => "文件过多、总大小过大或目录层级过深；请改由代理提供".to_owned(),
        OwnPagesProblem::Replaced(path) => format!("{} 在读取时被替换，请重试", path.display()),
    }
}
