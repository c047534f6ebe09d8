//! Requests that cannot be read.

use hyper::StatusCode;

use crate::http::error::{ErrorInfo, FieldErrors};
use crate::http::head_rules::MalformedHead;

/// What is wrong with a malformed request.
#[derive(Clone, Debug)]
pub(crate) enum BadRequest {
    /// The head is malformed.
    Head(MalformedHead),
    Fields(FieldErrors),
    NotJson,
    NotUtf8,
    MediaType,
    /// The body is neither a form nor JSON, where both are accepted.
    FormType,
    /// The body is not a form, where nothing else is accepted.
    NotAForm,
    /// A parameter of a form appears more than once.
    RepeatedParameter,
    /// The body has more bytes than this.
    TooLarge(usize),
    BodyTimeout,
    BodyIncomplete,
    RepeatedAuthorization,
    Prefetch,
    /// Another page embeds an address that people go to, or calls it.
    NotANavigation,
    /// Not a WebSocket handshake, or one of another version.
    NotAHandshake,
    HandshakeKey,
    HandshakeBody,
}

impl BadRequest {
    pub(crate) fn info(&self) -> ErrorInfo {
        let bad = ErrorInfo::new::<1002>;
        match self {
            Self::Head(malformed) => bad(malformed.message()).with_status(malformed.status()),
            Self::Fields(_) => bad(["some fields are not valid", "部分字段不正确"]),
            Self::NotJson => bad(["the body is not a JSON object", "请求体不是 JSON 对象"]),
            Self::NotUtf8 => bad(["the body is not UTF-8", "请求体不是 UTF-8 编码"]),
            Self::MediaType => {
                bad(["send the body as Content-Type: application/json", "请求体须为 Content-Type: application/json"])
                    .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
            }
            Self::FormType => bad([
                "send the body as Content-Type: application/x-www-form-urlencoded or application/json",
                "请求体须为 Content-Type: application/x-www-form-urlencoded 或 application/json",
            ])
            .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE),
            // RFC 6749 gives such a request the status 400.
            Self::NotAForm => bad([
                "send the body as Content-Type: application/x-www-form-urlencoded",
                "请求体须为 Content-Type: application/x-www-form-urlencoded",
            ]),
            Self::RepeatedParameter => bad(["a parameter appears more than once", "参数重复"]),
            Self::TooLarge(limit) => bad(["the body is larger than this many bytes:", "请求体超过字节上限："])
                .with_value(limit)
                .with_status(StatusCode::PAYLOAD_TOO_LARGE),
            Self::BodyTimeout => bad(["the body did not arrive in time", "请求体接收超时"]),
            Self::BodyIncomplete => bad(["the body ended early", "请求体不完整"]),
            Self::RepeatedAuthorization => bad(["send one Authorization header", "只能发送一个 Authorization 头"]),
            Self::Prefetch => bad(["this address must not be prefetched", "此地址不可预取"]),
            Self::NotANavigation => bad([
                "a browser must go to this address; a page cannot embed or fetch it",
                "须由浏览器直接访问此地址，页面不可嵌入或调用",
            ]),
            Self::NotAHandshake => bad([
                "this address accepts only WebSocket handshakes, version 13",
                "此地址仅接受 WebSocket 握手（版本 13）",
            ])
            .with_status(StatusCode::UPGRADE_REQUIRED),
            Self::HandshakeKey => bad(["the handshake has no valid key", "握手缺少有效的密钥"]),
            Self::HandshakeBody => bad(["a handshake has no body", "握手请求不得带有请求体"]),
        }
    }
}
