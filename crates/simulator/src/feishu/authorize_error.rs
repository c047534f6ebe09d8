//! The errors of authorization links: the texts of the platform's error pages.

use http::StatusCode;

use crate::language::PageLanguage;

/// The error of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthorizeError {
    ClientId,
    ResponseType,
    Redirect,
    Challenge,
    State,
    UnknownUser,
    Busy,
}

impl AuthorizeError {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::UnknownUser => StatusCode::NOT_FOUND,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    pub(super) fn message(self, language: PageLanguage) -> &'static str {
        match self {
            Self::ClientId => language.pick("client_id is not this app", "client_id 参数错误"),
            Self::ResponseType => language.pick("response_type must be code", "response_type 参数须为 code"),
            Self::Redirect => language.pick(
                "redirect_uri is not one of the app's redirect URLs, character by character (20029)",
                "重定向 URL 有误，须与应用登记的重定向 URL 完全一致 (20029)",
            ),
            Self::Challenge => {
                language.pick("code_challenge_method must be S256", "code_challenge_method 参数须为 S256")
            }
            Self::State => language.pick("state must be at most 128 letters and digits", "state 参数错误"),
            Self::UnknownUser => language.pick("There is no such person", "查无此人"),
            Self::Busy => language.pick("The system is busy; try again", "系统繁忙，请重试"),
        }
    }
}
