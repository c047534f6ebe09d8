//! All errors of the HTTP layer.

mod bad_request;
mod error_info;
mod field_error;
mod oauth;

use std::fmt;

use axum::response::{IntoResponse, Response};
use deskpass_auth::{Error, InternalError, Refusal, TokenError};
use deskpass_core::oidc::OAuthError;
use deskpass_platform::{Error as PlatformError, ErrorCode};
use deskpass_store::{SealError, StoreErrorKind as StoreCause};
use hyper::StatusCode;

use crate::app::readiness::ReadinessReport;
use crate::app::reply_backend::ReplyError;

pub(crate) use bad_request::BadRequest;
pub(crate) use error_info::ErrorInfo;
pub(crate) use field_error::{FieldError, FieldErrors};
pub(crate) use oauth::oauth_error_code;

/// Why a request failed.
#[derive(Clone, Debug)]
pub(crate) enum ApiError {
    /// A flow refused the request.
    Refused(Refusal),
    /// The request cannot be read.
    BadRequest(BadRequest),
    PathNotFound,
    MethodNotAllowed,
    DevelopmentOff,
    /// The route is restricted to operator networks.
    NotAnOperator,
    /// The request comes from a page of a foreign origin.
    ForeignOrigin,
    /// The request names a host that is not accepted. Development mode has a setting of its own for others.
    UnknownHost {
        development: bool,
    },
    /// A page of another site may not send this request.
    OtherSite,
    /// The request for metrics came through a proxy, or under the public name.
    NotDirect,
    /// A page of another site calls a route of development mode.
    CrossSite,
    NotReady(Box<ReadinessReport>),
    /// The platform has no script for sign-in.
    NoPlatformScript,
    /// A request that claims to come from the platform was not accepted.
    EventRefused,
    /// No back end for replies is configured.
    RepliesOff,
    /// Too many replies are being delivered.
    TooManyReplies,
    /// All connections are in use, and this one is from the reserve for health checks.
    TooManyConnections,
    /// The memory for large bodies in progress is used up.
    TooManyBodies,
    /// The request came through an untrusted proxy, so the client's address is not known.
    UntrustedProxy,
    /// An error of OAuth 2.0 or OpenID Connect, for a client below /oidc.
    OAuth(OAuthError),
    /// An internal error: a cause that may be shown, and a detail for the log.
    Internal(ErrorCause, String),
}

/// The cause of an internal error, from a closed list that is safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ErrorCause {
    StoreUnavailable,
    /// The store failed while it committed: the change may have been made.
    OutcomeUnknown,
    StoreOverloaded,
    SharedUnavailable,
    RecordDamaged,
    NoRandomness,
    PlatformUnreachable,
    PlatformGarbled,
    /// The platform refused, with this error code.
    PlatformRefused(ErrorCode),
    /// The platform refused recently, and is not called for a while.
    PlatformSuspended(ErrorCode),
    BackendUnreachable,
    /// The help desk's back end refused, with this status.
    BackendRefused(u16),
    Unexpected,
}

impl ApiError {
    /// An unexpected error.
    pub(crate) fn unexpected(detail: &dyn fmt::Display) -> Self {
        Self::Internal(ErrorCause::Unexpected, detail.to_string())
    }

    /// The error of a single field.
    pub(crate) fn field(name: &'static str, problem: FieldError) -> Self {
        BadRequest::Fields(FieldErrors::from([(name.into(), problem)])).into()
    }

    /// Whether a refusal needs no line in the log: the answer says everything, and scanners cause it all the time. A failure has a
    /// line of its own.
    pub(crate) fn is_self_evident(&self) -> bool {
        matches!(
            self,
            Self::Internal(..)
                | Self::PathNotFound
                | Self::MethodNotAllowed
                | Self::EventRefused
                | Self::BadRequest(BadRequest::Head(_))
                | Self::Refused(Refusal::Token(TokenError::Missing))
        )
    }

    /// The description of an error of OAuth 2.0, for the developer of the client. It repeats nothing that was sent.
    pub(crate) fn oauth_description(&self) -> Option<&str> {
        if let Self::OAuth(error) = self { Some(&error.description) } else { None }
    }

