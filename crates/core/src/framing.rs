//! Finds where requests begin and end on a connection, before the HTTP library reads the bytes.
//!
//! The library tolerates malformed input: a bare line feed as a line end, a request without a host, two hosts, two
//! lengths. A proxy in front may interpret the same bytes differently, and then the two disagree on where the next
//! request begins. So ambiguous bytes are never passed on. All other bytes have only one reading, which is why this
//! code can follow the library from request to request on one connection, bodies included.

mod head;
mod known_head;
mod malformed_head;
mod plain_request;
#[cfg(test)]
mod tests;

use memchr::memchr;

use self::head::{BodyLength, Head};
use self::known_head::KnownHead;
pub use self::malformed_head::MalformedHead;
pub use self::plain_request::PlainRequest;

/// The maximum size of a request's head, in bytes.
pub const MAX_HEAD_BYTES: usize = 16 * 1024;
/// The same, in fields.
pub const MAX_HEAD_FIELDS: usize = 64;
/// The maximum length of a request's target.
const MAX_TARGET_BYTES: usize = 8 * 1024;
/// The maximum length of a line with a chunk's size, including extensions.
const MAX_CHUNK_LINE_BYTES: usize = 1024;

/// An error in the bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingError {
    /// The head of a request is invalid.
    Head(MalformedHead),
    /// The framing of a chunked body is invalid.
    Chunk,
}

/// Reads the bytes of a connection in pieces of any size, and decides how many may be passed on: heads and lines only
/// when they are complete and valid, bodies as they arrive.
#[derive(Debug, Default)]
pub struct Framing {
    state: FramingState,
    /// How far the bytes that are not passed on yet have been searched for the end of their line.
    searched: usize,
    /// The start of that line.
    line: usize,
    /// The remaining size allowed for trailers.
    trailers: usize,
    upgrade: bool,
    last_head: KnownHead,
    /// The number of heads that were passed on.
    pub heads: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FramingState {
    #[default]
    Head,
    /// This many bytes of a body follow.
    Body(u64),
    /// The line with a chunk's size.
    Size,
    /// This many bytes of a chunk follow.
    Chunk(u64),
    /// The line end after a chunk.
    ChunkEnd,
    Trailer,
    /// A request offered an upgrade to another protocol; the response decides which protocol follows.
    Offered,
    /// No more bytes are passed on.
    Refused,
}

impl Framing {
    /// Returns how many of these bytes may be passed on, and the error in the bytes after them. `bytes` are all bytes
    /// that have arrived and are not passed on yet.
    pub fn pass(&mut self, bytes: &[u8]) -> (usize, Result<(), FramingError>) {
        let mut passed = 0;
        loop {
            let rest = bytes.get(passed..).unwrap_or_default();
            match self.step(rest) {
                Ok(Some(more)) => passed += more,
                Ok(None) => return (passed, Ok(())),
                Err(fault) => {
                    self.state = FramingState::Refused;
                    return (passed, Err(fault));
                }
            }
        }
    }

    /// Whether the response to a request decides what follows.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        self.state == FramingState::Offered
    }

    /// Whether the next byte begins a request.
    #[must_use]
    pub fn is_between_requests(&self) -> bool {
        self.state == FramingState::Head && self.searched == 0
    }

    /// Continues with HTTP.
    pub fn decline(&mut self) {
        if self.is_offered() {
            self.begin(FramingState::Head);
        }
    }

