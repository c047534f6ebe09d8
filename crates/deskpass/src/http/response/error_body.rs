//! The body of an error response: status, code, and message in the client's language.

mod refusal;
mod words;

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, RETRY_AFTER, SEC_WEBSOCKET_VERSION, UPGRADE, WWW_AUTHENTICATE};
use serde_json::{Map, Value, json};

use crate::config::Language;
use crate::http::error::field_error::FieldErrors;
use crate::http::error::{ApiError, BadRequest, ErrorCause};

/// A rendered error.
#[derive(Debug)]
pub(crate) struct ErrorBody {
    pub(crate) status: StatusCode,
    pub(crate) code: u16,
    pub(crate) message: String,
    pub(crate) data: Value,
    /// The headers that HTTP requires with it.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl ErrorBody {
    /// Adds a header.
    fn with_header(self, name: HeaderName, value: HeaderValue) -> Self {
        Self { headers: vec![(name, value)], ..self }
    }

    /// Adds the seconds after which a retry makes sense.
    fn retry_after(self, seconds: u64) -> Self {
        self.with_header(RETRY_AFTER, seconds.into())
    }
}

/// The context that rendering an error needs: the client's language, the route's error title, the reference in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorContext<'a> {
    pub(crate) language: Language,
    pub(crate) error_title: [&'static str; 2],
    pub(crate) reference: &'a str,
}

impl ErrorContext<'_> {
    /// The wording in the client's language.
    fn localize<'a>(&self, words: [&'a str; 2]) -> &'a str {
        self.language.of(words)
    }

    /// The route's error title, the cause, and the reference in the log.
    fn with_reference(&self, cause: &str) -> String {
        format!("{}: {cause} (ref {})", self.localize(self.error_title), self.reference)
    }
}

fn error_body(status: StatusCode, code: u16, message: impl Into<String>, data: Value) -> ErrorBody {
    // RFC 9110 requires a challenge with every 401.
    let header = (status == StatusCode::UNAUTHORIZED).then(|| (WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
    ErrorBody { status, code, message: message.into(), data, headers: header.into_iter().collect() }
}

impl ApiError {
    pub(crate) fn render(&self, context: ErrorContext<'_>) -> ErrorBody {
        match self {
            Self::Refused(refusal) => refusal::render(refusal, context),
            Self::BadRequest(problem) => bad_request(problem, context),
            Self::PathNotFound => {
                error_body(StatusCode::NOT_FOUND, 1004, context.localize(["no such path", "路径不存在"]), Value::Null)
            }
            Self::MethodNotAllowed => {
                let words = ["this path does not take this method", "该路径不支持此方法"];
                error_body(StatusCode::METHOD_NOT_ALLOWED, 1004, context.localize(words), Value::Null)
            }
            Self::DevelopmentOff => {
                let words = ["development mode is off", "开发模式未开启"];
                error_body(StatusCode::FORBIDDEN, 1018, context.localize(words), Value::Null)
            }
            Self::NotAnOperator => {
                let words = ["only operators' networks may read this", "仅限运维网络访问"];
                error_body(StatusCode::FORBIDDEN, 1003, context.localize(words), Value::Null)
            }
            Self::ForeignOrigin => {
                let words = [
                    "pages of this origin may not open sockets; list it in redirect_origins",
                    "该来源的页面不可建立连接，请在 redirect_origins 中登记",
                ];
                error_body(StatusCode::FORBIDDEN, 1003, context.localize(words), json!({ "reason": "foreign_origin" }))
            }
            Self::UnknownHost => {
                let words = [
                    "development mode does not answer to this host name; list it in development.hosts",
                    "开发模式不接受该主机名，请在 development.hosts 中登记",
                ];
                error_body(StatusCode::FORBIDDEN, 1003, context.localize(words), json!({ "reason": "unknown_host" }))
            }
            Self::CrossSite => {
                let words = [
                    "pages of other sites may not do this; if this is the desk's own page, list its host name in development.hosts",
                    "其他站点的页面不可执行此操作；如为本系统自己的页面，请在 development.hosts 中登记其主机名",
                ];
                error_body(StatusCode::FORBIDDEN, 1003, context.localize(words), json!({ "reason": "foreign_origin" }))
            }
            Self::NotReady(state) => {
                let cause = context.localize(state.cause());
                error_body(StatusCode::SERVICE_UNAVAILABLE, 1005, context.with_reference(cause), json!(state))
            }
            Self::TooManyConnections => {
                let cause = context.localize(["too many connections", "连接数已满"]);
                error_body(StatusCode::SERVICE_UNAVAILABLE, 1005, context.with_reference(cause), Value::Null)
                    .retry_after(1)
            }
            Self::UntrustedProxy => untrusted_proxy(context),
            Self::RateLimited(wait) => limited(*wait, context),
            Self::Internal(cause, _) => {
                let (status, words, errcode) = describe_cause(*cause);
                let errcode = errcode.map(|code| format!(" (errcode {code})")).unwrap_or_default();
                let message = context.with_reference(&format!("{}{errcode}", context.localize(words)));
                error_body(status, 1005, message, Value::Null)
            }
        }
    }
}

/// A wait in whole seconds, rounded up, so that a retry is not too early.
fn seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX).max(1)
}

