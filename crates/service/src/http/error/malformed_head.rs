//! Requests with a malformed or ambiguous head.

use deskpass_core::framing::MalformedHead;
use hyper::StatusCode;

/// The status of the response to a request with such a head.
pub(super) fn status(malformed: MalformedHead) -> StatusCode {
    match malformed {
        MalformedHead::TargetTooLong => StatusCode::URI_TOO_LONG,
        MalformedHead::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// What is wrong, in English and Chinese.
pub(super) fn message(malformed: MalformedHead) -> [&'static str; 2] {
    match malformed {
        MalformedHead::LineEnd => ["lines of the request head must end with CR LF", "请求头的每一行须以 CR LF 结尾"],
        MalformedHead::RequestLine => [
            "the first line must be a method, a target and HTTP/1.1, with one space between them",
            "首行须为方法、目标和 HTTP/1.1，之间各有一个空格",
        ],
        MalformedHead::Target => {
            ["the request target is not a valid path; percent-encode it", "请求目标不是有效路径，请使用百分号编码"]
        }
        MalformedHead::TargetTooLong => ["the request target is too long", "请求目标过长"],
        MalformedHead::TooLarge => ["the request head is too large", "请求头过大"],
        MalformedHead::Field => [
            "a header line is not valid: send a name, a colon and a value without control characters, on one line",
            "请求头格式不正确：每行须为名称、冒号和不含控制字符的值",
        ],
        MalformedHead::HostMissing => ["send a Host header", "缺少 Host 头"],
        MalformedHead::HostRepeated => ["send one Host header", "只能发送一个 Host 头"],
        MalformedHead::HostInvalid => {
            ["the Host header is not a host with an optional port", "Host 头不是主机名或主机名加端口"]
        }
        MalformedHead::HostMismatch => {
            ["the Host header and the request target name different hosts", "Host 头与请求目标的主机不一致"]
        }
        MalformedHead::ContentLength => {
            ["send one Content-Length, a plain number", "Content-Length 只能出现一次，且须为数字"]
        }
        MalformedHead::TransferEncoding => [
            "the only Transfer-Encoding is chunked, sent once and with HTTP/1.1",
            "Transfer-Encoding 仅支持 chunked，只能出现一次，且须为 HTTP/1.1",
        ],
        MalformedHead::TwoLengths => {
            ["send Content-Length or Transfer-Encoding, not both", "Content-Length 与 Transfer-Encoding 不可同时出现"]
        }
    }
}
