//! The last head of a connection, since programs repeat their heads.

use std::fmt;

use super::head::{Head, is_value};
use super::split_line;

/// The maximum size of a head that is remembered, in bytes. Larger heads are those of browsers, which seldom repeat them.
const MAX_REMEMBERED_BYTES: usize = 512;

const AUTHORIZATION: &[u8] = b"authorization:";

/// The last head that was passed on, without the value of `Authorization`.
///
/// A program that serves many people sends the same head with each request on a connection, and only the token differs. What is the same
/// as a valid head in everything but the value of `Authorization` is valid too, and says the same about the bytes after it.
/// To compare takes a fifth of the time of a check.
#[derive(Default)]
pub(super) struct KnownHead {
    /// The bytes before the value and those after it.
    bytes: Vec<u8>,
    /// The position and the length of the value.
    value: (usize, usize),
    head: Option<Head>,
}

impl KnownHead {
    /// Remembers a valid head, if another one like it can follow.
    pub(super) fn remember(&mut self, bytes: &[u8], head: Head) {
        if bytes.len() > MAX_REMEMBERED_BYTES || head.upgrade {
            *self = Self::default();
            return;
        }
        let (at, value) = authorization(bytes).unwrap_or((bytes.len(), b""));
        (self.value, self.head) = ((at, value.len()), Some(head));
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes.get(..at).unwrap_or_default());
        self.bytes.extend_from_slice(bytes.get(at + value.len()..).unwrap_or_default());
    }

    /// What the head at the start of `bytes` specifies, and its size, if it is as the one before.
    pub(super) fn repeated(&self, bytes: &[u8]) -> Option<(usize, Head)> {
        let (head, (at, length)) = (self.head?, self.value);
        let (before, after) = self.bytes.split_at_checked(at)?;
        let (value, rest) = bytes.strip_prefix(before)?.split_at_checked(length)?;
        (rest.starts_with(after) && is_value(value)).then_some((self.bytes.len() + length, head))
    }
}

/// The value of the first `Authorization` of a head, and where it begins.
fn authorization(head: &[u8]) -> Option<(usize, &[u8])> {
    let mut rest = head;
    loop {
        let (line, after) = split_line(rest)?;
        if let Some((name, value)) = line.split_at_checked(AUTHORIZATION.len())
            && name.eq_ignore_ascii_case(AUTHORIZATION)
        {
            return Some((head.len() - rest.len() + name.len(), value));
        }
        rest = after;
    }
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
            first in select(vec![HEAD.to_owned(), HEAD.replace("Accept", "Content-Length").replace("*/*", "2") + "{}"]),
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
    fn a_large_head_is_not_remembered() {
        let (mut framing, large) = (Framing::default(), HEAD.replace("*/*", &"x".repeat(512)));
        assert_eq!(framing.pass(large.as_bytes()), (large.len(), Ok(())));
        assert!(framing.last_head.repeated(large.as_bytes()).is_none() && framing.last_head.bytes.is_empty());
    }
}
