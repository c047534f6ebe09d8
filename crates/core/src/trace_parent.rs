//! The trace that a request belongs to, as the caller's tracing names it (W3C Trace Context).

use std::fmt;

/// The length of a header value of version `00`.
const LENGTH: usize = 55;

/// The value of a `traceparent` header: version `00`, a trace id, the id of the caller's span, and flags.
///
/// It is passed on as it came: this service records no spans of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TraceParent([u8; LENGTH]);

impl TraceParent {
    /// Reads a header value. A value that the specification does not allow is ignored, as it demands; so is a version that it
    /// does not define yet.
    #[must_use]
    pub fn parse(header: &[u8]) -> Option<Self> {
        let text: [u8; LENGTH] = header.try_into().ok()?;
        let [b'0', b'0', b'-', rest @ ..] = &text else { return None };
        let (trace_id, rest) = rest.split_first_chunk::<32>()?;
        let (b'-', rest) = rest.split_first()? else { return None };
        let (span_id, rest) = rest.split_first_chunk::<16>()?;
        let (b'-', flags) = rest.split_first()? else { return None };
        let is_valid = is_id(trace_id) && is_id(span_id) && flags.iter().copied().all(is_digit);
        is_valid.then_some(Self(text))
    }

    /// The id of the trace: 32 hexadecimal digits in lower case.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        self.as_str().get(3..35).unwrap_or_default()
    }

    /// The value of the header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Every byte is a digit or a hyphen.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Whether a byte is a hexadecimal digit in lower case.
const fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Whether bytes are an id: digits, and not only zeros, which stand for no id.
fn is_id(bytes: &[u8]) -> bool {
    bytes.iter().copied().all(is_digit) && bytes.iter().any(|byte| *byte != b'0')
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn the_example_of_the_specification_is_read() {
        let parent = TraceParent::parse(EXAMPLE.as_bytes()).unwrap();
        assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!((parent.as_str(), format!("{parent:?}")), (EXAMPLE, EXAMPLE.to_owned()));
    }

    #[test]
    fn other_versions_and_invalid_ids_are_ignored() {
        for header in [
            "",
            "00",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473\n-00f067aa0ba902b7-01",
            " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(header.as_bytes()), None, "{header}");
        }
    }

    proptest! {
        #[test]
        fn every_valid_header_is_read_unchanged(trace_id in 1_u128.., span_id in 1_u64.., flags in any::<u8>()) {
            let header = format!("00-{trace_id:032x}-{span_id:016x}-{flags:02x}");
            let parent = TraceParent::parse(header.as_bytes()).unwrap();
            prop_assert_eq!(parent.as_str(), &header);
            prop_assert_eq!(parent.trace_id(), format!("{trace_id:032x}"));
        }

        /// Nothing that could forge a log line or break a header is accepted: neither any bytes nor a valid header with one changed.
        #[test]
        fn what_is_accepted_is_lower_case_hexadecimal(
            bytes in proptest::collection::vec(any::<u8>(), 0..70), at in 0..EXAMPLE.len(), byte in any::<u8>(),
        ) {
            let mut changed = EXAMPLE.as_bytes().to_vec();
            if let Some(place) = changed.get_mut(at) {
                *place = byte;
            }
            for header in [bytes, changed] {
                if let Some(parent) = TraceParent::parse(&header) {
                    prop_assert_eq!(parent.as_str().as_bytes(), &*header);
                    prop_assert!(parent.trace_id().len() == 32 && header.iter().all(|b| is_digit(*b) || *b == b'-'));
                }
            }
        }
    }
}
