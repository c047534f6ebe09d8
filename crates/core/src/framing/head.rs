//! The head of a request: its validity, and what it specifies about the bytes that follow.
//!
//! A head is checked in place, without a copy or an allocation: names byte by byte, and values, which are most of it,
//! eight bytes per step.

use super::{MAX_HEAD_FIELDS, MAX_TARGET_BYTES, MalformedHead, split_line};
use crate::Host;

/// What the head specifies about the bytes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) body: BodyLength,
    /// The client offers an upgrade to another protocol, which begins after the response if the server agrees.
    pub(super) upgrade: bool,
}

/// How the end of a body is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyLength {
    /// A fixed number of bytes.
    Length(u64),
    Chunked,
}

/// Checks a complete head, including the empty line at its end. All of its lines end as they should.
pub(super) fn check(head: &[u8]) -> Result<Head, MalformedHead> {
    // RFC 9112 2.2: one empty line before a request is ignored.
    let mut rest = head.strip_prefix(b"\r\n").unwrap_or(head);
    let mut lines = std::iter::from_fn(|| {
        let (line, after) = split_line(rest)?;
        rest = after;
        Some(line)
    });
    let line = RequestLine::read(lines.next().unwrap_or_default())?;
    let mut fields = FramingFields::default();
    for field in lines.take_while(|line| !line.is_empty()) {
        fields.read(field)?;
    }
    fields.validate(line)
}

#[derive(Clone, Copy, Debug)]
struct RequestLine<'a> {
    /// Whether the version is HTTP/1.1 rather than 1.0.
    current: bool,
    /// The host of an absolute target.
    authority: Option<&'a [u8]>,
}

impl<'a> RequestLine<'a> {
    fn read(line: &'a [u8]) -> Result<Self, MalformedHead> {
        let mut words = line.split(|byte| *byte == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(MalformedHead::RequestLine);
        };
        let current = match version {
            b"HTTP/1.1" => true,
            b"HTTP/1.0" => false,
            _ => return Err(MalformedHead::RequestLine),
        };
        if !is_token(method) {
            return Err(MalformedHead::RequestLine);
        }
        if target.len() > MAX_TARGET_BYTES {
            return Err(MalformedHead::TargetTooLong);
        }
        // The service tunnels nothing, so a target that is only an authority has no meaning.
        let authority = (method != b"CONNECT").then(|| authority(method, target)).flatten();
        Ok(Self { current, authority: authority.ok_or(MalformedHead::Target)? })
    }
}

/// The authority of a target, if it has one; the outer `None` means that the target is invalid.
#[expect(clippy::option_option, reason = "no target, and a target without an authority, are two things")]
fn authority<'a>(method: &[u8], target: &'a [u8]) -> Option<Option<&'a [u8]>> {
    if target.starts_with(b"/") {
        return is_path(target).then_some(None);
    }
    if target == b"*" {
        return (method == b"OPTIONS").then_some(None);
    }
    let rest = target.strip_prefix(b"http://").or_else(|| target.strip_prefix(b"https://"))?;
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    is_path(path).then_some(Some(authority))
}

/// Whether the text consists of characters of a path and a query: those that the HTTP library accepts, without those
/// that RFC 3986 forbids and proxies disagree about, which are `#` and everything outside ASCII.
fn is_path(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| *byte == b'?').unwrap_or(text.len());
    let path = |byte: u8| matches!(byte, 0x21..=0x22 | 0x24..=0x3b | 0x3d | 0x40..=0x5f | 0x61..=0x7e);
    let query = |byte: u8| matches!(byte, 0x21 | 0x24..=0x3b | 0x3d | 0x3f..=0x7e);
    let Some((before, after)) = text.split_at_checked(end) else { return false };
    before.iter().all(|byte| path(*byte)) && after.iter().all(|byte| query(*byte))
}

/// The fields that determine the framing.
#[derive(Debug, Default)]
struct FramingFields<'a> {
    count: usize,
    host: Option<&'a [u8]>,
    length: Option<u64>,
    chunked: bool,
    upgrade: bool,
}

