//! Requests with a malformed or ambiguous head.

use hyper::StatusCode;

/// What is wrong with the head of a request. It is rejected, never repaired: a proxy in front may repair it differently, and then
/// the two disagree on where the next request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MalformedHead {
    /// A line feed without a carriage return before it.
    LineEnd,
    RequestLine,
    Target,
    TargetTooLong,
    TooLarge,
    /// A line that is not a name, a colon and a value, including a folded line.
    Field,
    HostMissing,
    HostRepeated,
    HostInvalid,
    /// An absolute target and the header name different hosts.
    HostMismatch,
    ContentLength,
    TransferEncoding,
    /// Both `Content-Length` and `Transfer-Encoding`.
    TwoLengths,
}

impl MalformedHead {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    pub(crate) fn message(self) -> [&'static str; 2] {
        match self {
            Self::LineEnd => ["lines of the request head must end with CR LF", "请求头的每一行须以 CR LF 结尾"],
            Self::RequestLine => [
                "the first line must be a method, a target and HTTP/1.1, with one space between them",
                "首行须为方法、目标和 HTTP/1.1，之间各有一个空格",
            ],
            Self::Target => {
                ["the request target is not a valid path; percent-encode it", "请求目标不是有效路径，请使用百分号编码"]
            }
            Self::TargetTooLong => ["the request target is too long", "请求目标过长"],
            Self::TooLarge => ["the request head is too large", "请求头过大"],
            Self::Field => [
                "a header line is not valid: send a name, a colon and a value without control characters, on one line",
                "请求头格式不正确：每行须为名称、冒号和不含控制字符的值",
            ],
            Self::HostMissing => ["send a Host header", "缺少 Host 头"],
            Self::HostRepeated => ["send one Host header", "只能发送一个 Host 头"],
            Self::HostInvalid => {
                ["the Host header is not a host with an optional port", "Host 头不是主机名或主机名加端口"]
            }
            Self::HostMismatch => {
                ["the Host header and the request target name different hosts", "Host 头与请求目标的主机不一致"]
            }
            Self::ContentLength => {
                ["send one Content-Length, a plain number", "Content-Length 只能出现一次，且须为数字"]
            }
            Self::TransferEncoding => [
                "the only Transfer-Encoding is chunked, sent once and with HTTP/1.1",
                "Transfer-Encoding 仅支持 chunked，只能出现一次，且须为 HTTP/1.1",
            ],
            Self::TwoLengths => [
                "send Content-Length or Transfer-Encoding, not both",
                "Content-Length 与 Transfer-Encoding 不可同时出现",
            ],
        }
    }
}
