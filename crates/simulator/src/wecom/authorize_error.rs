//! The errors of authorization links: the texts of the platform's error pages.

use http::StatusCode;

use crate::language::PageLanguage;

/// The error of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthorizeError {
    AppId,
    AgentId,
    ResponseType,
    Scope,
    LoginType,
    State,
    Domain,
    UnknownUser,
    OutOfRange,
    Busy,
}

impl AuthorizeError {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::UnknownUser => StatusCode::NOT_FOUND,
            Self::OutOfRange => StatusCode::FORBIDDEN,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    pub(crate) fn message(self, language: PageLanguage) -> &'static str {
        match self {
            Self::AppId => language.pick("appid is not this corporation (40013)", "appid 参数错误 (40013)"),
            Self::AgentId => language.pick("agentid is missing or another app's (40056)", "agentid 参数错误 (40056)"),
            Self::ResponseType => language.pick("response_type must be code", "response_type 参数须为 code"),
            Self::Scope => language.pick("scope must be snsapi_base", "scope 参数须为 snsapi_base"),
            Self::LoginType => language.pick("login_type must be CorpApp", "login_type 参数须为 CorpApp"),
            Self::State => {
                language.pick("state must be at most 128 letters and digits (84025)", "state 参数错误 (84025)")
            }
            Self::Domain => language.pick(
                "redirect_uri must be at a trusted domain of the app (50001)",
                "redirect_uri 需使用应用可信域名 (50001)",
            ),
            Self::UnknownUser => language.pick("There is no such person", "查无此人"),
            Self::OutOfRange => language.pick("You may not use this app", "你没有使用该应用的权限"),
            Self::Busy => language.pick("The system is busy; try again", "系统繁忙，请重试"),
        }
    }
}