impl<'a> FramingFields<'a> {
    fn read(&mut self, line: &'a [u8]) -> Result<(), MalformedHead> {
        self.count += 1;
        if self.count > MAX_HEAD_FIELDS {
            return Err(MalformedHead::TooLarge);
        }
        let (name, value) = field(line).ok_or(MalformedHead::Field)?;
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => {
                let before = self.host.replace(value);
                before.map_or(Ok(()), |_| Err(MalformedHead::HostRepeated))?;
            }
            7 if name.eq_ignore_ascii_case(b"upgrade") => self.upgrade = true,
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = decimal(value).filter(|_| self.length.is_none());
                self.length = Some(length.ok_or(MalformedHead::ContentLength)?);
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(MalformedHead::TransferEncoding);
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn validate(&self, line: RequestLine<'_>) -> Result<Head, MalformedHead> {
        match (self.host, line.authority) {
            // Health checks of load balancers use HTTP/1.0 without a host.
            (None, None) if !line.current => {}
            (None, _) => return Err(MalformedHead::HostMissing),
            (Some(host), _) if !is_host(host) => return Err(MalformedHead::HostInvalid),
            (Some(host), Some(authority)) if !host.eq_ignore_ascii_case(authority) => {
                return Err(MalformedHead::HostMismatch);
            }
            (Some(_), _) => {}
        }
        let body = match (self.length, self.chunked) {
            (Some(_), true) => return Err(MalformedHead::TwoLengths),
            (None, true) if !line.current => return Err(MalformedHead::TransferEncoding),
            (None, true) => BodyLength::Chunked,
            (length, false) => BodyLength::Length(length.unwrap_or(0)),
        };
        // Only HTTP/1.1 supports upgrades.
        Ok(Head { body, upgrade: self.upgrade && line.current })
    }
}

/// Splits a line into a name and a value without surrounding blanks.
pub(super) fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    // The name ends at the first byte that a name cannot have; that must be the colon.
    let (name, rest) = line.split_at_checked(line.iter().position(|byte| !is_token_byte(*byte))?)?;
    let value = rest.strip_prefix(b":").filter(|_| !name.is_empty())?;
    is_value(value).then(|| (name, value.trim_ascii()))
}

/// Whether a value has no control characters except tabs. Values are most of a request, so eight bytes are checked per
/// step, and byte by byte only if there is a control character among them, which may be a tab.
pub(super) fn is_value(value: &[u8]) -> bool {
    let plain = |byte: &u8| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f;
    let (words, rest) = value.as_chunks();
    let is_plain = |word: &[u8; 8]| !has_control_character(u64::from_le_bytes(*word)) || word.iter().all(plain);
    words.iter().all(is_plain) && rest.iter().all(plain)
}

/// Whether one of eight bytes is below the space, or the delete character. Subtracting `n` from every byte sets the highest bit of those
/// below `n`; those that had it set before do not count. A chain of borrows begins with a byte below `n`, so the answer for the whole word
/// is exact.
const fn has_control_character(word: u64) -> bool {
    const EACH: u64 = u64::MAX / 0xff;
    let delete = word ^ (EACH * 0x7f);
    let below_space = word.wrapping_sub(EACH * 0x20) & !word;
    let is_delete = delete.wrapping_sub(EACH) & !delete;
    (below_space | is_delete) & (EACH * 0x80) != 0
}

fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| is_token_byte(*byte))
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

fn is_host(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(Host::is_valid)
}

/// Parses digits only: no sign, no list.
pub(super) fn decimal(text: &[u8]) -> Option<u64> {
    let digits = (1..=19).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_value_is_checked_as_byte_by_byte(value in vec(prop_oneof![8 => 0x1e_u8..0x82, 1 => Just(b'\t'), 1 => any::<u8>()], 0..20)) {
            let expected = value.iter().all(|byte| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f);
            prop_assert_eq!(is_value(&value), expected);
        }

        #[test]
        fn a_control_character_is_found_at_every_place(byte in any::<u8>(), place in 0..8_usize) {
            let mut word = [b'a'; 8];
            word.iter_mut().skip(place).take(1).for_each(|to| *to = byte);
            prop_assert_eq!(has_control_character(u64::from_le_bytes(word)), byte < b' ' || byte == 0x7f);
        }
    }
}
