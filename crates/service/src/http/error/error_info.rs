//! What is declared about an error.

use std::borrow::Cow;
use std::fmt;

use deskpass_auth::{ErrorCode, Refusal, RefusalInfo};
use hyper::StatusCode;

/// The status, the code, the reason and the message of an error.
#[derive(Debug)]
pub(crate) struct ErrorInfo {
    pub(crate) status: StatusCode,
    pub(crate) code: u16,
    /// The reason, for programs, where the code has several.
    pub(crate) reason: Option<&'static str>,
    /// The message, in English and Chinese. `{platform}` stands for the name of the platform.
    pub(crate) texts: [Cow<'static, str>; 2],
}

impl ErrorInfo {
    /// An error with this code and its usual status. A code that is not listed does not compile.
    pub(crate) fn new<const CODE: u16>(texts: [&'static str; 2]) -> Self {
        Self::with_code(const { ErrorCode::of(CODE) }, texts.map(Cow::Borrowed))
    }

    pub(crate) fn of_refusal(refusal: &Refusal) -> Self {
        let RefusalInfo { code, reason, texts, .. } = refusal.info();
        // Clients know these two by their code without a reason.
        let nameless = matches!(refusal, Refusal::UnknownEmployee | Refusal::Exists);
        Self { reason: (code.names_reason && !nameless).then_some(reason), ..Self::with_code(code, texts) }
    }

    fn with_code(code: &ErrorCode, texts: [Cow<'static, str>; 2]) -> Self {
        let status = StatusCode::from_u16(code.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, code: code.number, reason: None, texts }
    }

    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn with_reason(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// Appends a parameter to the message, in parentheses: its name in English and Chinese, and its value.
    pub(crate) fn with_parameter(self, [name, chinese_name]: [&str; 2], value: &dyn fmt::Display) -> Self {
        let [english, chinese] = self.texts;
        let texts = [format!("{english} ({name} {value})"), format!("{chinese}（{chinese_name} {value}）")];
        Self { texts: texts.map(Cow::Owned), ..self }
    }

    /// Appends a value to a message that ends with a colon.
    pub(crate) fn with_value(self, value: &dyn fmt::Display) -> Self {
        let [english, chinese] = self.texts;
        Self { texts: [format!("{english} {value}"), format!("{chinese}{value}")].map(Cow::Owned), ..self }
    }
}