    pub(crate) fn info(&self) -> ErrorInfo {
        let forbidden = ErrorInfo::new::<1003>;
        match self {
            Self::Refused(refusal) => ErrorInfo::of_refusal(refusal),
            Self::BadRequest(problem) => problem.info(),
            Self::PathNotFound => ErrorInfo::new::<1004>(["no such path", "路径不存在"]),
            Self::MethodNotAllowed => {
                ErrorInfo::new::<1004>(["this path does not support this method", "该路径不支持此方法"])
                    .with_status(StatusCode::METHOD_NOT_ALLOWED)
            }
            Self::NoPlatformScript => ErrorInfo::new::<1004>([
                "the platform has no script for sign-in: use oauth2/url",
                "该平台没有用于登录的脚本，请使用 oauth2/url",
            ]),
            Self::EventRefused => forbidden(["the request was not accepted", "请求未被接受"]),
            Self::DevelopmentOff => ErrorInfo::new::<1018>(["development mode is off", "开发模式未开启"]),
            Self::NotAnOperator => forbidden(["only operator networks may access this", "仅限运维网络访问"]),
            Self::ForeignOrigin
            | Self::UnknownHost { .. }
            | Self::OtherSite
            | Self::NotDirect
            | Self::CrossSite => self.foreign_page_info(),
            Self::UntrustedProxy => forbidden([
                "this request came through a proxy that is not trusted: list the address of the proxy in trusted_proxies, \
                 or have the proxy send no X-Forwarded-For",
                "请求经由未受信任的代理转发：请将该代理的地址加入 trusted_proxies，或让该代理不发送 X-Forwarded-For",
            ])
            .with_reason("untrusted_proxy"),
            Self::RepliesOff => forbidden([
                "replies are off: no back end receives them; an operator can set messages.reply_url",
                "未启用回复：没有接收回复的后端，运维人员可设置 messages.reply_url",
            ])
            .with_reason("replies_off"),
            Self::TooManyReplies => ErrorInfo::new::<1006>([
                "too many replies are being delivered; try again in 1 second",
                "当前正在发送的回复过多，请在 1 秒后重试",
            ]),
            Self::NotReady(state) => ErrorInfo::new::<1005>(state.cause()).with_status(StatusCode::SERVICE_UNAVAILABLE),
            Self::TooManyConnections => ErrorInfo::new::<1005>(["too many connections", "连接数已满"])
                .with_status(StatusCode::SERVICE_UNAVAILABLE),
            Self::TooManyBodies => ErrorInfo::new::<1005>(["too many large bodies in progress", "正在接收的大请求体过多"])
                .with_status(StatusCode::SERVICE_UNAVAILABLE),
            Self::OAuth(error) => oauth::info(error),
            Self::Internal(cause, _) => cause.info(),
        }
    }

    /// An error about the page or the host name from which a request came.
    fn foreign_page_info(&self) -> ErrorInfo {
        let forbidden = ErrorInfo::new::<1003>;
        match self {
            Self::ForeignOrigin => forbidden([
                "pages of this origin may not open sockets; list it in redirect_origins",
                "该来源的页面不可建立连接，请在 redirect_origins 中登记",
            ])
            .with_reason("foreign_origin"),
            Self::UnknownHost { development: true } => forbidden([
                "development mode does not accept this host name; list it in development.hosts",
                "开发模式不接受该主机名，请在 development.hosts 中登记",
            ])
            .with_reason("unknown_host"),
            Self::UnknownHost { development: false } => forbidden([
                "this is not a host name of the service; if it is, list it in server.hosts",
                "该主机名不属于本服务；如确属本服务，请在 server.hosts 中登记",
            ])
            .with_reason("unknown_host"),
            Self::OtherSite => forbidden(["pages of other sites may not call this", "其他站点的页面不可调用此接口"])
                .with_reason("foreign_origin"),
            Self::NotDirect => forbidden([
                "metrics are not served through a proxy or under the public name; read them from the node itself, by its \
                 address or by a name in server.hosts",
                "指标不经代理或公开主机名提供；请直接访问节点，使用其地址或 server.hosts 中的主机名",
            ]),
            _ => forbidden([
                "pages of other sites may not do this; if this is the service's own page, list its host name in \
                 development.hosts",
                "其他站点的页面不可执行此操作；如为本系统自己的页面，请在 development.hosts 中登记其主机名",
            ])
            .with_reason("foreign_origin"),
        }
    }
}