    /// Takes one step; `None` if it needs more bytes.
    fn step(&mut self, bytes: &[u8]) -> Result<Option<usize>, FramingError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        match self.state {
            FramingState::Head => self.head(bytes).map_err(FramingError::Head),
            FramingState::Body(left) => Ok(Some(self.pass_body(bytes, left, FramingState::Body))),
            FramingState::Chunk(left) => Ok(Some(self.pass_body(bytes, left, FramingState::Chunk))),
            FramingState::Size | FramingState::ChunkEnd | FramingState::Trailer => self.chunk_line(bytes),
            FramingState::Offered | FramingState::Refused => Ok(None),
        }
    }

    /// Passes on all available bytes of a body.
    fn pass_body(&mut self, bytes: &[u8], left: u64, state: fn(u64) -> FramingState) -> usize {
        let available = bytes.len() as u64;
        if available < left {
            self.state = state(left - available);
            return bytes.len();
        }
        match self.state {
            FramingState::Chunk(_) => self.begin(FramingState::ChunkEnd),
            _ => self.end(),
        }
        usize::try_from(left).unwrap_or(bytes.len())
    }

    fn head(&mut self, bytes: &[u8]) -> Result<Option<usize>, MalformedHead> {
        if self.searched == 0
            && let Some((end, head)) = self.last_head.repeated(bytes)
        {
            self.begin_body(head);
            return Ok(Some(end));
        }
        let within = bytes.get(..MAX_HEAD_BYTES).unwrap_or(bytes);
        while let Some(line) = self.next_line(within).map_err(|()| MalformedHead::LineEnd)? {
            // An empty line ends the head, unless it is the first line.
            if line.content == 0 && line.begin > 0 {
                let whole = within.get(..line.end).unwrap_or_default();
                let head = head::check(whole)?;
                self.last_head.remember(whole, head);
                self.begin_body(head);
                return Ok(Some(line.end));
            }
        }
        if bytes.len() >= MAX_HEAD_BYTES { Err(MalformedHead::TooLarge) } else { Ok(None) }
    }

    /// Counts a head, and continues with what it specifies.
    fn begin_body(&mut self, head: Head) {
        self.heads += 1;
        self.upgrade = head.upgrade;
        match head.body {
            BodyLength::Length(0) => self.end(),
            BodyLength::Length(length) => self.begin(FramingState::Body(length)),
            BodyLength::Chunked => self.begin(FramingState::Size),
        }
    }

    /// Reads a line of a chunked body's framing.
    fn chunk_line(&mut self, bytes: &[u8]) -> Result<Option<usize>, FramingError> {
        let limit = if self.state == FramingState::Trailer { self.trailers } else { MAX_CHUNK_LINE_BYTES };
        let within = bytes.get(..limit).unwrap_or(bytes);
        let Some(line) = self.next_line(within).map_err(|()| FramingError::Chunk)? else {
            return if bytes.len() >= limit { Err(FramingError::Chunk) } else { Ok(None) };
        };
        let content = within.get(..line.content).unwrap_or_default();
        match self.state {
            FramingState::Size => match chunk_size(content).ok_or(FramingError::Chunk)? {
                0 => {
                    self.trailers = MAX_HEAD_BYTES;
                    self.begin(FramingState::Trailer);
                }
                size => self.begin(FramingState::Chunk(size)),
            },
            FramingState::ChunkEnd if content.is_empty() => self.begin(FramingState::Size),
            FramingState::Trailer if content.is_empty() => self.end(),
            FramingState::Trailer if head::field(content).is_some() => {
                self.trailers -= line.end;
                self.begin(FramingState::Trailer);
            }
            _ => return Err(FramingError::Chunk),
        }
        Ok(Some(line.end))
    }

    /// The next complete line; fails if a line ends without a carriage return.
    fn next_line(&mut self, bytes: &[u8]) -> Result<Option<LineSpan>, ()> {
        let found = bytes.get(self.searched..).and_then(|rest| memchr(b'\n', rest));
        let Some(more) = found else {
            self.searched = bytes.len();
            return Ok(None);
        };
        let (begin, feed) = (self.line, self.searched + more);
        let content = bytes.get(begin..feed).and_then(|line| line.strip_suffix(b"\r")).ok_or(())?;
        (self.searched, self.line) = (feed + 1, feed + 1);
        Ok(Some(LineSpan { begin, content: content.len(), end: feed + 1 }))
    }

    /// Ends a complete request.
    fn end(&mut self) {
        self.begin(if self.upgrade { FramingState::Offered } else { FramingState::Head });
    }

    fn begin(&mut self, state: FramingState) {
        (self.state, self.searched, self.line) = (state, 0, 0);
    }
}

/// The first of several complete lines, without its end, and the bytes after it.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (line, rest) = bytes.split_at_checked(memchr(b'\n', bytes)? + 1)?;
    Some((line.strip_suffix(b"\r\n")?, rest))
}

/// The start of a line, its length without the line end, and the start of the next line.
#[derive(Clone, Copy, Debug)]
struct LineSpan {
    begin: usize,
    content: usize,
    end: usize,
}

/// Parses a chunk's size: hexadecimal digits, and extensions that are ignored.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (size, extensions) = line.split_at_checked(digits)?;
    let plain = |byte: &u8| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f;
    let extended = extensions.is_empty() || extensions.trim_ascii_start().starts_with(b";");
    if !(1..=15).contains(&size.len()) || !extended || !extensions.iter().all(plain) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(size).ok()?, 16).ok()
}
