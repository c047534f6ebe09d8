//! What is wrong with the head of a request.

/// What is wrong with the head of a request. It is rejected, never repaired: a proxy in front may repair it differently, and then
/// the two disagree on where the next request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MalformedHead {
    /// A line feed without a carriage return before it.
    LineEnd,
    /// The first line is not a method, a target and a version.
    RequestLine,
    /// The target is not valid.
    Target,
    /// The target is too long.
    TargetTooLong,
    /// The head is too large.
    TooLarge,
    /// A line that is not a name, a colon and a value, including a folded line.
    Field,
    /// There is no host.
    HostMissing,
    /// There are two hosts.
    HostRepeated,
    /// The host is not valid.
    HostInvalid,
    /// An absolute target and the header name different hosts.
    HostMismatch,
    /// The length is not a number, or there are two.
    ContentLength,
    /// An encoding other than `chunked`.
    TransferEncoding,
    /// Both `Content-Length` and `Transfer-Encoding`.
    TwoLengths,
}
