//! The reference and the id of each request.

use std::sync::atomic::{AtomicU64, Ordering};

use deskpass_core::Reference;
use hyper::header::{HeaderName, HeaderValue};

use crate::App;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Assigns each request its reference and its id: the client's own id where it is plain ASCII and does not look like a reference,
/// otherwise the reference and a number.
#[derive(Debug)]
pub(super) struct RequestIds {
    seed: u32,
    next: AtomicU64,
}

/// The number of hexadecimal digits of a reference.
const REFERENCE_DIGITS: usize = 8;

/// Odd, so that numbers below four billion have different references.
const REFERENCE_STEP: u32 = 0x9e37_79b1;

/// Whether an id begins like one of the service: its first part would be taken for the reference of the request.
fn begins_like_reference(id: &[u8]) -> bool {
    let first = id.split(|byte| *byte == b'-').next().unwrap_or_default();
    first.len() == REFERENCE_DIGITS && first.iter().all(u8::is_ascii_hexdigit)
}

impl RequestIds {
    pub(super) fn new(app: &App) -> Self {
        // Makes ids of different processes distinct in practice; correctness does not depend on it.
        let seed = app.auth.entropy.bytes::<4>().map_or(0, u32::from_be_bytes);
        Self::with_seed(seed)
    }

    fn with_seed(seed: u32) -> Self {
        Self { seed, next: AtomicU64::new(1) }
    }

    /// The reference and the id of a request that was sent with this id.
    pub(super) fn id_for(&self, sent: Option<&[u8]>) -> (Reference, String) {
        let plain = |id: &&[u8]| {
            let is_plain = id.iter().all(|c| c.is_ascii_alphanumeric() || b"._-".contains(c));
            (1..=64).contains(&id.len()) && is_plain && !begins_like_reference(id)
        };
        match sent.filter(plain).and_then(|id| str::from_utf8(id).ok()) {
            Some(id) => (self.next_reference().0, id.to_owned()),
            None => self.next_id(),
        }
    }

    /// The next reference, and the number of its request.
    fn next_reference(&self) -> (Reference, u64) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let low = u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
        (Reference::new(low.wrapping_mul(REFERENCE_STEP).wrapping_add(self.seed)), number)
    }

    pub(super) fn next_id(&self) -> (Reference, String) {
        let (reference, number) = self.next_reference();
        let mut id = String::with_capacity(32);
        reference.append_to(&mut id);
        id.push('-');
        id.push_str(itoa::Buffer::new().format(number));
        (reference, id)
    }
}

/// The value of the header for an id, which is always ASCII.
pub(super) fn header(id: String) -> HeaderValue {
    HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("unnamed"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn no_two_requests_have_the_same_id_or_reference() {
        const THREADS: usize = 16;
        const REQUESTS: usize = 20_000;
        let (ids, start) = (RequestIds::with_seed(7), Barrier::new(THREADS));
        let give = || {
            start.wait();
            (0..REQUESTS).map(|_| ids.next_id()).collect::<Vec<_>>()
        };
        let given = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(give)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let (references, ids): (HashSet<_>, HashSet<_>) =
            given.into_iter().map(|(reference, id)| (reference.to_string(), id)).unzip();
        assert_eq!((references.len(), ids.len()), (THREADS * REQUESTS, THREADS * REQUESTS));
    }
}