fn untrusted_proxy(context: ErrorContext<'_>) -> ErrorBody {
    let words = [
        "this request came through a proxy that is not trusted: list the address of the proxy in trusted_proxies, or have \
         the proxy send no X-Forwarded-For",
        "请求经由未受信任的代理转发：请将该代理的地址加入 trusted_proxies，或让该代理不发送 X-Forwarded-For",
    ];
    error_body(StatusCode::FORBIDDEN, 1003, context.localize(words), json!({ "reason": "untrusted_proxy" }))
}

fn limited(wait: Duration, context: ErrorContext<'_>) -> ErrorBody {
    let seconds = seconds(wait);
    let message = match (context.language, seconds) {
        (Language::En, 1) => "too many requests; try again in 1 second".to_owned(),
        (Language::En, seconds) => format!("too many requests; try again in {seconds} seconds"),
        (Language::Zh, seconds) => format!("请求过于频繁，请在 {seconds} 秒后重试"),
    };
    error_body(StatusCode::TOO_MANY_REQUESTS, 1006, message, Value::Null).retry_after(seconds)
}

fn bad_request(problem: &BadRequest, context: ErrorContext<'_>) -> ErrorBody {
    let bad = |words| error_body(StatusCode::BAD_REQUEST, 1002, context.localize(words), Value::Null);
    match problem {
        BadRequest::Head(malformed) => ErrorBody { status: malformed.status(), ..bad(malformed.message()) },
        BadRequest::Fields(problems) => ErrorBody {
            data: json!({ "fields": fields(problems, context.language) }),
            ..bad(["some fields are wrong", "部分字段不正确"])
        },
        BadRequest::NotJson => bad(["the body is not a JSON object", "请求体不是 JSON 对象"]),
        BadRequest::NotUtf8 => bad(["the body is not UTF-8", "请求体不是 UTF-8 编码"]),
        BadRequest::BodyTimeout => bad(["the body did not arrive in time", "请求体接收超时"]),
        BadRequest::BodyIncomplete => bad(["the body ended early", "请求体不完整"]),
        BadRequest::MediaType => {
            let words =
                ["send the body as Content-Type: application/json", "请求体须为 Content-Type: application/json"];
            ErrorBody { status: StatusCode::UNSUPPORTED_MEDIA_TYPE, ..bad(words) }
        }
        BadRequest::FormType => {
            let words = [
                "send the body as Content-Type: application/x-www-form-urlencoded or application/json",
                "请求体须为 Content-Type: application/x-www-form-urlencoded 或 application/json",
            ];
            ErrorBody { status: StatusCode::UNSUPPORTED_MEDIA_TYPE, ..bad(words) }
        }
        BadRequest::TooLarge(limit) => {
            let message = format!(
                "{} {limit}",
                context.localize(["the body is larger than this many bytes:", "请求体超过字节上限："])
            );
            ErrorBody { status: StatusCode::PAYLOAD_TOO_LARGE, message, ..bad(["", ""]) }
        }
        BadRequest::Prefetch => bad(["this address must not be prefetched", "此地址不可预取"]),
        BadRequest::NotAHandshake => {
            let words =
                ["this address takes WebSocket handshakes, version 13", "此地址仅接受 WebSocket 握手（版本 13）"];
            let headers = [(UPGRADE, "websocket"), (SEC_WEBSOCKET_VERSION, "13")];
            let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into();
            ErrorBody { status: StatusCode::UPGRADE_REQUIRED, headers, ..bad(words) }
        }
        BadRequest::HandshakeKey => {
            let why = context.localize(["must be 16 bytes in base64, once", "必须是 16 字节的 base64，且只出现一次"]);
            let data = json!({ "fields": { "sec-websocket-key": why } });
            ErrorBody { data, ..bad(["the handshake has no good key", "握手缺少有效的密钥"]) }
        }
        BadRequest::HandshakeBody => bad(["a handshake has no body", "握手请求不得带有请求体"]),
        BadRequest::RepeatedAuthorization => {
            let why = context.localize(["must be sent once", "只能出现一次"]);
            let data = json!({ "fields": { "authorization": why } });
            ErrorBody { data, ..bad(["send one Authorization header", "只能发送一个 Authorization 头"]) }
        }
    }
}