impl ErrorCause {
    fn info(&self) -> ErrorInfo {
        let internal = |status, texts| ErrorInfo::new::<1005>(texts).with_status(status);
        let broken = ErrorInfo::new::<1005>;
        let unavailable = |texts| internal(StatusCode::SERVICE_UNAVAILABLE, texts);
        match self {
            Self::StoreUnavailable => unavailable(["store unavailable", "存储不可用"]),
            Self::OutcomeUnknown => unavailable(["store unavailable, outcome unknown", "存储不可用，结果未知"]),
            Self::StoreOverloaded => unavailable(["store overloaded", "存储过载"]),
            Self::SharedUnavailable => unavailable(["shared store unavailable", "共享存储不可用"]),
            Self::RecordDamaged => broken(["record damaged", "记录损坏"]),
            Self::NoRandomness => broken(["no randomness", "随机源不可用"]),
            Self::PlatformUnreachable => {
                internal(StatusCode::GATEWAY_TIMEOUT, ["platform unreachable", "无法连接{platform}"])
            }
            Self::PlatformGarbled => {
                internal(StatusCode::BAD_GATEWAY, ["platform answer unreadable", "{platform}的响应无法识别"])
            }
            Self::PlatformRefused(errcode) => {
                internal(StatusCode::BAD_GATEWAY, ["platform refused", "{platform}拒绝了请求"])
                    .with_parameter(["errcode"; 2], errcode)
            }
            Self::PlatformSuspended(errcode) => {
                unavailable(["platform suspended", "已暂停调用{platform}"]).with_parameter(["errcode"; 2], errcode)
            }
            Self::BackendUnreachable => {
                internal(StatusCode::GATEWAY_TIMEOUT, ["help desk unreachable", "无法连接服务台后端"])
            }
            Self::BackendRefused(status) => {
                internal(StatusCode::BAD_GATEWAY, ["help desk did not accept it", "服务台后端未接受"])
                    .with_parameter(["status", "状态码"], status)
            }
            Self::Unexpected => broken(["unexpected error", "意外错误"]),
        }
    }
}

/// As the service log names the cause, which is also what clients see.
impl fmt::Display for ErrorCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [english, _] = self.info().texts;
        f.write_str(&english)
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<BadRequest> for ApiError {
    fn from(problem: BadRequest) -> Self {
        Self::BadRequest(problem)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refusal) => Self::Refused(refusal),
            Error::Internal(internal) => Self::Internal(cause(&internal), internal.to_string()),
        }
    }
}

fn cause(internal: &InternalError) -> ErrorCause {
    match internal {
        InternalError::Store(error) => match error.kind() {
            StoreCause::Unavailable => ErrorCause::StoreUnavailable,
            StoreCause::OutcomeUnknown => ErrorCause::OutcomeUnknown,
            StoreCause::Overloaded => ErrorCause::StoreOverloaded,
            StoreCause::Damaged => ErrorCause::RecordDamaged,
            StoreCause::SharedUnavailable => ErrorCause::SharedUnavailable,
        },
        InternalError::Entropy(_) | InternalError::Sealing(SealError::NoEntropy(_)) => ErrorCause::NoRandomness,
        InternalError::UnsealFailed | InternalError::SigningKey(_) => ErrorCause::RecordDamaged,
        InternalError::OtherNode { platform: true } => ErrorCause::PlatformUnreachable,
        InternalError::OtherNode { platform: false }
        | InternalError::ChoreTaken
        | InternalError::Hashing
        | InternalError::Sealing(SealError::TooLong) => ErrorCause::Unexpected,
        InternalError::Platform(error) => match error {
            PlatformError::Unreachable(_) => ErrorCause::PlatformUnreachable,
            PlatformError::InvalidResponse(_) | PlatformError::BadCode => ErrorCause::PlatformGarbled,
            PlatformError::Refused(refused) => ErrorCause::PlatformRefused(refused.code.clone()),
            PlatformError::CircuitOpen { code, .. } => ErrorCause::PlatformSuspended(code.clone()),
        },
    }
}

impl From<ReplyError> for ApiError {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::Off => Self::RepliesOff,
            ReplyError::TooMany => Self::TooManyReplies,
            ReplyError::Session(error) => error.into(),
            ReplyError::Unreachable(how) => Self::Internal(ErrorCause::BackendUnreachable, how),
            ReplyError::Refused(status) => {
                Self::Internal(ErrorCause::BackendRefused(status), format!("messages.reply_url: status {status}"))
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        // The dispatcher renders the error, since it knows the language and the request id.
        let mut response = Response::default();
        response.extensions_mut().insert(self);
        response
    }
}
