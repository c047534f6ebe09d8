//! The last head of a connection, since programs repeat their heads.

use std::fmt;

use super::head::{Head, is_value};
use super::split_line;

/// The maximum size of a head that is remembered, in bytes. Larger heads are those of browsers, which seldom repeat them.
const MAX_REMEMBERED_BYTES: usize = 512;

const AUTHORIZATION: &[u8] = b"authorization:";
const COOKIE: &[u8] = b"cookie:";

/// The last head that was passed on, without the value of `Authorization`.
///
/// A program that serves many people sends the same head with each request on a connection, and only the token differs. A head that equals
/// a valid one, apart from a value of `Authorization` of the same length, is valid too, and says the same about the bytes after it.
/// A comparison takes a fifth of the time of a check. A head with other secrets is not remembered: they would stay in memory until the
/// next one.
#[derive(Default)]
pub(super) struct KnownHead {
    /// The bytes before the value and those after it.
    bytes: Vec<u8>,
    /// The position and the length of the value.
    value: (usize, usize),
    head: Option<Head>,
}

impl KnownHead {
    /// Remembers a valid head, unless it is large, offers an upgrade or has other secrets.
    pub(super) fn remember(&mut self, bytes: &[u8], head: Head) {
        let is_suitable = bytes.len() <= MAX_REMEMBERED_BYTES && !head.upgrade;
        let Some((at, length)) = is_suitable.then(|| only_secret(bytes)).flatten() else {
            *self = Self::default();
            return;
        };
        (self.value, self.head) = ((at, length), Some(head));
        self.bytes.clear();
        self.bytes.reserve_exact(bytes.len() - length);
        self.bytes.extend_from_slice(bytes.get(..at).unwrap_or_default());
        self.bytes.extend_from_slice(bytes.get(at + length..).unwrap_or_default());
    }

    /// What the head at the start of `bytes` specifies, and its size, if it equals the remembered one apart from the value of
    /// `Authorization`, which must have the same length.
    pub(super) fn repeated(&self, bytes: &[u8]) -> Option<(usize, Head)> {
        let (head, (at, length)) = (self.head?, self.value);
        let (before, after) = self.bytes.split_at_checked(at)?;
        let (value, rest) = bytes.strip_prefix(before)?.split_at_checked(length)?;
        (rest.starts_with(after) && is_value(value)).then_some((self.bytes.len() + length, head))
    }
}

/// The position and the length of the value of `Authorization`, or of nothing at the end of a head without it; `None` for a head with
/// a query, a cookie or another `Authorization`.
fn only_secret(head: &[u8]) -> Option<(usize, usize)> {
    let (request_line, mut rest) = split_line(head)?;
    // One empty line may come before the request line.
    if request_line.is_empty() || request_line.contains(&b'?') {
        return None;
    }
    let mut found = None;
    while let Some((line, after)) = split_line(rest).filter(|(line, _)| !line.is_empty()) {
        if has_name(line, COOKIE) {
            return None;
        }
        if has_name(line, AUTHORIZATION) {
            let value = (head.len() - rest.len() + AUTHORIZATION.len(), line.len() - AUTHORIZATION.len());
            if found.replace(value).is_some() {
                return None;
            }
        }
        rest = after;
    }
    Some(found.unwrap_or((head.len(), 0)))
}

/// Whether a field has this name, given with the colon.
fn has_name(field: &[u8], name: &[u8]) -> bool {
    field.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

/// Without the bytes: a head has secrets.
impl fmt::Debug for KnownHead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KnownHead").field("head", &self.head).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use crate::framing::Framing;

    const HEAD: &str =
        "GET /api/auth/me HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer abcdefgh\r\nAccept: */*\r\n\r\n";

    /// What a connection that has passed on these bytes says of the next ones.
    fn after(before: &[u8], next: &[u8]) -> String {
        let mut framing = Framing::default();
        assert_eq!(framing.pass(before), (before.len(), Ok(())));
        let passed = framing.pass(next);
        format!("{passed:?}, {} and {}", framing.heads, framing.is_between_requests())
    }

    /// A valid head that has nothing in common with the others.
    const OTHER: &[u8] = b"OPTIONS * HTTP/1.0\r\n\r\n";

    proptest! {
        /// Beside a connection that has to check the head.
        #[test]
        fn a_repeated_head_is_read_as_one_that_is_checked(
            first in select(vec![
                HEAD.to_owned(),
                HEAD.replace("Accept", "Content-Length").replace("*/*", "2") + "{}",
                HEAD.replace("Accept: */*", "Transfer-Encoding: chunked") + "0\r\n\r\n",
                HEAD.replace("Authorization", "X-Trace"),
                HEAD.replace("Accept", "Authorization"),
                HEAD.replace("HTTP/1.1", "HTTP/1.0"),
                "\r\n".to_owned() + HEAD,
            ]),
            change in proptest::option::of((any::<Index>(), any::<Index>(), select(b"\r\n :x9\t\x00\x7f\xff".to_vec()))),
            token in "[ -~\\r\\n]{8}",
            more in select(vec!["", "G", HEAD]),
        ) {
            let mut second = (first.replace("abcdefgh", &token) + more).into_bytes();
            if let Some((from, to, byte)) = change {
                let (from, to) = (from.index(second.len()), to.index(second.len()));
                second.splice(from.min(to)..(from.max(to)).min(from.min(to) + 2), [byte]);
            }
            prop_assert_eq!(after(first.as_bytes(), &second), after(OTHER, &second));
        }
    }

    #[test]
    fn a_head_is_remembered_without_its_token() {
        let mut framing = Framing::default();
        assert_eq!(framing.pass(HEAD.as_bytes()), (HEAD.len(), Ok(())));
        let known = &framing.last_head;
        let repeated = known.repeated(HEAD.replace("abcdefgh", "12345678").as_bytes());
        assert_eq!(repeated.map(|(size, _)| size), Some(HEAD.len()));
        assert!(!known.bytes.windows(8).any(|bytes| bytes == b"abcdefgh"));
        for other in ["1234567", "123456789", "1234\n678"] {
            assert!(known.repeated(HEAD.replace("abcdefgh", other).as_bytes()).is_none(), "{other}");
        }
        assert!(known.repeated(HEAD.replace("/me", "/ab").as_bytes()).is_none());
        assert!(known.repeated(HEAD.strip_suffix("\n").unwrap_or_default().as_bytes()).is_none());
    }

    #[test]
    fn a_large_head_and_one_with_other_secrets_are_not_remembered() {
        for head in [
            HEAD.replace("*/*", &"x".repeat(512)),
            HEAD.replace("/me", "/me?ticket=x"),
            HEAD.replace("Accept", "COOKIE"),
            HEAD.replace("Accept", "authorization"),
            HEAD.replace("Accept", "Upgrade"),
        ] {
            let mut framing = Framing::default();
            assert_eq!(framing.pass(HEAD.as_bytes()), (HEAD.len(), Ok(())));
            assert_eq!(framing.pass(head.as_bytes()), (head.len(), Ok(())));
            assert!(framing.last_head.repeated(head.as_bytes()).is_none() && framing.last_head.bytes.is_empty());
        }
    }
}