fn fields(problems: &FieldErrors, language: Language) -> Map<String, Value> {
    problems.iter().map(|(name, problem)| (name.clone().into_owned(), problem.text(language).into())).collect()
}

/// The status, the message, and the platform's error code where there is one.
fn describe_cause(cause: ErrorCause) -> (StatusCode, [&'static str; 2], Option<i64>) {
    let (status, words) = match cause {
        ErrorCause::StoreUnavailable => (StatusCode::SERVICE_UNAVAILABLE, ["store unavailable", "存储不可用"]),
        ErrorCause::StoreOverloaded => (StatusCode::SERVICE_UNAVAILABLE, ["store overloaded", "存储过载"]),
        ErrorCause::SharedUnavailable => {
            (StatusCode::SERVICE_UNAVAILABLE, ["shared store unavailable", "共享存储不可用"])
        }
        ErrorCause::RecordDamaged => (StatusCode::INTERNAL_SERVER_ERROR, ["record damaged", "记录损坏"]),
        ErrorCause::NoRandomness => (StatusCode::INTERNAL_SERVER_ERROR, ["no randomness", "随机源不可用"]),
        ErrorCause::PlatformUnreachable => (StatusCode::GATEWAY_TIMEOUT, ["platform unreachable", "平台无法访问"]),
        ErrorCause::PlatformGarbled => (StatusCode::BAD_GATEWAY, ["platform answer unreadable", "平台应答无法识别"]),
        ErrorCause::PlatformRefused(_) => (StatusCode::BAD_GATEWAY, ["platform refused", "平台拒绝"]),
        ErrorCause::PlatformSuspended(_) => (StatusCode::SERVICE_UNAVAILABLE, ["platform suspended", "平台调用已暂停"]),
        ErrorCause::Unexpected => (StatusCode::INTERNAL_SERVER_ERROR, ["unexpected error", "意外错误"]),
    };
    let errcode = match cause {
        ErrorCause::PlatformRefused(errcode) | ErrorCause::PlatformSuspended(errcode) => Some(errcode),
        _ => None,
    };
    (status, words, errcode)
}
